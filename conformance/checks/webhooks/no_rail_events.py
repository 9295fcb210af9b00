"""WH-DELIV-09: paid calls of the rail cause no webhook events."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

from conformance.engine.check import Case, check
from conformance.engine.quick_policy import WAITS
from conformance.oracles.addresses import is_address
from conformance.surfaces.rail.purchase import Purchase, purchase
from conformance.surfaces.webhooks.sales import deliveries, sales
from conformance.vocabulary.lanes.registry import FACTS

# As long as an event of the gateway may take after its payment is seen, and as long again.
_SECONDS = 2.0
# A shorter text may occur in any event by chance. Transaction ids, tokens and receipts are longer.
_SHORTEST = 40


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
    control = deliveries(case, (await sales(case))[0])[0]
    bought = await purchase(case, case.session.catalog.operations[0], case.lane)
    await asyncio.sleep(_SECONDS)
    words = tuple(_words(case.lane, bought))
    came = [one for one in case.session.inbox.received if one.tells_of(words)]
    found = f"{len(came)} requests that contain a text of it"
    case.expect("WH-DELIV-09", not came, "no event of a paid call", found, exchange=came[0] if came else control)


def _words(lane: str, bought: Purchase) -> Iterator[str]:
    """Yield texts that occur in one purchase only. Addresses of payer and payee also occur in other payments."""
    yield bought.challenge.reference(lane)
    namespace = FACTS[lane].namespace
    for text in (*_texts(bought.proof), *_texts(bought.answer.object())):
        if len(text) >= _SHORTEST and not is_address(namespace, text):
            yield text


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for member in value.values():
            yield from _texts(member)
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)
