"""Algorand transactions as the suite reads them, against what go-algorand and its SDK publish."""

from __future__ import annotations

import base64

import pytest
from algosdk import encoding, transaction

from conformance.oracles.welds.algorand import transaction as reading
from conformance.oracles.welds.refusal_stages import PaymentRefusal
from tools.vectors_builder.welds import algorand_wallet as wallet


def test_the_zero_address_has_its_known_text() -> None:
    """The checksum is the end of SHA-512/256."""
    assert reading.address_of(bytes(32)) == "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAY5HFKQ"


def test_the_empty_texts_hash_is_the_standards() -> None:
    """SHA-512/256 is no SHA-512 cut short (FIPS 180-4)."""
    assert reading.sha512_256(b"").hex() == "c672b8d1ef56ed28ab87c3622c5114069bdd3ad7b8f9737498d0c01ecef0967a"


@pytest.mark.parametrize(
    "change", [{}, {"amt": 0}, {"note": b""}, {"lease": b"l" * 32}, {"rekey_to": wallet.STRANGER.address}]
)
def test_members_and_id_are_the_sdks(change: dict[str, object]) -> None:
    """Zeros that the encoding leaves out are zeros."""
    transfer = wallet.transfer(**change)
    transaction_read = reading.SignedTransaction.read(base64.b64decode(wallet.sign(transfer)))
    assert transaction_read.tx_id == transfer.get_txid()
    assert (transaction_read.address("snd"), transaction_read.address("arcv")) == (transfer.sender, transfer.receiver)
    assert (transaction_read.amount("aamt"), transaction_read.amount("xaid")) == (transfer.amount, transfer.index)


def test_a_groups_id_is_the_sdks() -> None:
    """It is over the transactions as they are without it."""
    group = wallet.sign_group(wallet.transfer(), wallet.transfer(amt=1), wallet.transfer(amt=2))
    members = [reading.SignedTransaction.read(base64.b64decode(one)).members for one in group]
    assert {one["grp"] for one in members} == {reading.group_id(members)}
    assert reading.group_id(members[::-1]) != reading.group_id(members)


@pytest.mark.parametrize(
    "raw",
    [b"", b"\x80", b"\xc0", b"\x81\xa3txn\x80", b"\x81\xa3txn\x01", b"\x93\x01\x02\x03", b"\x81\x01\x02", b"\xff" * 64],
)
def test_bytes_that_are_no_transaction_are_refused(raw: bytes) -> None:
    """Whatever is handed in, the refusal is the same."""
    with pytest.raises(PaymentRefusal) as error:
        reading.SignedTransaction.read(raw)
    assert (error.value.stage, error.value.code) == ("transaction", "invalid_transaction")


def test_signed_for_a_rekeyed_account_by_several() -> None:
    """The account that signs may be a shared one, and is not the sender."""
    shared_account = transaction.Multisig(1, 1, [wallet.STRANGER.address, wallet.SPONSOR.address])
    transfer = wallet.transfer()
    multisig_transaction = transaction.MultisigTransaction(transfer, shared_account)
    multisig_transaction.multisig.subsigs[1].signature = wallet.parts(wallet.sign(transfer, wallet.SPONSOR))["sig"]
    multisig_transaction.auth_addr = shared_account.address()
    raw = base64.b64decode(encoding.msgpack_encode(multisig_transaction))
    assert reading.SignedTransaction.read(raw).address("snd") == wallet.PAYER.address
