"""The chain itself, without HTTP: snapshots, withheld groups, block times."""

from __future__ import annotations

import pytest

from sim.algorand.chain import Chain, Genesis
from sim.algorand.encoding import pack
from sim.algorand.stateless_checks import Rejected, Signed
from sim.clock import BlockClock

PAYEE = b"\1" * 32


def new_chain() -> Chain:
    return Chain(Genesis(), BlockClock(lambda: 1_700_000_000.0))


def payment(chain: Chain, amount: int, note: bytes = b"", *, last: int = 900) -> Signed:
    fields = {"type": "pay", "snd": bytes(chain.bank.verify_key), "rcv": PAYEE, "amt": amount, "note": note}
    all_fields = {**fields, "fee": 1000, "fv": 1, "lv": last, "gh": chain.genesis.hash}
    set_fields = {name: value for name, value in all_fields.items() if value}
    return Signed.of({"sig": chain.bank.sign(b"TX" + pack(set_fields)).signature, "txn": set_fields})


def test_each_snapshot_keeps_its_own_blocks() -> None:
    """Going back to an early snapshot and on to a later one brings the later one's blocks, not what came between."""
    chain = new_chain()
    early = chain.save()
    own_payment = payment(chain, 200_000)
    chain.submit([own_payment])
    chain.seal()
    late, blocks = chain.save(), list(chain.blocks)
    chain.restore(early)
    for _ in range(5):
        chain.seal()
    assert own_payment.id not in chain.index
    chain.restore(late)
    assert blocks == chain.blocks
    assert chain.index[own_payment.id].block == blocks[-1].number
    assert chain.state.account(PAYEE).algos == 200_000


def test_a_withheld_transaction_is_taken_once() -> None:
    """While it waits the same bytes are refused; after its release it takes effect once."""
    chain = new_chain()
    chain.faults.arm("withhold", seed=1, count=1)
    withheld_payment = payment(chain, 200_000)
    chain.submit([withheld_payment])
    with pytest.raises(Rejected, match="already in ledger"):
        chain.submit([withheld_payment])
    chain.seal()
    assert chain.state.account(PAYEE).algos == 0
    assert chain.find_pending(withheld_payment.id) is withheld_payment
    assert chain.release() == 1
    chain.seal()
    assert chain.state.account(PAYEE).algos == 200_000


def test_a_withheld_transaction_can_die_of_age() -> None:
    """Released after its last valid round, it leaves the pool with the node's reason."""
    chain = new_chain()
    chain.faults.arm("withhold", seed=1, count=1)
    withheld_payment = payment(chain, 200_000)
    chain.submit([withheld_payment])
    for _ in range(901):
        chain.seal()
    chain.release()
    error = chain.find_error(withheld_payment.id)
    assert error is not None
    assert "txn dead" in error[1]


def test_a_refused_submission_uses_up_no_fault() -> None:
    """The fault waits for a transaction that the node takes."""
    chain = new_chain()
    chain.faults.arm("reject_late", seed=1, count=1)
    with pytest.raises(Rejected, match="overspend"):
        chain.submit([payment(chain, 10**17)])
    accepted_payment = payment(chain, 200_000)
    chain.submit([accepted_payment])
    chain.seal()
    assert chain.find_error(accepted_payment.id) is not None
    assert chain.state.account(PAYEE).algos == 0


def test_block_times_never_go_back() -> None:
    """When the system's clock does, the next block has the time of the one before."""
    now = [1_700_000_000.0]
    chain = Chain(Genesis(), BlockClock(lambda: now[0]))
    now[0] += 100
    later = chain.seal().time
    now[0] -= 100
    assert (later, later) == (1_700_000_100, chain.seal().time)


def test_two_transactions_are_a_group_only_by_its_id() -> None:
    """Sent together without the id that names them both, they are refused."""
    chain = new_chain()
    with pytest.raises(Rejected, match="zero Group"):
        chain.submit([payment(chain, 1), payment(chain, 2)])
