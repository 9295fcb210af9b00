"""What the chain shows, judged: one fault of a payment, or of the node, at a time (5.5, 5.7 step 14)."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from algosdk import transaction

from tests.reference.rail.base_stack import until
from tests.reference.rail.rail_answers import code_of, refused_otherwise, refused_payment
from tests.reference.rail.rail_stack import (
    Payer,
    Rail,
    SimulatedChain,
    proof_of,
)
from tests.reference.rail.rail_tables import rows_of

ALGORAND_TX = "A" * 52


def _fault(name: str) -> Callable[[Payer, dict[str, Any]], str]:
    def pay(payer: Payer, entry: dict[str, Any]) -> str:
        payer.chain.control("fault", name=name, count=1)
        receiver, amount = entry["payTo"], int(entry["amount"])
        note = entry["extra"]["payment_reference"].encode()
        tx_id = payer.transfer(receiver=receiver, amount=amount, note=note, wait=False)
        while name == "reject_late" and not _pool_error(payer, tx_id):
            time.sleep(0.01)
        return tx_id

    return pay


def _pool_error(payer: Payer, tx_id: str) -> str:
    match: Any = payer.chain.client.pending_transaction_info(tx_id)
    return str(match["pool-error"])


def _clawed_back(payer: Payer, entry: dict[str, Any]) -> str:
    victim = Payer(payer.chain)
    mine = _own_asset(payer, clawback=payer.address)
    params = payer.chain.client.suggested_params()
    victim.send(transaction.AssetOptInTxn(victim.address, params, mine))
    payer.transfer(receiver=victim.address, amount=10**6, note=b"", asset=mine)
    note = entry["extra"]["payment_reference"].encode()
    return payer.send(
        transaction.AssetTransferTxn(
            payer.address, params, payer.address, 50_000, mine, note=note, revocation_target=victim.address
        )
    )


def _own_asset(payer: Payer, *, clawback: str) -> int:
    params = payer.chain.client.suggested_params()
    transfer = transaction.AssetCreateTxn(payer.address, params, 10**12, 6, default_frozen=False, clawback=clawback)
    match: Any = payer.chain.client.pending_transaction_info(payer.send(transfer))
    return int(match["asset-index"])


def _native(payer: Payer, entry: dict[str, Any]) -> str:
    note = entry["extra"]["payment_reference"].encode()
    params = payer.chain.client.suggested_params()
    return payer.send(transaction.PaymentTxn(payer.address, params, entry["payTo"], 50_000, note=note))


def _lookalike(payer: Payer, entry: dict[str, Any]) -> str:
    asset = payer.create_asset("USDC")
    note = entry["extra"]["payment_reference"].encode()
    return payer.transfer(receiver=payer.address, amount=50_000, note=note, asset=asset)


PAYMENTS: dict[str, tuple[Callable[[Payer, dict[str, Any]], str], str]] = {
    "unknown": (lambda _payer, _entry: ALGORAND_TX, "tx_not_found"),
    "not confirmed": (_fault("withhold"), "tx_not_confirmed"),
    "failed": (_fault("reject_late"), "tx_failed"),
    "native coin": (_native, "unsupported_transaction"),
    "clawback": (_clawed_back, "unsupported_transaction"),
    "another asset of the same name": (_lookalike, "wrong_asset"),
    "another receiver": (lambda payer, entry: payer.pay(entry, receiver=payer.address), "wrong_recipient"),
    "one unit short": (lambda payer, entry: payer.pay(entry, amount=int(entry["amount"]) - 1), "wrong_amount"),
    "nothing": (lambda payer, entry: payer.pay(entry, amount=0), "wrong_amount"),
    "no note": (lambda payer, entry: payer.pay(entry, note=b""), "weld_mismatch"),
    "note with more": (
        lambda payer, entry: payer.pay(entry, note=entry["extra"]["payment_reference"].encode() + b"\n"),
        "weld_mismatch",
    ),
}


@pytest.fixture(scope="module")
def impatient(chain: SimulatedChain, pay_to: str, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A rail that does not wait inside the call for a confirmation."""
    new_rail = Rail(chain, tmp_path_factory.mktemp("rail"), pay_to, {"WP_RAIL_CONFIRM_WAIT": "0"}).start()
    yield new_rail
    new_rail.close()


@pytest.mark.parametrize(("pay", "code"), PAYMENTS.values(), ids=PAYMENTS.keys())
def test_what_the_chain_shows_is_judged(
    impatient: Rail,
    payer: Payer,
    calm_chain: SimulatedChain,
    pay: Callable[[Payer, dict[str, Any]], str],
    code: str,
) -> None:
    """Step 14: one fault of the payment, its code; only what may still come right is to be sent again."""
    del calm_chain
    entry = impatient.quote()
    tx_id = pay(payer, entry)
    answer = impatient.present(proof_of(tx_id, entry))
    refused_payment(answer, code, tx_id)
    retryable = code in {"tx_not_found", "tx_not_confirmed"}
    assert answer.headers.get("Retry-After") == ("2" if retryable else None)
    again = impatient.present(proof_of(tx_id, entry))
    assert code_of(again) == (402, code)


def test_who_waits_for_a_block_is_told_when_the_rail_is_to_end(
    own_rail: Callable[..., Rail], payer: Payer, calm_chain: SimulatedChain
) -> None:
    """However long a call would wait, a restart answers it "not yet"; the rail serves it afterwards."""
    rail = own_rail(WP_RAIL_CONFIRM_WAIT="600")
    entry = rail.quote()
    proof = proof_of(_fault("withhold")(payer, entry), entry)
    with ThreadPoolExecutor() as threads:
        pending_call = threads.submit(rail.present, proof)
        until(lambda: rows_of(rail))
        rail.stop()
        assert code_of(pending_call.result()) == (402, "tx_not_confirmed")
    calm_chain.control("release")
    rail.start()
    assert until(lambda: rail.present(proof).status_code == 200)


def test_a_bad_payment_leaves_the_token_usable(rail: Rail, payer: Payer) -> None:
    """Column "paid?": after a payment that was too small the same token is redeemed by the right one."""
    entry = rail.quote()
    small = payer.pay(entry, amount=1)
    refused_payment(rail.present(proof_of(small, entry)), "wrong_amount", small)
    assert rail.present(proof_of(payer.pay(entry), entry)).status_code == 200


def test_a_payment_before_the_challenge_is_too_old(own_rail: Callable[..., Rail], payer: Payer) -> None:
    """Step 14: the clock of a rail that is ahead of the chain's blocks by more than the tolerance."""
    rail = own_rail()
    rail.set_clock(120)
    entry = rail.quote()
    tx_id = payer.pay(entry)
    refused_payment(rail.present(proof_of(tx_id, entry)), "payment_too_old", tx_id)


def test_a_confirmation_is_waited_for(own_rail: Callable[..., Rail], payer: Payer, calm_chain: SimulatedChain) -> None:
    """P-ER-05: a proof presented before the block is there is served within the call."""
    rail = own_rail(WP_RAIL_CONFIRM_WAIT="50")
    calm_chain.control("fault", name="withhold", count=1)
    entry = rail.quote()
    note, amount = entry["extra"]["payment_reference"].encode(), int(entry["amount"])
    tx_id = payer.transfer(receiver=entry["payTo"], amount=amount, note=note, wait=False)
    with ThreadPoolExecutor() as pool:
        answer = pool.submit(rail.present, proof_of(tx_id, entry))
        with pytest.raises(TimeoutError):
            answer.result(0.5)
        calm_chain.control("release")
        assert answer.result(100).status_code == 200


@pytest.mark.parametrize(
    "fault",
    ["unavailable", "server_error", "unauthorised", "cut_off", "not_json", "empty_body", "wrong_shape", "lost"],
)
def test_a_chain_that_does_not_answer_serves_nobody(
    rail: Rail, payer: Payer, calm_chain: SimulatedChain, fault: str
) -> None:
    """Step 14, P-ER-03: 503 for a good payment while the node is away or says nothing sound; then it is served."""
    entry = rail.quote()
    proof = proof_of(payer.pay(entry), entry)
    for seed in range(4):
        calm_chain.control("fault", name=fault, seed=seed, count=1000)
        answer = rail.present(proof)
        refused_otherwise(answer, 503, "chain_unavailable")
        assert answer.headers["Retry-After"] == "5"
    calm_chain.calm()
    assert rail.present(proof).status_code == 200


def test_a_node_that_hangs_serves_nobody(rail: Rail, payer: Payer, calm_chain: SimulatedChain) -> None:
    """The same for a node that accepts the call and says nothing: the call ends in time."""
    entry = rail.quote()
    proof = proof_of(payer.pay(entry), entry)
    calm_chain.control("fault", name="hang", count=2)
    refused_otherwise(rail.present(proof), 503, "chain_unavailable")
    calm_chain.calm()
    assert rail.present(proof).status_code == 200
