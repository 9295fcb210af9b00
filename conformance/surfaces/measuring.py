"""How many calls of an operation a target lets through, found by calling it: for the profile that `init` writes."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, Final

from conformance.engine.concurrency import run_concurrently
from conformance.http.client import Client, Unreachable, retry_after
from conformance.http.pacing import Pacer

# A little more than the interface's own limit of 120 a minute.
_MAX_CALLS: Final = 125
_CONCURRENT_CALLS: Final = 5
_SECONDS: Final = 15.0
_MINUTE: Final = 60.0
_TOO_MANY_REQUESTS: Final = 429


async def measure_limit(
    client: Client, pacer: Pacer, url: str, body: Any, headers: Mapping[str, str] | None = None
) -> None:
    """Post to an operation until it says 429, or 125 times, or for a quarter of a minute, and tell the pacer.

    What it lets through within a minute is exhausted afterwards; a run waits then as the target says.

    Args:
        client: Sends and records.
        pacer: That of the transport; it has counted what was asked of the operation before.
        url: The operation.
        body: What is posted; that it is refused for what it says does not matter.
        headers: Further header fields.
    """
    ends, call_count, over = time.monotonic() + _SECONDS, 0, False

    async def call_until_throttled() -> None:
        nonlocal call_count, over
        while not over and call_count < _MAX_CALLS and time.monotonic() < ends:
            call_count += 1
            try:
                answer = await client.call("POST", url, json_body=body, headers=headers or {}, patient=False)
            except Unreachable:
                over = True
                return
            if answer.status != _TOO_MANY_REQUESTS:
                pacer.served("POST", url)
            elif not over:
                over = True
                wait = retry_after(answer)
                # Who says nothing of when to come back counts, as far as anybody knows, by the minute.
                pacer.throttled("POST", url, _MINUTE if wait is None else wait)

    await run_concurrently(call_until_throttled() for _ in range(_CONCURRENT_CALLS))
