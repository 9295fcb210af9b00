"""Payments on Algorand by a check: from a payer of the lane, welded to one challenge."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from conformance.engine.check import Case
from conformance.oracles.challenge_schema import atomic_amount
from conformance.outcome import Inconclusive
from conformance.surfaces.rail.purchase import Challenge

if TYPE_CHECKING:  # the SDK comes with an extra, and checks of all lanes import this module
    from conformance.lanes.algorand.payer import AlgorandPayer


async def algorand_payer(case: Case) -> AlgorandPayer:
    """Return the payer of the check's lane with the abilities of an Algorand lane; Algorand's if it has no lane."""
    return cast("AlgorandPayer", await case.session.payers.for_rail(case.check.lane or "algorand"))


def price_of(entry: Mapping[str, Any]) -> int:
    """Return an entry's price in atomic units.

    Raises:
        Inconclusive: It has no readable price, which RAIL-402-08 and -09 judge.
    """
    price = atomic_amount(entry.get("maxAmountRequired"))
    if price is None:
        raise Inconclusive("maxAmountRequired is no atomic amount, so nothing can be paid")
    return price


async def pay_welded(payer: AlgorandPayer, quote: Challenge, **changes: Any) -> dict[str, Any]:
    """Send the payment that a challenge asks for, with `changes` to it, and return its proof."""
    entry, token = quote.entry(payer.lane), quote.reference(payer.lane)
    transfer: dict[str, Any] = {
        "asset": payer.asset_id(entry),
        "receiver": str(entry["payTo"]),
        "amount": price_of(entry),
        "note": token.encode(),
    }
    return {"tx_id": await payer.transfer(**{**transfer, **changes}), "payment_reference": token}
