"""Whether a lane is offered with the asset that the interface names (RAIL-LANE)."""

from __future__ import annotations

from conformance.engine.check import Case
from conformance.surfaces.rail.purchase import challenge, lane_of
from conformance.vocabulary.networks import network_named


async def judge_lane_offered(case: Case, row: str) -> None:
    """Judge a row by each operation's challenge: one entry on the check's lane, with USDC of its main network.

    For one lane the interface gives the asset's number. For the others it says "USDC", which on a main network is one
    well-known token. So the row does not apply if the profile binds another network.
    """
    main = network_named(f"{case.lane}_mainnet")
    assert main is not None  # noqa: S101 - every lane has one
    chain = case.profile.chains.of(case.lane)
    if chain is not None and chain.network != main.key:
        case.mark_not_applicable(row, f"the profile binds {chain.network}, which does not have that asset")
        return
    # Contract addresses may be written with a checksum, in capitals and small letters.
    usdc = _display_spelling(main.asset_id)
    for operation in case.session.catalog.operations:
        quote = await challenge(case, operation)
        assets = [str(entry.get("asset")) for entry in quote.accepts if lane_of(entry) == case.lane]
        case.expect(
            row,
            [_display_spelling(asset) if main.is_asset(asset) else asset for asset in assets] == [usdc],
            f"one entry on {case.lane} with asset {usdc}",
            assets,
            exchange=quote.answer,
            where={"operation": operation.path},
        )


def _display_spelling(asset: str) -> str:
    """Return an asset id as it is displayed: a contract's address in lower case."""
    return asset.lower() if asset.startswith("0x") else asset
