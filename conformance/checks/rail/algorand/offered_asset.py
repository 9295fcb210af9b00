"""RAIL-LANE-01: the Algorand lane is offered with USDC."""

from __future__ import annotations

from conformance.assertions.rail.lane_asset import judge_lane_offered
from conformance.engine.check import Case, check


@check(
    "RAIL-LANE-01",
    surface="rail",
    lane="algorand",
    fix="Offer an accepts entry on Algorand whose asset is USDC, ASA 31566704.",
)
async def algorand_lane_is_offered(case: Case) -> None:
    """An Algorand lane is offered with USDC, ASA 31566704.

    Calls each operation unpaid. Expects an Algorand entry with that asset. The number means USDC on the main network
    only, so the row does not apply if the profile binds another network.
    """
    await judge_lane_offered(case, "RAIL-LANE-01")
