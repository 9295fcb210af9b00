"""Landing and being undone: commitments, blockhashes, duplicates, fees, reorganisations, snapshots."""

from __future__ import annotations

from typing import Any

import pytest
from solders.instruction import CompiledInstruction
from solders.keypair import Keypair
from solders.message import Message
from solders.pubkey import Pubkey
from solders.transaction import VersionedTransaction


def test_a_payment_becomes_processed_then_confirmed_then_finalized(bench: Any) -> None:
    """It is processed in the open slot, confirmed when that closes, and finalized 32 slots after."""
    payer, payee = bench.fund_account(), Pubkey.new_unique()
    signature = bench.send(bench.payment(payer, payee, 400_000))
    states = []
    for _ in range(34):
        status = bench.status(signature)
        states.append((status["confirmationStatus"], status["confirmations"]))
        bench.slots(1)
    confirmed_states = [("confirmed", count) for count in range(1, 32)]
    assert [("processed", 0), *confirmed_states, ("finalized", None), ("finalized", None)] == states


def test_state_is_read_at_the_commitment_that_is_asked_for(bench: Any) -> None:
    """A balance changes for processed at once, for confirmed a slot later, for finalized with the 32nd slot."""
    payer, payee = bench.fund_account(), Pubkey.new_unique()
    bench.send(bench.payment(payer, payee, 400_000))
    levels = ("processed", "confirmed", "finalized")
    assert [bench.usdc_balance(payee, level) for level in levels] == [400_000, None, None]
    bench.slots(1)
    assert [bench.usdc_balance(payee, level) for level in levels] == [400_000, 400_000, None]
    bench.slots(31)
    assert [bench.usdc_balance(payee, level) for level in levels] == [400_000, 400_000, 400_000]


def test_a_transaction_is_looked_up_only_at_its_commitment(bench: Any) -> None:
    """A lookup by signature defaults to finalized, knows confirmed, and refuses processed."""
    payer, payee = bench.fund_account(), Pubkey.new_unique()
    signature = bench.send(bench.payment(payer, payee, 1))
    assert bench.call("getTransaction", signature, {"commitment": "confirmed"}) is None
    bench.slots(1)
    assert bench.call("getTransaction", signature, {"commitment": "confirmed"})["meta"]["err"] is None
    assert bench.call("getTransaction", signature) is None
    bench.slots(31)
    assert bench.call("getTransaction", signature)["meta"]["err"] is None
    assert bench.call_refused("getTransaction", signature, {"commitment": "processed"})["code"] == -32602


def test_a_blockhash_is_good_for_its_window_and_not_a_slot_longer(bench: Any) -> None:
    """At lastValidBlockHeight it still lands; at the next height it does not."""
    payer = bench.fund_account()
    latest = bench.call("getLatestBlockhash", {"commitment": "processed"})["value"]
    transactions = [bench.lamports(payer, payer.pubkey(), amount) for amount in (1, 2)]
    recent = bench.call("getLatestBlockhash")["value"]
    bench.slots(recent["lastValidBlockHeight"] - bench.call("getBlockHeight", {"commitment": "processed"}))
    assert bench.call("isBlockhashValid", recent["blockhash"], {"commitment": "processed"})["value"] is True
    signature = bench.send(transactions[0], preflightCommitment="processed")
    assert bench.status(signature)["err"] is None
    bench.slots(1)
    assert bench.call("isBlockhashValid", recent["blockhash"], {"commitment": "processed"})["value"] is False
    error = bench.send_refused(transactions[1], preflightCommitment="processed")
    assert (error["code"], error["data"]["err"]) == (-32002, "BlockhashNotFound")
    late = bench.send(transactions[1], skipPreflight=True)
    assert bench.status(late) is None
    assert latest["lastValidBlockHeight"] > recent["lastValidBlockHeight"]


def test_the_same_transaction_lands_once(bench: Any) -> None:
    """Sent again it is refused by the preflight, and without one it changes nothing."""
    payer, payee = bench.fund_account(), Pubkey.new_unique()
    payment = bench.payment(payer, payee, 400_000)
    first = bench.send(payment)
    error = bench.send_refused(payment, preflightCommitment="processed")
    assert (error["code"], error["data"]["err"]) == (-32002, "AlreadyProcessed")
    assert first == bench.send(payment, skipPreflight=True)
    assert bench.usdc_balance(payee) == 400_000


def test_a_failing_transaction_lands_with_its_error_when_preflight_is_skipped(bench: Any) -> None:
    """It moves nothing, costs its fee and is found by the accounts it names."""
    payer, payee, reference = bench.fund_account(usdc=10), Pubkey.new_unique(), Pubkey.new_unique()
    before = bench.balance(payer.pubkey())
    payment = bench.payment(payer, payee, 11, reference)
    refusal = bench.send_refused(payment)
    assert (refusal["code"], refusal["data"]["err"]) == (-32002, {"InstructionError": [1, {"Custom": 1}]})
    assert refusal["message"].endswith("Error processing Instruction 1: custom program error: 0x1")
    signature = bench.send(payment, skipPreflight=True)
    bench.slots(32)
    assert bench.status(signature)["err"] == {"InstructionError": [1, {"Custom": 1}]}
    assert (before - 5000, None) == (bench.balance(payer.pubkey()), bench.usdc_balance(payee))
    signatures = bench.call("getSignaturesForAddress", str(reference))
    assert [(signature, {"InstructionError": [1, {"Custom": 1}]})] == [
        (one["signature"], one["err"]) for one in signatures
    ]
    meta = bench.call("getTransaction", signature)["meta"]
    assert (5000, meta["preTokenBalances"]) == (meta["fee"], meta["postTokenBalances"])


@pytest.mark.parametrize(
    ("lamports", "err"), [(0, "AccountNotFound"), (4_000, "InsufficientFundsForFee")], ids=["none", "too few"]
)
def test_who_cannot_pay_the_fee_lands_nothing(bench: Any, lamports: int, err: str) -> None:
    """The preflight says why; without it the network drops the transaction in silence."""
    payer = Keypair()
    bench.call("surfnet_setAccount", str(payer.pubkey()), {"lamports": lamports})
    bench.slots(33)
    payment = bench.lamports(payer, Pubkey.new_unique(), 1)
    assert bench.send_refused(payment)["data"]["err"] == err
    signature = bench.send(payment, skipPreflight=True)
    assert bench.status(signature) is None
    assert bench.balance(payer.pubkey()) == lamports


def test_an_account_must_be_left_rent_exempt(bench: Any) -> None:
    """A receiver below the rent exemption makes the transaction fail as a whole."""
    payer, poor = bench.fund_account(usdc=0), Pubkey.new_unique()
    refusal = bench.send_refused(bench.lamports(payer, poor, 10))
    assert refusal["data"]["err"] == {"InsufficientFundsForRent": {"account_index": 1}}
    least = bench.call("getMinimumBalanceForRentExemption", 0)
    bench.send(bench.lamports(payer, poor, least))
    assert bench.balance(poor) == least


def test_an_account_is_locked_once(bench: Any) -> None:
    """A transaction that names an account twice is refused, and without a preflight it is dropped."""
    payer, payee = bench.fund_account(), Pubkey.new_unique()
    moved = bench.lamports(payer, payee, 10**7).message.instructions
    keys = [payer.pubkey(), payee, payee, Pubkey.default()]
    instructions = [CompiledInstruction(3, bytes(one.data), bytes(one.accounts)) for one in moved]
    recent = bench.chain.slots.get(bench.chain.head.number - 32).hash
    twice = VersionedTransaction(
        Message.new_with_compiled_instructions(1, 0, 1, keys, recent, instructions),
        [payer],
    )
    assert bench.send_refused(twice)["data"]["err"] == "AccountLoadedTwice"
    assert bench.status(bench.send(twice, skipPreflight=True)) is None
    assert bench.balance(payee) == 0


def test_a_preflight_looks_at_the_bank_of_its_commitment(bench: Any) -> None:
    """Money that is not final yet is not there for a preflight on the finalized bank, and is for a processed one."""
    payer = Keypair()
    bench.control("fund", address=str(payer.pubkey()), amount=str(10**9))
    payment = bench.lamports(payer, payer.pubkey(), 1)
    assert bench.send_refused(payment)["data"]["err"] == "AccountNotFound"
    assert bench.status(bench.send(payment, preflightCommitment="processed"))["err"] is None


def test_a_preflight_leaves_the_newest_state_alone(bench: Any) -> None:
    """Looking at an older state for a simulation does not bring it back."""
    payer, payee = bench.fund_account(), Pubkey.new_unique()
    bench.send(bench.payment(payer, payee, 300_000))
    payment = bench.payment(payer, payee, 1_000_000)
    simulation = bench.simulate(payment, commitment="finalized")
    assert simulation["err"] is None
    assert (bench.usdc_balance(payer.pubkey()), bench.usdc_balance(payee)) == (700_000, 300_000)
    bench.send(payment, skipPreflight=True)
    assert (bench.usdc_balance(payer.pubkey()), bench.usdc_balance(payee)) == (700_000, 300_000)


def test_a_reorganisation_undoes_what_the_last_slots_did(bench: Any) -> None:
    """Balances and lookups are as before, what is older stays, and the slot number does not go back."""
    payer, payee, reference = bench.fund_account(), Pubkey.new_unique(), Pubkey.new_unique()
    kept_signature = bench.send(bench.payment(payer, payee, 100, reference))
    bench.slots(3)
    before = (bench.balance(payer.pubkey()), bench.usdc_balance(payer.pubkey()), bench.usdc_balance(payee))
    hashes = bench.call("getLatestBlockhash", {"commitment": "processed"})["value"]["blockhash"]
    gone_signature = bench.send(bench.payment(payer, payee, 200, reference))
    bench.slots(5)
    head = bench.call("getSlot", {"commitment": "processed"})
    assert [gone_signature] == bench.control("reorg", depth=7)["dropped"]
    assert head == bench.call("getSlot", {"commitment": "processed"})
    assert before == (bench.balance(payer.pubkey()), bench.usdc_balance(payer.pubkey()), bench.usdc_balance(payee))
    assert bench.status(gone_signature) is None
    assert bench.call("isBlockhashValid", hashes, {"commitment": "processed"})["value"] is False
    signatures = bench.call("getSignaturesForAddress", str(reference), {"commitment": "confirmed"})
    assert [kept_signature] == [one["signature"] for one in signatures]


def test_a_payment_that_was_undone_can_be_sent_again(bench: Any) -> None:
    """Its blockhash is older than the fork, so the very same transaction lands again."""
    payer, payee = bench.fund_account(), Pubkey.new_unique()
    payment = bench.payment(payer, payee, 250)
    signature = bench.send(payment)
    assert [signature] == bench.control("reorg", depth=1)["dropped"]
    assert bench.usdc_balance(payee) is None
    assert signature == bench.send(payment)
    assert bench.usdc_balance(payee) == 250


def test_a_reorganisation_below_finality_takes_what_was_called_final(bench: Any) -> None:
    """A real cluster does not; a test that lets the node lie needs it."""
    payer, payee = bench.fund_account(), Pubkey.new_unique()
    signature = bench.send(bench.payment(payer, payee, 250))
    bench.slots(40)
    assert bench.status(signature)["confirmationStatus"] == "finalized"
    assert signature in bench.control("reorg", depth=41)["dropped"]
    assert (bench.status(signature), bench.usdc_balance(payee, "finalized")) == (None, None)


def test_a_snapshot_brings_everything_back(bench: Any) -> None:
    """State, lookups and slots are those of the snapshot, and it can be returned to twice."""
    payer, payee = bench.fund_account(), Pubkey.new_unique()
    first = bench.send(bench.payment(payer, payee, 100))
    number = bench.control("snapshot")["id"]
    then = (bench.chain.head.number, bench.chain.totals())
    for _ in range(2):
        later = bench.send(bench.payment(payer, payee, 200))
        stranger = bench.fund_account()
        bench.control("restore", id=number)
        assert then == (bench.chain.head.number, bench.chain.totals())
        assert (bench.usdc_balance(payee), bench.balance(stranger.pubkey())) == (100, 0)
        assert (bench.status(first)["err"], bench.status(later)) == (None, None)


def test_slots_after_a_restore_have_hashes_of_their_own(bench: Any) -> None:
    """A blockhash from the time that was undone is unknown for ever."""
    number = bench.control("snapshot")["id"]
    bench.slots(2)
    undone = str(bench.chain.head.hash)
    bench.control("restore", id=number)
    bench.slots(5)
    assert bench.call("isBlockhashValid", undone, {"commitment": "processed"})["value"] is False


def test_a_withheld_transaction_lands_when_it_is_released(bench: Any) -> None:
    """Until then it is in no lookup, however often it is sent."""
    payer, payee = bench.fund_account(), Pubkey.new_unique()
    payment = bench.payment(payer, payee, 100)
    bench.control("fault", name="withhold", seed=1, count=1)
    signature = bench.send(payment)
    assert signature == bench.send(payment)
    bench.slots(3)
    assert (bench.status(signature), bench.usdc_balance(payee)) == (None, None)
    assert bench.control("release")["released"] == 1
    assert (bench.status(signature)["err"], bench.usdc_balance(payee)) == (None, 100)


def test_a_withheld_transaction_lands_on_advance_unless_its_blockhash_has_expired(bench: Any) -> None:
    """Advancing lets it land; a release after the window drops it."""
    payer, payee = bench.fund_account(), Pubkey.new_unique()
    for waited_slots, balance in ((1, 100), (160, 100)):
        bench.control("fault", name="withhold", count=1)
        bench.send(bench.payment(payer, payee, 100))
        bench.slots(waited_slots)
        bench.control("advance", blocks=1)
        assert bench.usdc_balance(payee) == balance


def test_a_transaction_rejected_late_never_lands(bench: Any) -> None:
    """The node accepts it, and it never lands, even when it is sent again; the next transaction lands as usual."""
    payer, payee = bench.fund_account(), Pubkey.new_unique()
    payment = bench.payment(payer, payee, 100)
    bench.control("fault", name="reject_late", count=1)
    signature = bench.send(payment)
    bench.send(payment)
    bench.control("advance", blocks=40)
    assert (bench.status(signature), bench.usdc_balance(payee)) == (None, None)
    bench.send(bench.payment(payer, payee, 101))
    assert bench.usdc_balance(payee) == 101


def test_early_finality_is_a_lie_for_a_count_of_answers(bench: Any) -> None:
    """Fresh transactions are called final and found at finalized, and afterwards the node is honest again."""
    payer, payee = bench.fund_account(), Pubkey.new_unique()
    signature = bench.send(bench.payment(payer, payee, 100))
    bench.control("fault", name="early_finality", count=3)
    bench.call("getLatestBlockhash")  # an answer without a commitment to lie about does not count
    status = bench.status(signature)
    assert (status["confirmationStatus"], status["confirmations"]) == ("finalized", None)
    assert bench.call("getTransaction", signature)["meta"]["err"] is None
    assert bench.usdc_balance(payee, "finalized") == 100
    assert bench.status(signature)["confirmationStatus"] == "processed"
    assert bench.call("getTransaction", signature) is None
