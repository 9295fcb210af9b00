"""RAIL-LANE: the lanes that are offered."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from conformance.engine.check import Case, check
from conformance.oracles.addresses import is_address
from conformance.surfaces.rail.purchase import challenge, lane_of

# USDC as the interface names it on each lane. Only the Algorand number stands in the interface; on Base and Solana it
# says "USDC", which on the main networks is one well-known contract and one well-known mint.
USDC: Mapping[str, tuple[str, str]] = {
    "algorand": ("algorand_mainnet", "31566704"),
    "base": ("base_mainnet", "0x833589fcd6edb6e08f4c7c32d4f71b54bda02913"),
    "solana": ("solana_mainnet", "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v"),
}


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
    await _offered(case, "RAIL-LANE-01")


@check(
    "RAIL-LANE-02",
    "RAIL-LANE-04",
    surface="rail",
    lane="base",
    fix="Offer one accepts entry on Base whose asset is the USDC contract of that network, in every challenge.",
)
async def base_lane_is_offered(case: Case) -> None:
    """A Base lane is offered with USDC, the same contract in every challenge.

    Asks each operation for its price twice. Expects a Base entry with the USDC contract each time.
    """
    await _offered(case, "RAIL-LANE-02")
    seen: set[str] = set()
    for operation in (*case.session.operations, *case.session.operations):
        quote = await challenge(case, operation)
        seen |= {str(entry.get("asset")).lower() for entry in quote.accepts if lane_of(entry) == "base"}
    case.expect("RAIL-LANE-04", len(seen) == 1, "one contract in every challenge", sorted(seen))


@check(
    "RAIL-LANE-03",
    surface="rail",
    lane="solana",
    fix="Offer one accepts entry on Solana whose asset is the USDC mint of that network.",
)
async def solana_lane_is_offered(case: Case) -> None:
    """A Solana lane is offered with USDC.

    Asks each operation for its price. Expects a Solana entry with the USDC mint.
    """
    await _offered(case, "RAIL-LANE-03")


@check(
    "RAIL-LANE-05",
    surface="rail",
    lane="solana",
    fix="Put the reference account that you derive from the token into the Solana entry (extra.svm_reference_pubkey).",
)
async def reference_account_is_told(case: Case) -> None:
    """The Solana entry tells the client the server-derived reference account to include.

    Asks each operation for its price twice. Expects an account address in each Solana entry, another one for each
    token.
    """
    told: dict[str, str] = {}
    for operation in (*case.session.operations, *case.session.operations):
        quote = await challenge(case, operation)
        entry = quote.entry("solana")
        found = references(entry)
        if len(found) != 1 and accounts(entry):
            reason = f"unbound: the interface gives the reference no name, and extra has {', '.join(accounts(entry))}"
            case.inconclusive("RAIL-LANE-05", reason, exchange=quote.answer)
            return
        where = {"operation": operation.path}
        expected = "one reference account in extra"
        case.expect("RAIL-LANE-05", bool(found), expected, found or "none", exchange=quote.answer, where=where)
        told.update(dict.fromkeys(found, operation.path))
    fresh = len(told) == 2 * len(case.session.operations)
    case.expect("RAIL-LANE-05", fresh, "a reference account of its own for each token", f"{len(told)} different ones")


def accounts(entry: Mapping[str, Any]) -> list[str]:
    """Return the names of an entry's `extra` that hold an account which may be the reference."""
    extra = entry.get("extra")
    known = {str(entry.get("payTo")), str(entry.get("asset"))}
    members = extra.items() if isinstance(extra, Mapping) else ()
    return [name for name, value in members if str(value) not in known and is_address("solana", str(value))]


def references(entry: Mapping[str, Any]) -> list[str]:
    """Return the accounts that an entry's `extra` names as references, whatever the member is called exactly."""
    extra = entry.get("extra")
    members = extra.items() if isinstance(extra, Mapping) else ()
    return [
        value
        for name, value in members
        if "reference" in name.lower() and name != "payment_reference" and is_address("solana", str(value))
    ]


async def _offered(case: Case, row: str) -> None:
    network, usdc = USDC[case.lane]
    chain = getattr(case.profile.chains, case.lane)
    if chain is not None and chain.network != network:
        case.not_applicable(row, f"the profile binds {chain.network}, where that asset is none")
        return
    for operation in case.session.operations:
        quote = await challenge(case, operation)
        assets = [str(entry.get("asset")) for entry in quote.accepts if lane_of(entry) == case.lane]
        same = [one.lower() if case.lane == "base" else one for one in assets]
        case.expect(
            row,
            same == [usdc],
            f"one entry on {case.lane} with asset {usdc}",
            assets,
            exchange=quote.answer,
            where={"operation": operation.path},
        )
