"""Authorizations and transactions of an EVM chain as the suite reads them, against published examples."""

from __future__ import annotations

import pytest

from conformance.oracles.welds.base import ethereum
from conformance.oracles.welds.base.weld import judge_payment, judge_stock_payment
from conformance.oracles.welds.refusal_stages import PaymentRefusal
from tools.vectors_builder.welds import base_wallet as wallet
from tools.vectors_builder.welds.drafting import PRICE

# The signed transaction that EIP-155 gives as its example, and the sender of the key that it names.
EIP_155 = bytes.fromhex(
    "f86c098504a817c800825208943535353535353535353535353535353535353535880de0b6b3a76400008025a028ef61340bd939bc2195fe53"
    "7567866003e1a15d3c71ff63e1590620aa636276a067cbe9d8997f761aecb703304b3800ccf555c9f3dc64214b297fb1966a3b6d83"
)


def test_the_example_of_eip_155_is_read() -> None:
    """A legacy transaction with its chain in v."""
    transaction_read = ethereum.SignedTransaction.read(EIP_155)
    assert (transaction_read.chain_id, transaction_read.sender) == (1, "0x9d8a62f656a8d1615c1294fd71e9cfb3e4855a4f")


@pytest.mark.parametrize("kind", [0, 1, 2, 4])
def test_each_type_names_its_sender_and_chain(kind: int) -> None:
    """Types are recognised by the first byte."""
    transaction_read = ethereum.SignedTransaction.read(wallet.sign_transaction(b"\x01", kind=kind))
    assert (transaction_read.chain_id, transaction_read.sender) == (8453, wallet.SETTLER.address.lower())


@pytest.mark.parametrize(
    "raw", [b"", b"\x02", b"\x02\xc0", b"\xc0", b"\x80", EIP_155[:-1], EIP_155 + b"\0", b"\x03" + EIP_155, b"\xf8" * 9]
)
def test_bytes_that_are_no_transaction_are_refused(raw: bytes) -> None:
    """Whatever is handed in, the refusal is the same."""
    with pytest.raises(PaymentRefusal) as error:
        ethereum.SignedTransaction.read(raw)
    assert (error.value.stage, error.value.code) == ("transaction", "invalid_transaction")


@pytest.mark.parametrize("v", [27, 28])
def test_legacy_transactions_without_a_chain_are_for_every_chain(v: int) -> None:
    """Chains still accept signatures of before EIP-155; over another text, the recovered signer differs."""
    raw = EIP_155.replace(b"\x80\x25\xa0", b"\x80" + bytes([v]) + b"\xa0")
    transaction_read = ethereum.SignedTransaction.read(raw)
    assert transaction_read.chain_id is None
    assert transaction_read.sender != ethereum.SignedTransaction.read(EIP_155).sender


def test_an_authorizations_digest_is_eth_accounts() -> None:
    """The domain and every member are in it."""
    authorization = wallet.sign()
    domain = {"name": "USD Coin", "version": "2", "chain_id": 8453, "contract": wallet.USDC}
    digest = ethereum.authorization_digest(authorization.proof()["authorization"], domain)
    assert "0x" + digest.hex() == wallet.values(authorization)["digest"]
    for name, other_value in (("name", "USDC"), ("version", "1"), ("chain_id", 1), ("contract", wallet.TEST_USDC)):
        assert (
            ethereum.authorization_digest(authorization.proof()["authorization"], {**domain, name: other_value})
            != digest
        )


@pytest.mark.parametrize("text", ["", "0x", "0x" + "0" * 128, "0x" + "0" * 132, "0X" + "0" * 130, "0x" + "g" * 130])
def test_signatures_of_another_form_are_none(text: str) -> None:
    """65 bytes in hex and nothing else."""
    assert ethereum.Signature.read(text) is None


RANDOM_NONCE = bytes(range(32))


def test_a_stock_payment_may_have_any_nonce_and_a_welded_one_may_not() -> None:
    """The same authorization with another nonce than the token's hash: x402 takes it, the weld does not."""
    evidence = wallet.build_evidence(wallet.sign(nonce=RANDOM_NONCE))
    assert judge_stock_payment(evidence)["payer"] == wallet.PAYER.address.lower()
    with pytest.raises(PaymentRefusal) as error:
        judge_payment(evidence)
    assert error.value.code == "weld_mismatch"


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"to": wallet.STRANGER.address}, "wrong_recipient"),
        ({"value": PRICE + 1}, "wrong_amount"),
        ({"valid_after": wallet.NOW}, "authorization_not_yet_valid"),
        ({"valid_before": wallet.NOW + 29}, "authorization_expired"),
        ({"sender": wallet.STRANGER.address}, "invalid_signature"),
        ({"nonce": RANDOM_NONCE[1:]}, "invalid_payment"),
    ],
)
def test_every_other_term_of_a_stock_payment_counts(changes: dict[str, object], code: str) -> None:
    """Payee, price, times, signer, and that the nonce is 32 bytes."""
    evidence = wallet.build_evidence(wallet.offer(**changes).with_changes(signature=wallet.sign().signature))
    if code != "invalid_payment":
        evidence = wallet.build_evidence(wallet.sign(**changes))
    with pytest.raises(PaymentRefusal) as error:
        judge_stock_payment(evidence)
    assert error.value.code == code
