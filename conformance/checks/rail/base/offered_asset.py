"""RAIL-LANE-02 and -04: the Base lane is offered with USDC."""

from __future__ import annotations

from conformance.assertions.rail.lane_asset import judge_lane_offered
from conformance.engine.check import Case, check
from conformance.surfaces.rail.purchase import challenge, lane_of


@check(
    "RAIL-LANE-02",
    "RAIL-LANE-04",
    surface="rail",
    lane="base",
    fix="Offer one accepts entry on Base whose asset is the USDC contract of that network, in every challenge.",
)
async def base_lane_is_offered(case: Case) -> None:
    """A Base lane is offered with USDC, the same contract in every challenge.

    Calls each operation unpaid, twice. Expects a Base entry with the USDC contract each time.
    """
    await judge_lane_offered(case, "RAIL-LANE-02")
    contracts: set[str] = set()
    # Asked twice, because the contract must not depend on the challenge: a payer checks it once and then trusts it.
    for operation in (*case.session.catalog.operations, *case.session.catalog.operations):
        quote = await challenge(case, operation)
        contracts |= {str(entry.get("asset")).lower() for entry in quote.accepts if lane_of(entry) == case.lane}
    case.expect("RAIL-LANE-04", len(contracts) == 1, "one contract in every challenge", sorted(contracts))
