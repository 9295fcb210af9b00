"""Payments that no account signed: in the form of stock clients, for the offer's terms, and signed by no key."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from algosdk import encoding
from algosdk.transaction import AssetTransferTxn
from solders.transaction import VersionedTransaction

from conformance.first_look.forged_payment import forged_payments
from conformance.oracles.welds.algorand.transaction import SignedTransaction as AlgorandTransaction
from conformance.oracles.welds.refusal_stages import PaymentRefusal
from conformance.oracles.welds.solana.accounts import associated_account
from tests.conformance.first_look.test_x402_rules import terms

PAYEE = encoding.encode_address(bytes(range(32)))
ALGORAND: dict[str, Any] = {
    "scheme": "exact",
    "network": "algorand:SGO1GKSzyE7IEPItTxCByw9x8FmnrCDe",
    "asset": "10458941",
    "amount": "10000",
    "payTo": PAYEE,
    "maxTimeoutSeconds": 60,
}


def forge_documents(*offers: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the documents of the forged payments for offers, by network."""
    payments = forged_payments(offers, {"url": "/weather"})
    return {network: json.loads(base64.b64decode(value)) for network, value in payments.items()}


def test_each_family_that_is_offered_gets_one() -> None:
    """For its first offer of `exact`, with the offer unchanged."""
    evm, solana = terms()["accepts"]
    documents = forge_documents({**evm, "scheme": "upto"}, evm, {**evm, "network": "eip155:8453"}, solana, ALGORAND)
    assert list(documents) == [evm["network"], solana["network"], ALGORAND["network"]]
    for document, offer in zip(documents.values(), (evm, solana, ALGORAND), strict=True):
        assert (document["x402Version"], document["accepted"]) == (2, offer)
    assert set(documents[evm["network"]]["payload"]["signature"][2:]) == {"0"}


def test_a_transaction_of_solana_is_read_by_stock_code_and_signed_by_no_account() -> None:
    """Its transfer is the one that the offer asks for; its signatures and its block are zeros, so no node takes it."""
    offer = terms()["accepts"][1]
    payload = forge_documents(offer)[offer["network"]]["payload"]
    transaction = VersionedTransaction.from_bytes(base64.b64decode(payload["transaction"]))
    message = transaction.message
    keys = [str(one) for one in message.account_keys]
    transfer = message.instructions[2]
    source, mint, destination, owner = (keys[place] for place in transfer.accounts)
    assert (keys[0], mint) == (offer["extra"]["feePayer"], offer["asset"])
    assert destination == associated_account(offer["payTo"], mint)
    assert source == associated_account(owner, mint)
    assert keys[1] == owner
    assert [bytes(one.data)[0] for one in message.instructions] == [2, 3, 12]
    assert int.from_bytes(bytes(transfer.data)[1:9], "little") == int(offer["amount"])
    assert {bytes(one) for one in transaction.signatures} == {bytes(64)}
    assert bytes(message.recent_blockhash) == bytes(32)
    assert not any(transaction.verify_with_results())
    assert message.is_signer(1)
    assert message.header.num_readonly_signed_accounts == 1
    assert base64.b64encode(bytes(transaction)).decode() == payload["transaction"]


def test_a_transaction_of_algorand_is_read_by_stock_code_and_signed_by_no_account() -> None:
    """Its transfer is the one that the offer asks for; its bytes are canonical, and only its signature is wrong."""
    payload = forge_documents(ALGORAND)[ALGORAND["network"]]["payload"]
    signed_transaction = payload["paymentGroup"][payload["paymentIndex"]]
    transfer = encoding.msgpack_decode(signed_transaction).transaction
    assert isinstance(transfer, AssetTransferTxn)
    assert (transfer.receiver, transfer.amount, transfer.index) == (PAYEE, 10000, 10458941)
    assert transfer.genesis_hash.startswith("SGO1GKSzyE7IEPItTxCByw9x8FmnrCDe")
    with pytest.raises(PaymentRefusal, match="its signature does not hold"):
        AlgorandTransaction.read(base64.b64decode(signed_transaction))


@pytest.mark.parametrize(
    "offer",
    [
        {**ALGORAND, "asset": "USDC"},
        {**ALGORAND, "amount": 0.01},
        {**ALGORAND, "payTo": "A" * 57},
        {**ALGORAND, "amount": str(2**64)},
        {**terms()["accepts"][1], "extra": None},
        {**terms()["accepts"][1], "amount": "-1"},
        {**terms()["accepts"][1], "payTo": "0x00"},
        {**ALGORAND, "network": "stellar:testnet"},
        {**ALGORAND, "network": ["algorand:x"]},
        {**ALGORAND, "network": "algorand"},
    ],
)
def test_an_offer_that_cannot_be_read_gets_none(offer: dict[str, Any]) -> None:
    """Nothing is made up, and nothing breaks."""
    assert forge_documents(offer) == {}
