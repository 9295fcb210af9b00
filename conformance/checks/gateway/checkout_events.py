"""GW-CHK-24: the events of a checkout (P-CK-02), if the target claims the specification."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Awaitable, Iterator, Mapping
from contextlib import suppress
from typing import Any, Final

from conformance.engine.check import Case, check
from conformance.http.client import Answer, PieceListener, Unreachable
from conformance.outcome import Inconclusive
from conformance.surfaces.gateway.orders import Order, address_of, cancel_order, create_order

_BLANK_LINE: Final = re.compile(r"\r\n\r\n|\n\n|\r\r")


@check(
    "GW-CHK-24",
    surface="gateway",
    needs_more="the check cancels the link while its events are read",
    fix="Send the status of the link as an event `status` at once, and again after each change.",
)
async def the_events_report_each_status(case: Case) -> None:
    """The events of a checkout are its status at once, and after each change (P-CK-02).

    Reads the events of an active link, and cancels it as soon as the first event arrived, or after `budgets.paid`.
    Expects `text/event-stream`, and events of the type `status` whose data is the answer of `/status`: first that of
    the active link, last that of the cancelled one. Reads the events again, and expects the last one alone. A stream
    that does not end with its link decides nothing.
    """
    tenant = case.session.tenants.get()
    order = await create_order(case, tenant=tenant, network=tenant.networks[0])
    active = (await case.client.call("GET", address_of(order, "/status"))).read_object()
    first_event = _FirstEvent()
    reading = asyncio.create_task(_read_events(case, order, first_event.receive))
    try:
        # A link that is cancelled before its stream is open has one event, so the speed of the machine must not decide.
        # A proxy may keep the event until the stream ends, so its absence alone is no fault.
        budgets = case.profile.budgets
        await asyncio.wait(
            [reading, waiting := asyncio.create_task(first_event.arrived.wait())],
            timeout=min(budgets.paid, budgets.request / 2),
            return_when=asyncio.FIRST_COMPLETED,
        )
        waiting.cancel()
        await cancel_order(case, order)
        answer = await _end_reading(case, reading)
    finally:
        reading.cancel()
        with suppress(asyncio.CancelledError, Exception):
            await reading
    cancelled = (await case.client.call("GET", address_of(order, "/status"))).read_object()
    _judge_events(case, answer, [active, cancelled], "cancelled meanwhile")
    answer = await _end_reading(case, _read_events(case, order))
    _judge_events(case, answer, [cancelled], "cancelled before")


async def _read_events(case: Case, order: Order, listener: PieceListener | None = None) -> Answer:
    headers = {"accept": "text/event-stream"}
    return await case.client.call("GET", address_of(order, "/events"), headers=headers, piece_listener=listener)


class _FirstEvent:
    """Notices the first event of a stream: `arrived` is set when a whole event with data was received."""

    def __init__(self) -> None:
        self.arrived = asyncio.Event()
        self._text = ""

    def receive(self, piece: bytes) -> None:
        """Take the next piece of the stream."""
        self._text += piece.decode("utf-8", "replace")
        *whole_blocks, _ = _BLANK_LINE.split(self._text)
        if any(map(_parse_event, whole_blocks)):
            self.arrived.set()


async def _end_reading(case: Case, reading: Awaitable[Answer]) -> Answer:
    """Return the events of a link that was cancelled, when they end.

    Raises:
        Inconclusive: They do not end with the link.
    """
    try:
        async with asyncio.timeout(case.profile.budgets.paid):
            return await reading
    except (TimeoutError, Unreachable) as fault:
        raise Inconclusive("the events of a link that was cancelled do not end, which P-CK-02 leaves open") from fault


def _judge_events(case: Case, answer: Answer, statuses: list[Mapping[str, Any]], state: str) -> None:
    media = answer.headers.get("Content-Type", "").partition(";")[0].strip().lower()
    events = list(_parse_events(answer.body.decode("utf-8", "replace")))
    faults = [] if answer.status == 200 else [f"status {answer.status}"]
    faults += [] if media == "text/event-stream" else [f"Content-Type {media!r}"]
    faults += [] if events == [("status", status) for status in statuses] else [f"events {events}"]
    case.expect(
        "GW-CHK-24", not faults, "each status as one event", "; ".join(faults), exchange=answer, where={"link": state}
    )


def _parse_events(text: str) -> Iterator[tuple[str, Any]]:
    """Yield type and data of each event (HTML, 9.2)."""
    yield from filter(None, map(_parse_event, _BLANK_LINE.split(text)))


def _parse_event(block: str) -> tuple[str, Any] | None:
    """Return type and data of an event; None for comments and fields without data."""
    fields = [line.partition(":") for line in re.split(r"\r\n|\n|\r", block) if not line.startswith(":")]
    values = {name: value.removeprefix(" ") for name, _, value in fields if name}
    if "data" not in values:
        return None
    try:
        return values.get("event", "message"), json.loads(values["data"])
    except ValueError:
        return values.get("event", "message"), values["data"]
