"""Death in the middle of a redemption on Solana, on both databases: one price, one row, one receipt (P-ST-06)."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator

import httpx
import pytest

from reference.protocol.redemption import State
from tests.reference.rail.base_stack import PRICE
from tests.reference.rail.rail_stack import Rail
from tests.reference.rail.rail_tables import rows_of
from tests.reference.rail.solana_stack import SimulatedSolana, SolanaPayer, solana_settings

POINTS = {
    "crash-after-seen": State.UNPAID,
    "crash-after-paid": State.PAID,
    "crash-after-stored": State.SPENT,
}


@pytest.fixture(scope="module")
def solana() -> Iterator[SimulatedSolana]:
    """A simulated Solana."""
    simulation = SimulatedSolana()
    yield simulation
    simulation.stop()


@pytest.mark.parametrize("mutant", POINTS)
def test_a_crash_ends_in_one_receipt_on_solana(
    own_rail: Callable[..., Rail], solana: SimulatedSolana, database: dict[str, str], mutant: str
) -> None:
    """After the restart the same proof is served, for the price that was paid before the crash."""
    payer, payee = SolanaPayer(solana), SolanaPayer(solana, usdc=1)
    settings = solana_settings(solana, payee.address) | {"WP_RAIL_LEASE_SECONDS": "0.3"}
    rail = own_rail(mutant=mutant, **settings, **database)
    proof = payer.pay(rail.quote())
    with pytest.raises(httpx.TransportError):
        rail.present(proof)
    assert rail.process.wait(120) == -signal.SIGKILL
    rows = rows_of(rail)
    assert [row.state for row in rows] == [POINTS[mutant]]
    rail.start()
    reply = rail.present(proof)
    assert reply.status_code == 200, reply.text
    assert rail.present(proof).content == reply.content
    [row] = rows_of(rail)
    assert (row.id, row.state, row.answer, row.tx_id) == (rows[0].id, State.SPENT, reply.content, proof["tx_id"])
    assert (payer.usdc, payee.usdc) == (10**8 - PRICE, 1 + PRICE)
