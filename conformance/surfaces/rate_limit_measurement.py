"""Measurement of a rate limit: how many calls of an operation a target accepts. `init` writes it into the profile."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from typing import Any, Final

from conformance.engine.concurrent_check_steps import run_concurrently
from conformance.http.client import Client, Unreachable, read_retry_after
from conformance.http.pacing import Pacer

# Twice the largest limit of the interface, 300 a minute with a burst of 60.
_MAX_CALLS: Final = 620
_CONCURRENT_CALLS: Final = 5
_SECONDS: Final = 15.0
# A shorter Retry-After than this is that of a limit which refills all the time and allows a burst first.
_REFILL_WAIT: Final = 5.0
_REFILL_SECONDS: Final = 5.0
_MINUTE: Final = 60.0
_TOO_MANY_REQUESTS: Final = 429


async def measure_limit(
    client: Client, pacer: Pacer, url: str, body: Any, headers: Mapping[str, str] | None = None
) -> None:
    """Post to an operation until it answers 429, at most 620 times or for a quarter of a minute, and inform the pacer.

    The limit of the current minute is used up afterwards. A run then waits as long as the target says.

    Args:
        client: Sends and records.
        pacer: The pacer of the transport, which has counted the earlier calls of the operation.
        url: The operation.
        body: The posted body. A refusal of its content does not matter.
        headers: Further header fields.
    """
    ends, call_count, over, refills = time.monotonic() + _SECONDS, 0, False, False

    async def call_until_throttled() -> None:
        nonlocal call_count, over, refills
        # The counter rises before the call, so that concurrent tasks do not exceed the limit
        # together.
        while not over and call_count < _MAX_CALLS and time.monotonic() < ends:
            call_count += 1
            try:
                answer = await client.call("POST", url, json_body=body, headers=headers or {}, patient=False)
            except Unreachable:
                over = True
                return
            if answer.status != _TOO_MANY_REQUESTS:
                pacer.record_answer("POST", url)
            elif not over:
                over = True
                wait = read_retry_after(answer)
                refills = wait is not None and wait < _REFILL_WAIT
                # Without Retry-After, a limit per minute is assumed, as in the interface.
                pacer.slow_down("POST", url, _MINUTE if wait is None else wait)

    # Several calls at a time, because a slow target would otherwise not reach its limit within
    # the time.
    await run_concurrently(call_until_throttled() for _ in range(_CONCURRENT_CALLS))
    if refills:
        # The burst would count as calls of a minute, and the limit would look ten times as high.
        pacer.limit("POST", url, await _measure_refill(client, url, body, headers or {}))


async def _measure_refill(client: Client, url: str, body: Any, headers: Mapping[str, str]) -> float:
    """Return how many calls a minute an operation accepts after its burst, at least 1."""
    start, accepted = time.monotonic(), 0
    while (seconds := time.monotonic() - start) < _REFILL_SECONDS or not accepted:
        if seconds > _SECONDS:
            break
        try:
            answer = await client.call("POST", url, json_body=body, headers=headers, patient=False)
        except Unreachable:
            break
        if answer.status == _TOO_MANY_REQUESTS:
            await asyncio.sleep(read_retry_after(answer) or 1.0)
        else:
            accepted += 1
    return max(1.0, accepted * _MINUTE / max(time.monotonic() - start, 1.0))
