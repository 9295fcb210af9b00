"""RAIL-LANE: the lanes that are offered."""

from __future__ import annotations

from conformance.check import Case, check
from conformance.purchase import challenge, lane_of

MAINNET = "algorand_mainnet"
USDC_ON_ALGORAND = "31566704"


@check(
    "RAIL-LANE-01",
    surface="rail",
    lane="algorand",
    fix="Offer an accepts entry on Algorand whose asset is USDC, ASA 31566704.",
)
async def algorand_lane_is_offered(case: Case) -> None:
    """An Algorand lane is offered with USDC, ASA 31566704.

    Asks each operation for its price. Expects an Algorand entry with that asset. The number names USDC on the main
    network only, so the row does not apply where the profile binds another one.
    """
    chain = case.profile.chains.algorand
    if chain is not None and chain.network != MAINNET:
        case.not_applicable("RAIL-LANE-01", f"the profile binds {chain.network}, where that asset is none")
        return
    for operation in case.session.operations:
        quote = await challenge(case, operation)
        assets = [entry.get("asset") for entry in quote.accepts if lane_of(entry) == "algorand"]
        case.expect(
            "RAIL-LANE-01",
            [str(asset) for asset in assets] == [USDC_ON_ALGORAND],
            f"one Algorand entry with asset {USDC_ON_ALGORAND}",
            assets,
            exchange=quote.answer,
            where={"operation": operation.path},
        )
