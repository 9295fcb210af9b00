"""The messages about a run for its page: a small JSON object for each event that changes what the page shows."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping
from typing import Any

from conformance.ledger import load
from conformance.log.events import Event
from conformance.text.untrusted import one_line

Message = Mapping[str, Any]
_SHOWN = frozenset({"fail", "warn", "error"})
_LONGEST = 600


def message_of(event: Event) -> Message | None:
    """Return the page's message about an event, or None if the page shows nothing of it. A target's texts are cut."""
    kind = event["event"]
    if kind == "run.started":
        rows = [{"id": one, "sentence": load()[one].sentence} for one in event["rows"] if one in load()]
        target = {name: one_line(url) for name, url in event["target"]["surfaces"].items()}
        return {"kind": "round", "rows": rows, "checks": len(event["checks"]), "target": target}
    if kind in {"check.started", "check.finished"}:
        return {"kind": "check", "check": event["check"], "done": kind == "check.finished"}
    if kind == "judgement" and event["verdict"] in _SHOWN:
        said = {name: _cut(event[name]) for name in ("expected", "found", "hint")}
        return {"kind": "finding", "row": event["row"], "verdict": event["verdict"], "check": event["check"], **said}
    if kind == "row":
        return {"kind": "row", "row": event["id"], "verdict": event["verdict"], "reason": _cut(event["reason"])}
    return None


def _cut(value: object) -> str | None:
    return None if value is None else one_line(str(value), _LONGEST)


class Following:
    """Passes each message to all followers; a follower that comes later gets the current round's messages first."""

    def __init__(self) -> None:
        self._told: list[Message] = []
        self._followers: set[asyncio.Queue[Message]] = set()

    def take(self, event: Event) -> None:
        """Process an event of a run; see `EventLog.listen`."""
        message = message_of(event)
        if message is not None:
            self.tell(message)

    def tell(self, message: Message) -> None:
        """Send a message to all followers. The first message of a round discards those of the previous round."""
        if message["kind"] == "round":
            self._told.clear()
        self._told.append(message)
        for one in self._followers:
            one.put_nowait(message)

    async def follow(self) -> AsyncGenerator[Message, None]:
        """Yield the messages of this round so far, and then each new one, without end."""
        queue: asyncio.Queue[Message] = asyncio.Queue()
        for message in self._told:
            queue.put_nowait(message)
        self._followers.add(queue)
        try:
            while True:
                yield await queue.get()
        finally:
            self._followers.discard(queue)
