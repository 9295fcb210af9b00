"""What the check of a chain that cannot be asked makes of honest and of faulty rails."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.engine.session import Session
from conformance.lanes.algorand.payer import AlgorandPayer
from conformance.outcome import Verdict
from tests.conformance.checks.rail.scripted_rail import PROFILE, Call, Payer, Rail, Reply
from tests.conformance.checks.trial import run_one_check

OUTAGE = "chain_that_cannot_be_asked"


class FalteringPayer(Payer, AlgorandPayer):
    """Its node knows one fault, which is on or off."""

    def __init__(self, rail: Rail) -> None:
        super().__init__(rail)
        self.away = False

    async def fault_names(self) -> tuple[str, ...]:
        """Return that fault."""
        return ("unavailable",)

    async def control(self, verb: str, **members: Any) -> dict[str, Any]:
        """Switch it."""
        self.away = verb == "fault" and members["count"] > 0
        return {"ok": True}

    async def transfer(self, **_: Any) -> str:
        """Enter a payment into the rail's books."""
        return str((await self.pay({"extra": {"payment_reference": ""}}))["tx_id"])


async def _run_outage_check(away: Reply, profile: str = PROFILE) -> dict[str, Verdict]:
    """Return the verdicts on a rail that gives this answer to each proof while its chain is unreachable."""
    payers: list[FalteringPayer] = []

    def change_reply(call: Call, honest: Reply) -> Reply:
        return away if call.proof is not None and payers[0].away else honest

    rail = Rail(change_reply)

    def ready(session: Session) -> None:
        payers.append(FalteringPayer(rail))
        session.payers.open_payers["algorand"] = payers[0]

    return await run_one_check(OUTAGE, rail, profile, ready=ready)


@pytest.mark.parametrize("status", [402, 409, 503])
async def test_who_refuses_while_the_chain_is_away_passes(status: int) -> None:
    """Nothing is served. The specification has 503; another target may also answer 402."""
    open_profile = f"{PROFILE}\n[rail]\nchain_down_status = [503, 402]\n"
    assert await _run_outage_check(Reply(status, {"error": "x"}), open_profile) == {
        "RAIL-WELD-13": Verdict.PASS,
        "RAIL-WELD-16": Verdict.PASS,
    }


@pytest.mark.parametrize(
    ("status", "named", "recovers"), [(404, "[503, 402]", Verdict.FAIL), (402, "[503]", Verdict.PASS)]
)
async def test_another_word_than_the_profile_has_for_it_warns(status: int, named: str, recovers: Verdict) -> None:
    """A payer who is asked to pay, although the operator says 503, pays twice; RAIL-WELD-16 names other refusals."""
    profile = f"{PROFILE}[rail]\nchain_down_status = {named}\n"
    row_verdicts = await _run_outage_check(Reply(status, {"error": "x"}), profile)
    assert row_verdicts == {"RAIL-WELD-13": Verdict.WARN, "RAIL-WELD-16": recovers}


@pytest.mark.parametrize("status", [200, 201])
async def test_who_serves_while_the_chain_is_away_fails(status: int) -> None:
    """By any success."""
    assert (await _run_outage_check(Reply(status, {"ok": True})))["RAIL-WELD-13"] is Verdict.FAIL


@pytest.mark.parametrize("status", [500, 502])
async def test_who_breaks_while_the_chain_is_away_has_not_refused(status: int) -> None:
    """A payer who is answered so does not know whether to pay again: it is neither 402 nor 409 nor 503."""
    row_verdicts = await _run_outage_check(Reply(status, {"error": "x"}))
    assert row_verdicts == {"RAIL-WELD-13": Verdict.INCONCLUSIVE, "RAIL-WELD-16": Verdict.FAIL}


async def test_the_status_that_the_profile_names_is_no_server_error() -> None:
    """An operator may have another word for it."""
    profile = f"{PROFILE}[rail]\nchain_down_status = [504]\n"
    assert await _run_outage_check(Reply(504, {"error": "x"}), profile) == {
        "RAIL-WELD-13": Verdict.PASS,
        "RAIL-WELD-16": Verdict.PASS,
    }
