"""RAIL-LANE-03 and -05: the Solana lane is offered with USDC and a reference account."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from conformance.assertions.rail.lane_asset import judge_lane_offered
from conformance.engine.check import Case, check
from conformance.oracles.addresses import is_address
from conformance.surfaces.rail.purchase import challenge


@check(
    "RAIL-LANE-03",
    surface="rail",
    lane="solana",
    fix="Offer one accepts entry on Solana whose asset is the USDC mint of that network.",
)
async def solana_lane_is_offered(case: Case) -> None:
    """A Solana lane is offered with USDC.

    Calls each operation unpaid. Expects a Solana entry with the USDC mint.
    """
    await judge_lane_offered(case, "RAIL-LANE-03")


@check(
    "RAIL-LANE-05",
    surface="rail",
    lane="solana",
    fix="Put the reference account that you derive from the token into the Solana entry (extra.svm_reference_pubkey).",
)
async def reference_account_is_told(case: Case) -> None:
    """The Solana entry names the server-derived reference account that the client must include.

    Calls each operation unpaid, twice. Expects an account address in each Solana entry, and another one for each token.
    """
    operations_by_reference: dict[str, str] = {}
    # Each operation twice: two tokens for one request must have two references, too.
    for operation in (*case.session.catalog.operations, *case.session.catalog.operations):
        quote = await challenge(case, operation)
        entry = quote.entry(case.lane)
        named_references = list_references(entry)
        if len(named_references) != 1 and list_accounts(entry):
            # `extra` contains an account under an unknown name. It may be the reference, so the row cannot fail.
            reason = (
                f"unbound: the interface gives the reference no name, and extra has {', '.join(list_accounts(entry))}"
            )
            case.mark_inconclusive("RAIL-LANE-05", reason, exchange=quote.answer)
            return
        where = {"operation": operation.path}
        expectation = "one reference account in extra"
        case.expect(
            "RAIL-LANE-05",
            bool(named_references),
            expectation,
            named_references or "none",
            exchange=quote.answer,
            where=where,
        )
        operations_by_reference.update(dict.fromkeys(named_references, operation.path))
    # A reference for two tokens would weld one transfer to two challenges.
    are_fresh = len(operations_by_reference) == 2 * len(case.session.catalog.operations)
    case.expect(
        "RAIL-LANE-05",
        are_fresh,
        "another reference account for each token",
        f"{len(operations_by_reference)} different ones",
    )


def list_accounts(entry: Mapping[str, Any]) -> list[str]:
    """Return the names of the members of an entry's `extra` whose account may be the reference."""
    extra = entry.get("extra")
    # Payee and mint are accounts as well, and may be repeated in `extra`. They are the same for every token.
    known_accounts = {str(entry.get("payTo")), str(entry.get("asset"))}
    members = extra.items() if isinstance(extra, Mapping) else ()
    return [name for name, value in members if str(value) not in known_accounts and is_address("solana", str(value))]


def list_references(entry: Mapping[str, Any]) -> list[str]:
    """Return the accounts in an entry's `extra` whose member name contains "reference"."""
    extra = entry.get("extra")
    members = extra.items() if isinstance(extra, Mapping) else ()
    return [
        value
        for name, value in members
        if "reference" in name.lower() and name != "payment_reference" and is_address("solana", str(value))
    ]
