"""What the clients of both lines share: commands by standard input, answers by output.

Each line in is an object with `do`; each line out is `{"ok": …}` or `{"error": {"kind", "text"}}`. See `sdk_client`.
It runs in the environment of an SDK, beside a client of that line, and imports nothing of ours.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable, Mapping
from typing import Any

import httpx


def read_task(task: Mapping[str, Any], state: str) -> dict[str, Any]:
    """Return a task as a test reads it, from its JSON; `state` is its state by the name of 0.3."""
    message = task["status"].get("message", {})
    return {
        "id": task["id"],
        "contextId": task["contextId"],
        "state": state,
        "message": message.get("parts", []),
        "message_metadata": message.get("metadata", {}),
        "metadata": task.get("metadata", {}),
        "artifacts": [
            [part.get("data", part.get("text")) for part in artifact["parts"]] for artifact in task.get("artifacts", [])
        ],
    }


def answer_commands(open_client: Callable[[httpx.AsyncClient, str], object]) -> None:
    """Answer commands, each a method of what `opened` makes of a client and the address, until the input ends."""
    asyncio.run(_answer(open_client, sys.argv[1]))


async def _answer(open_client: Callable[[httpx.AsyncClient, str], object], url: str) -> None:
    async with httpx.AsyncClient(timeout=600, trust_env=False) as http:
        talk = open_client(http, url)
        while line := await asyncio.to_thread(sys.stdin.readline):
            members = json.loads(line)
            try:
                answer: dict[str, Any] = {"ok": await getattr(talk, members.pop("do"))(**members)}
            except Exception as fault:  # noqa: BLE001 - the other side judges it
                answer = {"error": {"kind": type(fault).__name__, "text": str(fault)}}
            sys.stdout.write(json.dumps(answer) + "\n")
            sys.stdout.flush()
