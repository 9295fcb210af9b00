"""WH-DELIV-09: paid calls of the rail cause no webhook events."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

from conformance.engine.check import Case, check
from conformance.engine.quick_policy import WAITS
from conformance.oracles.addresses import is_address
from conformance.surfaces.rail.purchase import Purchase, purchase
from conformance.surfaces.webhooks.paid_links import deliveries, paid_links
from conformance.vocabulary.lanes.registry import FACTS

# As long as an event of the gateway may take after its payment is seen, and as long again.
_WAIT_SECONDS = 2.0
# A shorter text may occur in any event by chance. Transaction ids, tokens and receipts are longer.
_SHORTEST_TEXT = 40


@check(
    "WH-DELIV-09",
    surface="webhooks",
    lane="each",
    fix="Let the rail answer only its caller, with the receipt. Send events only for payment links.",
    quick=WAITS,
    pays_rail=True,
)
async def the_rail_tells_nobody(case: Case) -> None:
    """The pay rail sends no webhook events.

    Pays a call of the rail while the suite receives at every destination. Expects no request that contains the
    challenge's token, the payment's transaction or the receipt. As a control, an event of a paid link must have arrived
    at the same destinations.
    """
    # Silence proves something only at a destination that demonstrably receives events.
    control = deliveries(case, (await paid_links(case))[0])[0]
    call = await purchase(case, case.session.catalog.operations[0], case.lane)
    await asyncio.sleep(_WAIT_SECONDS)
    words = tuple(_list_unique_texts(case.lane, call))
    events = [one for one in case.session.inbox.deliveries if one.mentions(words)]
    finding = f"{len(events)} requests that contain a text of it"
    case.expect(
        "WH-DELIV-09", not events, "no event of a paid call", finding, exchange=events[0] if events else control
    )


def _list_unique_texts(lane: str, call: Purchase) -> Iterator[str]:
    """Yield texts that occur in one purchase only. Addresses of payer and payee also occur in other payments."""
    yield call.challenge.reference(lane)
    namespace = FACTS[lane].namespace
    for text in (*_walk_texts(call.proof), *_walk_texts(call.answer.read_object())):
        if len(text) >= _SHORTEST_TEXT and not is_address(namespace, text):
            yield text


def _walk_texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for member in value.values():
            yield from _walk_texts(member)
    elif isinstance(value, list):
        for item in value:
            yield from _walk_texts(item)
