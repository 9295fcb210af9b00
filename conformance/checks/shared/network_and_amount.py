"""X-NET-01 and X-AMT-01: link, page and event state the same network and the same amount."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from conformance.engine.check import Case, check
from conformance.surfaces.webhooks.sales import MORE, Sale, deliveries, overpaid, sales


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
    bound = case.profile.network_label, case.profile.network_event
    for sale in await sales(case):
        key, chain = sale.link.order.network, sale.link.order.answer.object().get("chain")
        for one in deliveries(case, sale):
            told = one.data.get("chain")
            for what, mark, value, name in (
                ("chain of the link", "-", chain, bound[0](key)),
                ("data.chain of the event", ":", told, bound[1](key)),
            ):
                where = {"spelling": what}
                right = isinstance(value, str) and all(value.partition(mark))
                right = right and (name is None or value == name)
                # The interface fixes only the separator. The parts are the target's choice, unless its profile binds
                # them.
                expected = f"two parts and {mark!r} between them" if name is None else name
                case.expect("X-NET-01", right, expected, json.dumps(value), exchange=one, where=where)
            _one_to_one(case, key, (chain, told))


def _one_to_one(case: Case, key: str, spellings: tuple[Any, Any]) -> None:
    """Judge that this network keeps its spellings, and shares none with another network of this run."""
    # The session remembers spellings across lanes, because the check on one lane sees only that lane's network.
    known: dict[str, tuple[Any, Any]] = case.session.network_spellings
    first = known.setdefault(key, spellings)
    case.expect("X-NET-01", first == spellings, f"always {first}", spellings, where={"network": key})
    for other, theirs in known.items():
        shared = [one for one, two in zip(spellings, theirs, strict=True) if one == two]
        if other != key:
            found = f"{', '.join(map(str, shared))} of both"
            case.expect("X-NET-01", not shared, f"other spellings than {other}", found, where={"network": key})


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
    for sale in await sales(case):
        _in_events(case, sale, {})
        _on_page(case, sale)
    # The event states what the link asked for, not what arrived (P-WH-01). A gateway need not accept the overpaid link.
    beyond = await overpaid(case)
    if beyond is not None:
        _in_events(case, beyond, MORE)


def _in_events(case: Case, sale: Sale, where: Mapping[str, str]) -> None:
    microunits = sale.link.order.microunits
    for one in deliveries(case, sale):
        told = one.data.get("amount_microunits")
        held, found = told == str(microunits), json.dumps(told)
        case.expect("X-AMT-01", held, f'"{microunits}"', found, exchange=one, where=where)


def _on_page(case: Case, sale: Sale) -> None:
    microunits, before, page = sale.link.order.microunits, sale.link.before, sale.link.page
    shown = before.shown_amount(microunits)
    if shown is None and before.unseen is not None:
        case.mark_inconclusive("X-AMT-01", f"the amount on the page could not be read: {before.unseen}", exchange=page)
        return
    values = sorted({value for values in before.amounts() for value in values})
    found = f"the numbers on it mean {', '.join(map(str, values[:20])) or 'nothing'}"
    case.expect("X-AMT-01", shown is not None, f"{microunits} micro-units on the page", found, exchange=page)
