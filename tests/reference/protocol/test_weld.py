"""The weld of the Algorand lane: one payment that holds, and one change at a time (5.5)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from reference.protocol import weld
from reference.protocol.challenge import Terms, Token
from reference.protocol.observed_transaction import ABSENT, ObservedTransaction, Transfer, TxStatus
from reference.protocol.refusals import CODES_402, PaymentRefused
from reference.variants.seams import Rule, table_with

TOKEN = Token.parse("1767225600:0011223344556677:" + "ab" * 32)
assert TOKEN is not None
TERMS = Terms("algorand_mainnet", "algorand:wGHE2Pwdvd7S12BL5FaOP20EGYesN73k", "31566704", "10000", "PAYEE")
TRANSFER = Transfer(0, "31566704", "PAYER", "PAYEE", 10_000)
TRANSACTION = ObservedTransaction(
    TxStatus.CONFIRMED,
    final=True,
    block_time=TOKEN.unix,
    sender="PAYER",
    note=TOKEN.text.encode(),
    transfers=(TRANSFER,),
)


def judge_transaction(transaction: ObservedTransaction) -> weld.Payment:
    assert TOKEN is not None
    return weld.judge(weld.NOTE_BINDING, weld.Claim(transaction, TERMS, TOKEN, 1800, TERMS.pay_to), "TX")


def refusal_of(transaction: ObservedTransaction) -> PaymentRefused:
    with pytest.raises(PaymentRefused) as error_info:
        judge_transaction(transaction)
    return error_info.value


def change_transfer(**changes: Any) -> ObservedTransaction:
    return replace(TRANSACTION, transfers=(replace(TRANSFER, **changes),))


def test_a_welded_payment_holds() -> None:
    """A transfer of what was asked, in the right form, is a payment by its sender."""
    assert weld.Payment("PAYER", "TX") == judge_transaction(TRANSACTION)


@pytest.mark.parametrize("value", [10_001, 10**15])
def test_over_payment_holds(value: int) -> None:
    """Money that has moved may be more than the price (P-LN-02)."""
    assert weld.Payment("PAYER", "TX") == judge_transaction(change_transfer(value=value))


def test_a_block_a_minute_older_holds() -> None:
    """Block time and issue time may differ by the skew."""
    assert weld.Payment("PAYER", "TX") == judge_transaction(
        replace(TRANSACTION, block_time=TRANSACTION.block_time - 60)
    )


def test_a_block_a_minute_after_the_end_holds() -> None:
    """A payment made in time may be in a block of the next minute."""
    assert weld.Payment("PAYER", "TX") == judge_transaction(
        replace(TRANSACTION, block_time=TRANSACTION.block_time + 1860)
    )


def test_a_payment_after_the_end_is_refused() -> None:
    """A transaction id named in advance is no option on the old price."""
    assert refusal_of(replace(TRANSACTION, block_time=TRANSACTION.block_time + 1861)).code == "challenge_expired"


BROKEN_CASES: dict[str, tuple[ObservedTransaction, str]] = {
    "unknown": (ABSENT, "tx_not_found"),
    "failed": (replace(TRANSACTION, status=TxStatus.FAILED, final=False), "tx_failed"),
    "pending": (replace(TRANSACTION, status=TxStatus.PENDING, final=False, block_time=0), "tx_not_confirmed"),
    "not final": (replace(TRANSACTION, final=False), "tx_not_confirmed"),
    "61 s older": (replace(TRANSACTION, block_time=TRANSACTION.block_time - 61), "payment_too_old"),
    "no transfer": (replace(TRANSACTION, transfers=()), "unsupported_transaction"),
    "two transfers, the nearest one short": (
        replace(TRANSACTION, transfers=(replace(TRANSFER, asset="9"), replace(TRANSFER, value=9_999))),
        "wrong_amount",
    ),
    "clawback": (change_transfer(clawback=True), "unsupported_transaction"),
    "other asset": (change_transfer(asset="31566705"), "wrong_asset"),
    "other receiver": (change_transfer(receiver="PAYER"), "wrong_recipient"),
    "receiver in another case": (change_transfer(receiver="payee"), "wrong_recipient"),
    "one too little": (change_transfer(value=9_999), "wrong_amount"),
    "nothing": (change_transfer(value=0), "wrong_amount"),
    "no note": (replace(TRANSACTION, note=b""), "weld_mismatch"),
    "note with a line feed": (replace(TRANSACTION, note=TRANSACTION.note + b"\n"), "weld_mismatch"),
    "note that begins with the token": (replace(TRANSACTION, note=TRANSACTION.note + b" "), "weld_mismatch"),
    "note that ends with the token": (replace(TRANSACTION, note=b" " + TRANSACTION.note), "weld_mismatch"),
    "note in upper case": (replace(TRANSACTION, note=TRANSACTION.note.upper()), "weld_mismatch"),
}


@pytest.mark.parametrize(("transaction", "expected"), BROKEN_CASES.values(), ids=BROKEN_CASES.keys())
def test_one_fault_is_refused_by_its_code(transaction: ObservedTransaction, expected: str) -> None:
    """The refusal names the fault, the transaction and the lane."""
    refusal = refusal_of(transaction)
    assert (expected, "TX", TERMS.caip2) == (refusal.code, refusal.transaction, refusal.network)


def test_the_first_rule_that_fails_answers() -> None:
    """With every later rule broken too, each code still comes in the profile's order."""
    worst = replace(TRANSACTION, block_time=0, note=b"", transfers=(Transfer(0, "9", "X", "Y", 0, clawback=True),))
    repaired_transactions = [
        worst,
        replace(worst, block_time=TRANSACTION.block_time),
        replace(worst, block_time=TRANSACTION.block_time, transfers=(Transfer(0, "9", "X", "Y", 0),)),
        replace(worst, block_time=TRANSACTION.block_time, transfers=(Transfer(0, "31566704", "X", "Y", 0),)),
        replace(worst, block_time=TRANSACTION.block_time, transfers=(Transfer(0, "31566704", "X", "PAYEE", 0),)),
        replace(worst, block_time=TRANSACTION.block_time, transfers=(TRANSFER,)),
    ]
    expected = ["payment_too_old", "unsupported_transaction", "wrong_asset", "wrong_recipient", "wrong_amount"]
    assert [*expected, "weld_mismatch"] == [refusal_of(transaction).code for transaction in repaired_transactions]


@pytest.mark.parametrize(("rule", "code"), [*weld.TRANSACTION_RULES, *weld.TRANSFER_RULES, *weld.NOTE_BINDING])
def test_each_rule_refuses_something_alone(rule: Rule, code: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With one rule dropped, a payment that breaks only that rule passes: no rule is covered by another."""
    assert code in CODES_402
    broken_transactions = [
        transaction
        for what, (transaction, refused) in BROKEN_CASES.items()
        if refused == code and what != "no transfer"
    ]
    assert all(refusal_of(transaction).code == code for transaction in broken_transactions)
    monkeypatch.setattr(weld, *table_with(weld, rule, lambda *_: True))
    assert all(_code(transaction) != code for transaction in broken_transactions)


def _code(transaction: ObservedTransaction) -> str | None:
    try:
        judge_transaction(transaction)
    except PaymentRefused as refusal:
        return refusal.code
    return None
