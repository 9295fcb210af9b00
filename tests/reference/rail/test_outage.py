"""A node that is away for longer than any window: who obeyed and came again is served (5.8, decision 0044)."""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from reference.protocol.redemption import State
from tests.reference.rail.base_stack import until
from tests.reference.rail.rail_answers import code_of, refused_otherwise
from tests.reference.rail.rail_stack import COMPLIANCE, COMPLIANCE_BODY, Payer, Rail, SimulatedChain, proof_of
from tests.reference.rail.rail_tables import rows_of

LOOKS = {"WP_RAIL_NODE_LOOK_SECONDS": "0.2"}
PAST_EVERY_WINDOW = 1800 + 900 + 600


@pytest.fixture
def own_chain() -> Iterator[SimulatedChain]:
    """A chain of one test alone."""
    simulation = SimulatedChain()
    yield simulation
    simulation.stop()


@pytest.fixture
def rail(own_chain: SimulatedChain, tmp_path: Path, database: dict[str, str]) -> Iterator[Rail]:
    """A rail on it that notices soon when its node is away."""
    new_rail = Rail(own_chain, tmp_path / "rail", Payer(own_chain).address, {**LOOKS, **database}).start()
    yield new_rail
    new_rail.close()


def take_away(chain: SimulatedChain) -> None:
    """Let the node answer nothing that counts."""
    chain.control("fault", name="unavailable", seed=1, count=10_000_000)


def lanes_of(rail: Rail) -> tuple[list[str], list[str]]:
    """Return the lanes that health reports: the offered ones, and those whose node is down."""
    document = rail.http.get("/health").json()
    return document["lanes"], document.get("lanes_away", [])


def until_away(rail: Rail) -> None:
    until(lambda: lanes_of(rail) == ([], ["algorand_mainnet"]))


def until_back(rail: Rail) -> None:
    until(lambda: lanes_of(rail) == (["algorand_mainnet"], []))


def states_of(rail: Rail) -> list[State]:
    return [row.state for row in rows_of(rail)]


def test_a_claim_outlives_an_outage_of_any_length(own_chain: SimulatedChain, rail: Rail) -> None:
    """The payer sends the same proof later, as asked, long after every window: served."""
    entry = rail.quote()
    proof = proof_of(Payer(own_chain).pay(entry), entry)
    take_away(own_chain)
    refused_otherwise(rail.present(proof), 503, "chain_unavailable")
    rail.set_clock(PAST_EVERY_WINDOW)
    refused_otherwise(rail.present(proof), 503, "chain_unavailable")
    rail.set_clock(3 * PAST_EVERY_WINDOW)
    own_chain.calm()
    answer = rail.present(proof)
    assert answer.status_code == 200, answer.text


def test_what_was_paid_is_decided_when_the_node_is_back(own_chain: SimulatedChain, rail: Rail) -> None:
    """Without any call: paid claims are marked as paid and stay, invented ones lapse by the ordinary rule."""
    entry, second_entry = rail.quote(), rail.quote()
    proof = proof_of(Payer(own_chain).pay(entry), entry)
    take_away(own_chain)
    until_away(rail)
    for one in (proof, proof_of("A" * 52, second_entry)):
        refused_otherwise(rail.present(one), 503, "chain_unavailable")
    rail.set_clock(PAST_EVERY_WINDOW)
    assert states_of(rail) == [State.UNPAID, State.UNPAID]
    own_chain.calm()
    until(lambda: sorted(states_of(rail)) == sorted([State.PAID, State.UNPAID]))
    minutes = count(1)

    def is_no_claim_kept() -> bool:
        # The rail looks at a kept claim again after half a minute of its clock.
        rail.set_clock(PAST_EVERY_WINDOW + 60 * next(minutes))
        time.sleep(1)
        return not any(row.is_kept for row in rows_of(rail))

    until(is_no_claim_kept)
    rail.set_clock(3 * PAST_EVERY_WINDOW)
    until(lambda: states_of(rail) == [State.PAID])
    answer = rail.present(proof)
    assert answer.status_code == 200, answer.text
    assert code_of(rail.present(proof_of("A" * 52, second_entry))) == (402, "challenge_expired")


def test_paid_in_time_and_presented_after_an_outage(own_chain: SimulatedChain, rail: Rail) -> None:
    """A lifetime does not run while no payer could be served; a payment after its end is refused nevertheless."""
    entry, late = rail.quote(), rail.quote()
    payer = Payer(own_chain)
    proof = proof_of(payer.pay(entry), entry)
    take_away(own_chain)
    until_away(rail)
    rail.set_clock(PAST_EVERY_WINDOW)
    own_chain.calm()
    until_back(rail)
    answer = rail.present(proof)
    assert answer.status_code == 200, answer.text
    own_chain.control("block_time_offset", seconds=PAST_EVERY_WINDOW)
    assert code_of(rail.present(proof_of(payer.pay(late), late))) == (402, "challenge_expired")
    rail.set_clock(3 * PAST_EVERY_WINDOW)
    third = rail.quote()
    rail.set_clock(4 * PAST_EVERY_WINDOW)
    assert code_of(rail.present(proof_of(payer.pay(third), third))) == (402, "challenge_expired")


def test_paid_in_time_and_presented_after_no_worker_ran(own_chain: SimulatedChain, rail: Rail) -> None:
    """The rail's own absence counts like its node's."""
    entry = rail.quote()
    proof = proof_of(Payer(own_chain).pay(entry), entry)
    rail.stop()
    rail.set_clock(PAST_EVERY_WINDOW)
    rail.start()
    answer = rail.present(proof)
    assert answer.status_code == 200, answer.text


def test_a_lane_whose_node_is_away_is_not_offered(own_chain: SimulatedChain, rail: Rail) -> None:
    """The last one: 503 with a code of its own, health says which; documents stay, stored answers are given."""
    entry = rail.quote()
    proof = proof_of(Payer(own_chain).pay(entry), entry)
    reply = rail.present(proof)
    catalogs = [rail.http.get(path).content for path in ("/pay/v1/index", "/.well-known/x402")]
    take_away(own_chain)
    until_away(rail)
    for headers in ({}, {"X-PAYMENT": "nonsense"}):
        answer = rail.http.post(COMPLIANCE, json=COMPLIANCE_BODY, headers=headers)
        refused_otherwise(answer, 503, "no_lane_available")
        assert int(answer.headers["Retry-After"]) >= 1
    again = rail.present(proof)
    assert (again.status_code, again.content) == (200, reply.content)
    assert [rail.http.get(path).content for path in ("/pay/v1/index", "/.well-known/x402")] == catalogs
    assert rail.http.get("/health").json()["status"] == "degraded"
    own_chain.calm()
    until_back(rail)
    assert rail.quote()["network"] == entry["network"]


def test_a_stranger_s_claims_in_an_outage_push_nobody_out(own_chain: SimulatedChain, rail: Rail) -> None:
    """So many rows a token and no more; who was pushed out comes again and is served."""
    entry = rail.quote()
    proof = proof_of(Payer(own_chain).pay(entry), entry)
    take_away(own_chain)
    until_away(rail)
    refused_otherwise(rail.present(proof), 503, "chain_unavailable")
    for letter in "BCDEFGHIJKLM":
        stranger = proof_of(letter + "A" * 51, entry)
        refused_otherwise(rail.present(stranger), 503, "chain_unavailable")
        assert len(rows_of(rail)) <= 8
    assert proof["tx_id"] not in {row.tx_id for row in rows_of(rail)}
    rail.set_clock(PAST_EVERY_WINDOW)
    own_chain.calm()
    until_back(rail)
    answer = rail.present(proof)
    assert answer.status_code == 200, answer.text
    until(lambda: not any(row.is_kept for row in rows_of(rail)))
    rail.set_clock(3 * PAST_EVERY_WINDOW)
    until(lambda: states_of(rail) == [State.SPENT])


def test_one_slow_answer_takes_no_lane_away(own_chain: SimulatedChain, rail: Rail) -> None:
    """Nor do two."""
    own_chain.control("fault", name="unavailable", seed=1, count=2)
    until(lambda: "tending_failed" not in rail.log() and lanes_of(rail)[0])
    assert '"lane_not_offered"' not in rail.log()
    assert rail.quote()["network"].startswith("algorand")
