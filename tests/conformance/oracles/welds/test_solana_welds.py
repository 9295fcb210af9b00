"""Solana transactions and derived accounts as the suite reads them, against solders."""

from __future__ import annotations

from random import Random

import pytest
from solders.pubkey import Pubkey
from solders.token.associated import get_associated_token_address

from conformance.oracles.welds.refusal_stages import PaymentRefusal
from conformance.oracles.welds.solana import accounts
from conformance.oracles.welds.solana.transaction import SignedTransaction
from tools.vectors_builder.welds import solana_wallet as wallet


def test_points_on_the_curve_are_those_of_solders() -> None:
    """About half of all texts are; points that are written beyond the prime count, too."""
    rng = Random(1)
    texts = [rng.randbytes(32) for _ in range(200)]
    texts += [bytes([0xED - far]) + b"\xff" * 30 + bytes([top]) for far in range(20) for top in (0x7F, 0xFF)]
    texts += [bytes([0xED + far]) + b"\xff" * 30 + bytes([top]) for far in range(18) for top in (0x7F, 0xFF)]
    texts += [bytes([far]) + bytes(30) + bytes([top]) for far in range(20) for top in (0, 0x80)]
    for text in texts:
        assert accounts.is_on_curve(text) is Pubkey.from_bytes(text).is_on_curve()


def test_associated_accounts_are_those_of_solders() -> None:
    """For owners that hold keys and for such as do not."""
    rng = Random(2)
    for _ in range(20):
        owner, mint = Pubkey.from_bytes(rng.randbytes(32)), Pubkey.from_bytes(rng.randbytes(32))
        assert accounts.associated_account(str(owner), str(mint)) == str(get_associated_token_address(owner, mint))


def test_instructions_are_those_of_solders() -> None:
    """Program, accounts and data of each, with what tables add."""
    instruction = wallet.transfer().instruction()
    table = wallet.table("all", *(meta.pubkey for meta in instruction.accounts))
    signed_transaction, loaded_addresses = wallet.signed_v0(instruction, tables=(table,))
    transaction_read = SignedTransaction.read(
        bytes(signed_transaction), (loaded_addresses["writable"], loaded_addresses["readonly"])
    )
    assert transaction_read.tx_id == str(signed_transaction.signatures[0])
    (only,) = transaction_read.instructions
    assert (only.program, only.data) == (str(instruction.program_id), bytes(instruction.data))
    assert list(only.accounts) == [str(meta.pubkey) for meta in instruction.accounts]


@pytest.mark.parametrize(
    "raw", [b"", b"\x00", b"\x01" + bytes(64), b"\xff\xff\xff\xff", b"\x01" + b"\xff" * 200, bytes(2000)]
)
def test_bytes_that_are_no_transaction_are_refused(raw: bytes) -> None:
    """Whatever is handed in, the refusal is the same."""
    with pytest.raises(PaymentRefusal) as error:
        SignedTransaction.read(raw, ((), ()))
    assert (error.value.stage, error.value.code) == ("transaction", "invalid_transaction")


def test_an_account_that_is_loaded_and_named_is_refused() -> None:
    """The runtime takes no account twice."""
    transfer = wallet.transfer()
    table = wallet.table("reference", wallet.reference())
    signed_transaction, _ = wallet.signed_v0(transfer.instruction(), tables=(table,))
    with pytest.raises(PaymentRefusal):
        SignedTransaction.read(bytes(signed_transaction), ((), (str(wallet.PAYER.pubkey()),)))
