"""RAIL-LANE: the lanes that are offered."""

from __future__ import annotations

from conformance.check import Case, check
from conformance.purchase import challenge

USDC_ON_ALGORAND = "31566704"


@check(
    "RAIL-LANE-01",
    surface="rail",
    lane="algorand",
    fix="Offer an accepts entry on Algorand whose asset is USDC, ASA 31566704.",
)
async def algorand_lane_is_offered(case: Case) -> None:
    """An Algorand lane is offered with USDC, ASA 31566704.

    Asks each operation for its price. Expects an Algorand entry with that asset.
    """
    for operation in case.session.operations:
        quote = await challenge(case, operation)
        assets = [
            str(entry.get("asset")) for entry in quote.accepts if str(entry.get("network")).startswith("algorand")
        ]
        case.expect(
            "RAIL-LANE-01",
            assets == [USDC_ON_ALGORAND],
            f"one Algorand entry with asset {USDC_ON_ALGORAND}",
            assets,
            exchange=quote.answer,
            where={"operation": operation.path},
        )
