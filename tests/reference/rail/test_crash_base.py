"""Death in the middle of a settlement, on both databases: one price, one row, one receipt (P-LN-03, P-ST-06)."""

from __future__ import annotations

import signal
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from reference.protocol.redemption import State
from reference.store.settlements import Fate
from tests.reference.rail.base_stack import PRICE, BasePayer, Settler, SimulatedBase, until
from tests.reference.rail.rail_stack import Rail, payload_of
from tests.reference.rail.rail_tables import rows_of, settlements_of

POINTS = {
    "crash-after-reserved": (State.UNPAID, 0),
    "crash-after-sent": (State.UNPAID, 1),
    "crash-after-settled": (State.UNPAID, 1),
    "crash-after-paid": (State.PAID, 1),
    "crash-after-stored": (State.SPENT, 1),
}
LEASE = {"WP_RAIL_LEASE_SECONDS": "0.3"}


def crash_rail(
    make: Callable[..., Rail], mutant: str, payer: BasePayer, **settings: str
) -> tuple[Rail, dict[str, Any]]:
    """Present an authorization to a rail that dies at one point of its settlement; return it, dead, with the proof."""
    rail = make(mutant=mutant, **settings)
    proof = payer.authorize(rail.quote())
    with pytest.raises(httpx.TransportError):
        rail.present(proof)
    assert rail.process.wait(120) == -signal.SIGKILL
    return rail, proof


@pytest.mark.parametrize("mutant", POINTS)
def test_a_crash_ends_in_one_receipt_for_one_price(  # each is a part of the scene
    own_rail: Callable[..., Rail],
    base: SimulatedBase,
    base_payer: BasePayer,
    settler: Settler,
    on_base: dict[str, str],
    mutant: str,
) -> None:
    """After the restart the same proof is served; its price has moved once, by one transaction of the settler."""
    ends_in_one_receipt(own_rail, base, base_payer, settler, on_base, mutant)


@pytest.mark.slow
@pytest.mark.parametrize("database", [pytest.param("postgres", marks=pytest.mark.postgres)], indirect=True)
@pytest.mark.parametrize("mutant", POINTS)
def test_a_crash_beside_postgresql_ends_in_one_receipt(  # each is a part of the scene
    own_rail: Callable[..., Rail],
    base: SimulatedBase,
    base_payer: BasePayer,
    settler: Settler,
    on_base: dict[str, str],
    database: dict[str, str],
    mutant: str,
) -> None:
    """The same with the ledger in a database that does not die."""
    ends_in_one_receipt(own_rail, base, base_payer, settler, on_base | database, mutant)


def ends_in_one_receipt(
    make: Callable[..., Rail],
    base: SimulatedBase,
    base_payer: BasePayer,
    settler: Settler,
    settings: dict[str, str],
    mutant: str,
) -> None:
    """Let a rail die at a point, start it again, and hold it to one receipt for one price."""
    before = base_payer.usdc
    rail, proof = crash_rail(make, mutant, base_payer, **LEASE, **settings)
    state, sent = POINTS[mutant]
    rows = rows_of(rail)
    assert [row.state for row in rows] == [state]
    assert rows[0].held_until is not None  # else it would be forgotten although its money may move
    assert len(settlements_of(rail)) == 1
    until(lambda: base.count_of(settler.address) == sent)
    rail.start()
    reply = rail.present(proof)
    assert reply.status_code == 200, reply.text
    assert rail.present(proof).content == reply.content
    [row] = rows_of(rail)
    assert (row.id, row.state, row.answer) == (rows[0].id, State.SPENT, reply.content)
    [settlement] = until(lambda: [one for one in settlements_of(rail) if one.fate is Fate.SETTLED])
    assert payload_of(reply.json()["payable_receipt"])["amount_microunits"] == str(PRICE)
    assert row.tx_id in settlement.hashes  # others with its nonce may have been replaced, having waited long
    assert (base_payer.usdc, base.count_of(settler.address)) == (before - PRICE, 1)


@pytest.mark.parametrize("mutant", ["crash-after-reserved", "crash-after-sent", "crash-after-settled"])
def test_a_crash_after_which_nobody_comes_back(
    own_rail: Callable[..., Rail], base_payer: BasePayer, on_base: dict[str, str], mutant: str
) -> None:
    """The rail finishes by itself what it began: the row is paid, though no client asks; then the proof is served."""
    before = base_payer.usdc
    rail, proof = crash_rail(own_rail, mutant, base_payer, **LEASE, **on_base)
    rail.start()
    [row] = until(lambda: [one for one in rows_of(rail) if one.state is State.PAID])
    assert (row.payer, base_payer.usdc) == (base_payer.address.lower(), before - PRICE)
    until(lambda: [one.fate for one in settlements_of(rail)] == [Fate.SETTLED])
    assert rail.present(proof).status_code == 200
    assert base_payer.usdc == before - PRICE


def test_a_settlement_before_whose_nonce_a_worker_died(
    own_rail: Callable[..., Rail], base: SimulatedBase, settler: Settler, on_base: dict[str, str]
) -> None:
    """A nonce that was taken and never sent does not hold up those after it."""
    first, second = BasePayer(base), BasePayer(base)
    rail, proof = crash_rail(own_rail, "crash-after-reserved", first, **on_base, WP_RAIL_LEASE_SECONDS="3600")
    rail.start()
    assert rail.present(second.authorize(rail.quote())).status_code == 200
    assert base.count_of(settler.address) == 2
    until(lambda: first.usdc == 10**8 - PRICE)
    assert proof["authorization"]["from"] == first.address
