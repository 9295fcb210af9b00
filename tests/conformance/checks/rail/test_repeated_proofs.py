"""Judgement of rails that repeat a proof that pays, or only the part of it that the chain shows."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from conformance.outcome import Verdict
from tests.conformance.checks.rail.scripted_rail import PROFILE, Call, Rail, Reply, run_check

CHECK, ROW = "payments_never_come_back", "X-ROB-02"
Change = Callable[[Rail, Call, Reply], Reply]


def rail_with(change: Change) -> Rail:
    """Return a rail that answers calls with a payment of its books in its own way."""

    def change_reply(call: Call, reply: Reply) -> Reply:
        is_paid = isinstance(call.proof, dict) and call.proof.get("tx_id") in rail.paid
        return change(rail, call, reply) if is_paid else reply

    rail = Rail(change_reply)
    return rail


def repeat_proof(choose_text: Callable[[Call], str]) -> Change:
    """Return what refuses a payment that was presented before, with a message."""
    known_ids: set[str] = set()

    def change_reply(_: Rail, call: Call, reply: Reply) -> Reply:
        if call.proof["tx_id"] in known_ids:
            return Reply(409, {"error": "payment_already_spent", "message": f"already spent: {choose_text(call)}"})
        known_ids.add(call.proof["tx_id"])
        return reply

    return change_reply


@pytest.mark.parametrize(
    ("change", "verdict"),
    [
        (lambda _, __, reply: reply, Verdict.PASS),
        (repeat_proof(lambda call: call.proof["tx_id"]), Verdict.PASS),
        (repeat_proof(lambda call: call.headers["X-PAYMENT"]), Verdict.FAIL),
        (lambda _, call, reply: Reply(200, reply.document, {"X-Seen": call.headers["X-PAYMENT"]}), Verdict.FAIL),
    ],
)
async def test_a_proof_that_pays_is_repeated_nowhere(change: Change, verdict: Verdict) -> None:
    """Neither when it is served, nor when it is spent; its transaction may be named."""
    assert await run_check(CHECK, rail_with(change)) == {ROW: verdict}


async def test_where_nothing_can_be_bought_that_is_told() -> None:
    """The row passes in part."""
    profile = PROFILE.replace('lanes = ["algorand"]', "lanes = []")
    assert await run_check(CHECK, Rail(), profile) == {ROW: Verdict.PASS}
