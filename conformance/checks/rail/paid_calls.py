"""RAIL-PAY: payments that buy a call."""

from __future__ import annotations

from typing import Any

from conformance.check import Case, check
from conformance.checks.rail.challenges import cache, is_shareable
from conformance.client import Answer
from conformance.oracles import jose
from conformance.purchase import challenge, pay, present


def receipts_in(answer: Answer, at: str | None) -> list[tuple[str, str]]:
    """Return the tokens of an answer that may be the payable receipt: the one at the bound place, else all."""
    found = jose.tokens_in(answer.object(), dict(answer.headers))
    if at is None:
        return found
    wanted = at.lower() if at.startswith("header:") else at
    return [(place, token) for place, token in found if (place.lower() if "header:" in place else place) == wanted]


@check(
    "RAIL-PAY-01",
    "RAIL-PAY-02",
    "RAIL-PAY-05",
    "RAIL-PAY-16",
    surface="rail",
    lane="algorand",
    fix="Read X-PAYMENT as base64 of {tx_id, payment_reference}, find the transaction on the chain, and answer a "
    "welded one with 200, the result and the signed payable receipt, Cache-Control: private, no-store.",
)
async def welded_algorand_payment_is_served(case: Case) -> None:
    """On Algorand the proof is tx_id plus payment_reference, and a valid one is served 200 with the payable receipt.

    Pays each operation once, welded by the note, waits for the block, and presents the proof as base64 JSON. Expects
    200, a compact JWS in the answer, and no leave for shared caches.
    """
    at = case.profile.rail_bindings.receipt_at
    for operation in case.session.operations:
        where = {"operation": operation.path}
        quote = await challenge(case, operation)
        proof: dict[str, Any] = await pay(case, quote, "algorand")
        answer = await present(case, operation, proof)
        served = answer.status == 200
        for row in ("RAIL-PAY-01", "RAIL-PAY-02"):
            case.expect(row, served, "200 for a welded payment", told(answer), exchange=answer, where=where)
        if not served:
            continue
        found = receipts_in(answer, at)
        case.expect(
            "RAIL-PAY-05", bool(found), f"a compact JWS at {at or 'some place'}", "none", exchange=answer, where=where
        )
        case.expect(
            "RAIL-PAY-16", not is_shareable(answer), "private or no-store", cache(answer), exchange=answer, where=where
        )


def told(answer: Answer) -> str:
    """Return a status with the error an answer names."""
    error = answer.object().get("error")
    return f"{answer.status} {error}" if isinstance(error, str) else str(answer.status)
