"""The machine's clock is set while the rail runs, or before it starts: no payer loses by it (decision 0043)."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest

from tests.reference.rail.jumping_rail import JumpingRail, until
from tests.reference.rail.rail_answers import code_of
from tests.reference.rail.rail_stack import COMPLIANCE_BODY, Payer, SimulatedChain, proof_of

HOURS = 3 * 3600.0
DAYS = 2 * 86_400.0
IN_DOUBT = (503, "clock_in_doubt")
OK = (200, "ok")


@pytest.fixture
def jumping_rail(chain: SimulatedChain, pay_to: str, tmp_path: Path, database: dict[str, str]) -> Iterator[JumpingRail]:
    """A rail on a machine whose clock can be set."""
    with ExitStack() as exits:
        rail = JumpingRail(chain, tmp_path / "rail", pay_to, dict(database))
        exits.callback(rail.close)
        rail.start()
        yield rail


def answers(rail: JumpingRail) -> Callable[[], bool]:
    """Return what tells whether a rail answers at all."""

    def does() -> bool:
        try:
            rail.http.get("/health")
        except httpx.TransportError:
            return False
        return True

    return does


@pytest.mark.parametrize("jump", [DAYS, -DAYS], ids=["forward", "back"])
def test_a_clock_that_is_wrong_for_a_moment_costs_nobody_anything(
    jumping_rail: JumpingRail, payer: Payer, jump: float
) -> None:
    """While it is, nothing is quoted, health says why, and paid calls are served; afterwards all is as before."""
    rail = jumping_rail
    served_before, waiting_entry = (
        rail.quote(),
        rail.quote(body={**COMPLIANCE_BODY, "recipient_address": "screen-flag"}),
    )
    first = proof_of(payer.pay(served_before), served_before)
    answer = rail.present(first)
    assert answer.status_code == 200
    rail.set_wall(jump)
    until(lambda: rail.unpaid() == IN_DOUBT)
    reply = rail.http.get("/health")
    assert code_of(reply) == IN_DOUBT
    assert f"{jump:+.0f}"[:4] in reply.json()["message"]
    time.sleep(2.5)  # what is deleted by age is deleted every second
    assert rail.present(first).content == answer.content
    proof = proof_of(payer.pay(waiting_entry), waiting_entry)
    body = {**COMPLIANCE_BODY, "recipient_address": "screen-flag"}
    assert rail.present(proof, body=body).status_code == 200
    rail.set_wall(0)
    until(lambda: rail.health() == OK)
    assert rail.present(first).content == answer.content
    fresh = rail.quote()
    assert rail.present(proof_of(payer.pay(fresh), fresh)).status_code == 200


def test_a_rail_that_starts_on_a_wrong_clock_lets_nothing_end(jumping_rail: JumpingRail, payer: Payer) -> None:
    """Days ahead at its start: no quote lapses, no answer is deleted; "send it later" is what a payer hears."""
    rail = jumping_rail
    entry, served_entry = rail.quote(), rail.quote()
    proof, first = proof_of(payer.pay(entry), entry), proof_of(payer.pay(served_entry), served_entry)
    reply = rail.present(first)
    assert reply.status_code == 200
    rail.stop()
    rail.set_wall(DAYS)
    rail.launch()
    until(answers(rail))
    assert (rail.health(), rail.unpaid()) == (IN_DOUBT, IN_DOUBT)
    waits = rail.present(proof)
    assert code_of(waits) == IN_DOUBT
    assert int(waits.headers["Retry-After"]) >= 1
    assert rail.present(first).content == reply.content
    time.sleep(2.5)
    rail.set_wall(0)
    until(lambda: rail.health() == OK)
    assert rail.present(first).content == reply.content
    assert rail.present(proof).status_code == 200


def test_a_correction_that_the_chain_confirms_counts(chain: SimulatedChain, pay_to: str, tmp_path: Path) -> None:
    """The machine started with a wrong time, and NTP sets it right: from then on the rail quotes."""
    rail = JumpingRail(chain, tmp_path / "rail", pay_to)
    with ExitStack() as exits:
        exits.callback(rail.close)
        rail.set_wall(-HOURS)
        rail.launch()
        until(answers(rail))
        assert rail.unpaid() == IN_DOUBT
        rail.set_wall(0)
        rail.await_health()
        payer = Payer(chain)
        entry = rail.quote()
        assert abs(int(entry["extra"]["payment_reference"].partition(":")[0]) - time.time()) < 60
        assert rail.present(proof_of(payer.pay(entry), entry)).status_code == 200
