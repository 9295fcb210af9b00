"""X-NET-01 and X-AMT-01: link, page and event state the same network and the same amount."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from conformance.engine.check import Case, check
from conformance.surfaces.webhooks.paid_links import MORE, PaidLink, deliveries, overpaid_link, paid_links


@check(
    "X-NET-01",
    surface="shared",
    lane="each",
    fix="Keep one table of networks with three columns, and write each spelling from there: algorand_testnet in the "
    "request, algorand-testnet in the link, algorand:testnet in the event.",
)
async def a_network_has_three_spellings(case: Case) -> None:
    """A network is written with an underscore in the request, a hyphen in the link and a colon in the event.

    Pays two links on a network, on each lane. Expects a hyphen between two parts in `chain` of the link, and a colon in
    `data.chain` of the event. Expects that one network has the same spellings each time, and that no two networks share
    one. If the profile lists a network's spellings (`[networks.KEY]`), expects those.
    """
    bound_spellings = case.profile.network_label, case.profile.network_event
    for sale in await paid_links(case):
        key, link_chain = sale.link.order.network, sale.link.order.answer.read_object().get("chain")
        for delivery in deliveries(case, sale):
            event_chain = delivery.data.get("chain")
            for member, separator, value, name in (
                ("chain of the link", "-", link_chain, bound_spellings[0](key)),
                ("data.chain of the event", ":", event_chain, bound_spellings[1](key)),
            ):
                where = {"spelling": member}
                is_right = isinstance(value, str) and all(value.partition(separator))
                is_right = is_right and (name is None or value == name)
                # The interface fixes only the separator. The parts are the target's choice, unless its profile binds
                # them.
                expectation = f"two parts and {separator!r} between them" if name is None else name
                case.expect("X-NET-01", is_right, expectation, json.dumps(value), exchange=delivery, where=where)
            _judge_uniqueness(case, key, (link_chain, event_chain))


def _judge_uniqueness(case: Case, key: str, spellings: tuple[Any, Any]) -> None:
    """Judge that this network keeps its spellings, and shares none with another network of this run."""
    # The session remembers spellings across lanes, because the check on one lane sees only that lane's network.
    spellings_by_network: dict[str, tuple[Any, Any]] = case.session.network_spellings
    first = spellings_by_network.setdefault(key, spellings)
    case.expect("X-NET-01", first == spellings, f"always {first}", spellings, where={"network": key})
    for other_key, other_spellings in spellings_by_network.items():
        common = [one for one, two in zip(spellings, other_spellings, strict=True) if one == two]
        if other_key != key:
            finding = f"{', '.join(map(str, common))} of both"
            case.expect("X-NET-01", not common, f"other spellings than {other_key}", finding, where={"network": key})


@check(
    "X-AMT-01",
    surface="shared",
    lane="each",
    fix="Store the link's amount in micro-units once, as an integer, and write all three from it, whatever was paid.",
)
async def an_amount_is_the_same_everywhere(case: Case) -> None:
    """The link's `amount_microunits`, the amount on its page and the amount in the event are one value.

    Pays two links. Expects an integer of micro-units in the answer that created each, a number of that value on its
    page, and the same value as a text of decimal digits in the event. Pays a third link a little more than it asks. If
    an event reports that payment, expects the link's amount there as well.
    """
    for sale in await paid_links(case):
        _judge_events(case, sale, {})
        _judge_page(case, sale)
    # The event states what the link asked for, not what arrived (P-WH-01). A gateway need not accept the overpaid link.
    overpaid_sale = await overpaid_link(case)
    if overpaid_sale is not None:
        _judge_events(case, overpaid_sale, MORE)


def _judge_events(case: Case, sale: PaidLink, where: Mapping[str, str]) -> None:
    microunits = sale.link.order.microunits
    for delivery in deliveries(case, sale):
        amount = delivery.data.get("amount_microunits")
        is_same, finding = amount == str(microunits), json.dumps(amount)
        case.expect("X-AMT-01", is_same, f'"{microunits}"', finding, exchange=delivery, where=where)


def _judge_page(case: Case, sale: PaidLink) -> None:
    microunits, before, page = sale.link.order.microunits, sale.link.before, sale.link.page
    page_amount = before.shown_amount(microunits)
    if page_amount is None and before.unseen_parts is not None:
        case.mark_inconclusive(
            "X-AMT-01", f"the amount on the page could not be read: {before.unseen_parts}", exchange=page
        )
        return
    values = sorted({value for values in before.amounts() for value in values})
    finding = f"the numbers on it mean {', '.join(map(str, values[:20])) or 'nothing'}"
    case.expect("X-AMT-01", page_amount is not None, f"{microunits} micro-units on the page", finding, exchange=page)
