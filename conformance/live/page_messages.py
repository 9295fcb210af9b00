"""The messages about a run for its page: a small JSON object for each event that changes what the page shows."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping
from typing import Any

from conformance.ledger import load
from conformance.log.events import Event
from conformance.text.target_text_escaping import one_line

Message = Mapping[str, Any]
_SHOWN_VERDICTS = frozenset({"fail", "warn", "error"})
_LONGEST_TEXT = 600


def make_message(event: Event) -> Message | None:
    """Return the page's message about an event, or None if the page shows nothing of it. A target's texts are cut."""
    kind = event["event"]
    if kind == "run.started":
        rows = [{"id": one, "sentence": load()[one].sentence} for one in event["rows"] if one in load()]
        target = {name: one_line(url) for name, url in event["target"]["surfaces"].items()}
        return {"kind": "round", "rows": rows, "checks": len(event["checks"]), "target": target}
    if kind in {"check.started", "check.finished"}:
        return {"kind": "check", "check": event["check"], "done": kind == "check.finished"}
    if kind == "judgement" and event["verdict"] in _SHOWN_VERDICTS:
        texts = {name: _shorten(event[name]) for name in ("expected", "found", "hint")}
        return {"kind": "finding", "row": event["row"], "verdict": event["verdict"], "check": event["check"], **texts}
    if kind == "row":
        return {"kind": "row", "row": event["id"], "verdict": event["verdict"], "reason": _shorten(event["reason"])}
    return None


def _shorten(value: object) -> str | None:
    return None if value is None else one_line(str(value), _LONGEST_TEXT)


class MessageFeed:
    """Passes each message to all followers; a follower that comes later gets the current round's messages first."""

    def __init__(self) -> None:
        self._round_messages: list[Message] = []
        self._followers: set[asyncio.Queue[Message]] = set()

    def process(self, event: Event) -> None:
        """Process an event of a run; see `EventLog.listen`."""
        message = make_message(event)
        if message is not None:
            self.publish(message)

    def publish(self, message: Message) -> None:
        """Send a message to all followers. The first message of a round discards those of the previous round."""
        if message["kind"] == "round":
            self._round_messages.clear()
        self._round_messages.append(message)
        for queue in self._followers:
            queue.put_nowait(message)

    async def follow(self) -> AsyncGenerator[Message, None]:
        """Yield the messages of this round so far, and then each new one, without end."""
        queue: asyncio.Queue[Message] = asyncio.Queue()
        for message in self._round_messages:
            queue.put_nowait(message)
        self._followers.add(queue)
        try:
            while True:
                yield await queue.get()
        finally:
            self._followers.discard(queue)
