"""The reference's welds over the suite's vectors, which were written independently.

Transactions that no chain accepts are left out: the reference gets transactions from a node, which has refused those.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from typing import Any

import msgpack
import pytest
from algosdk.encoding import encode_address

from conformance.vectors import Vector, of_family
from reference.lanes.algorand import lane as algorand
from reference.lanes.base import lane as base
from reference.protocol import eip3009, solana_transfers, weld
from reference.protocol.challenge import Terms, Token
from reference.protocol.observed_transaction import ObservedTransaction, TxStatus
from reference.protocol.refusals import PaymentRefused
from reference.protocol.service_word import ServiceWord

JUDGED_VECTORS = [one for one in of_family("welds") if one.expected.stage != "transaction"]
ADDRESSES = {"snd", "rcv", "close", "arcv", "asnd", "aclose", "rekey"}


def terms_of(challenge: Mapping[str, Any]) -> Terms:
    return Terms("", *(challenge[name] for name in ("caip2", "asset", "amount", "pay_to")))


def token_of(challenge: Mapping[str, Any]) -> Token:
    token = Token.parse(challenge["token"])
    assert token is not None
    return token


def on_algorand(evidence: Mapping[str, Any]) -> str:
    """Return the payer, from the members that a node would tell."""
    challenge, block = evidence["challenge"], evidence["block"]
    members = msgpack.unpackb(base64.b64decode(evidence["signed_transaction_b64"]), raw=False)["txn"]
    json_members = {
        name: encode_address(value)
        if name in ADDRESSES
        else base64.b64encode(value).decode()
        if name == "note"
        else value
        for name, value in members.items()
    }
    transaction = algorand._read_short_form(TxStatus(evidence["outcome"]), block["time"] if block else 0, json_members)
    claim = weld.Claim(
        transaction, terms_of(challenge), token_of(challenge), challenge["ttl_seconds"], challenge["pay_to"]
    )
    return weld.judge(weld.NOTE_BINDING, claim, "").payer


def on_solana(evidence: Mapping[str, Any]) -> str:
    """Return the payer, from the transaction's bytes and what a node tells beside."""
    challenge, loaded_accounts = evidence["challenge"], evidence["loaded_addresses"]
    transfers = solana_transfers.transfers(
        base64.b64decode(evidence["transaction_b64"]), [*loaded_accounts["writable"], *loaded_accounts["readonly"]]
    )
    status = TxStatus.CONFIRMED if evidence["err"] is None else TxStatus.FAILED
    final = evidence["confirmation"] == "finalized"
    transaction = ObservedTransaction(status, final, evidence["block_time"], transfers=transfers)
    word = ServiceWord(challenge["service_word"])
    reference = hashlib.sha256(f"{word.payable_core}:solana-ref:{challenge['token']}".encode())
    claim = weld.Claim(
        transaction,
        terms_of(challenge),
        token_of(challenge),
        challenge["ttl_seconds"],
        solana_transfers.associated_account(challenge["pay_to"], challenge["asset"]),
        solana_transfers.reference_account(reference.digest()),
    )
    return weld.judge(weld.REFERENCE_BINDING, claim, "").payer


def on_base(evidence: Mapping[str, Any]) -> str:
    """Return the payer of an authorization, and of its settlement if that is given."""
    challenge, terms = evidence["challenge"], terms_of(evidence["challenge"])
    authorization = eip3009.Authorization.from_members(evidence["authorization"], evidence["signature"])
    domain = eip3009.Domain(
        challenge["name"], challenge["version"], int(terms.caip2.partition(":")[2]), challenge["asset"]
    )
    eip3009.judge_offline(eip3009.AuthorizationOffer(authorization, terms, challenge["token"], domain, evidence["now"]))
    if "settlement" in evidence:
        _require_settlement(evidence["settlement"], authorization, terms)
    return authorization.payer


def _require_settlement(settlement: Mapping[str, Any], authorization: eip3009.Authorization, terms: Terms) -> None:
    receipt = settlement["receipt"]
    if receipt["status"] != "0x1":
        raise PaymentRefused("settlement_failed")
    if settlement["head_block"] - int(receipt["blockNumber"], 16) + 1 < settlement["confirmations"]:
        raise PaymentRefused("tx_not_confirmed")
    transfers, uses = base._read_events(receipt["logs"])
    transaction = ObservedTransaction(TxStatus.CONFIRMED, transfers=transfers, authorizations_used=uses)
    if eip3009.settling_transfer(transaction, authorization, terms) is None:
        raise PaymentRefused("authorization_used")


@pytest.mark.parametrize("vector", JUDGED_VECTORS, ids=lambda one: one.id)
def test_the_reference_says_what_is_expected(vector: Vector) -> None:
    """By its code; of a payment that pays, by who paid."""
    lanes = {"algorand": on_algorand, "base": on_base, "solana": on_solana}
    judge_lane = lanes[vector.input["lane"]]
    if vector.expected.valid:
        assert judge_lane(vector.input) == vector.expected.values["payer"]
        return
    with pytest.raises(PaymentRefused) as error_info:
        judge_lane(vector.input)
    assert (error_info.value.code,) == vector.expected.codes
