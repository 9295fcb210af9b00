"""The weld on Base: an EIP-3009 authorization whose nonce is the hash of the challenge token, and what settled it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from conformance.oracles.challenge_tokens import eip3009_nonce
from conformance.oracles.keccak import keccak256
from conformance.oracles.welds.base.ethereum import Signature, SignedTransaction, authorization_digest
from conformance.oracles.welds.refusal_stages import (
    AMOUNT,
    FINALITY,
    OUTCOME,
    RECIPIENT,
    SETTLEMENT,
    SIGNATURE,
    VALIDITY,
    WELD,
    PaymentRefusal,
    demand,
    demand_valid,
)

# The rail needs this time to send the authorization and have it mined (5.7).
LEAST_SECONDS_LEFT: Final = 30
_USED: Final = "0x" + keccak256(b"AuthorizationUsed(address,bytes32)").hex()
_TRANSFER: Final = "0x" + keccak256(b"Transfer(address,address,uint256)").hex()
_WORD = re.compile(r"0x[0-9a-fA-F]{64}")


def judge_payment(evidence: Mapping[str, Any]) -> dict[str, Any]:
    """Return payer and signed digest of an authorization; of a settled one also transaction, its sender, and log.

    Args:
        evidence: `challenge` with the asset's EIP-712 `name` and `version`; `authorization`, `signature`, `now`; and
            `settlement` (transaction, receipt, head_block, confirmations) where it was settled.

    Raises:
        PaymentRefusal: It does not pay the challenge.
    """
    challenge, authorization = evidence["challenge"], evidence["authorization"]
    verdict = _judge_authorization(challenge, authorization, evidence["signature"], evidence["now"])
    settlement = evidence.get("settlement")
    return verdict if settlement is None else verdict | _judge_settlement(challenge, authorization, settlement)


def judge_stock_payment(evidence: Mapping[str, Any]) -> dict[str, Any]:
    """Return payer and signed digest of an authorization that pays an offer of plain x402 version 2, with any nonce.

    Args:
        evidence: `challenge` with `asset`, `amount`, `pay_to`, `caip2`, and the asset's EIP-712 `name` and `version`;
            `authorization`, `signature`, `now`.

    Raises:
        PaymentRefusal: It does not pay the offer.
    """
    authorization = evidence["authorization"]
    is_word = _WORD.fullmatch(authorization["nonce"]) is not None
    demand(is_word, WELD, "invalid_payment", "its nonce is not 32 bytes in hex")
    return _judge_terms(evidence["challenge"], authorization, evidence["signature"], evidence["now"], None)


def _judge_authorization(
    challenge: Mapping[str, Any], authorization: Mapping[str, Any], signature: str, now: int
) -> dict[str, Any]:
    """Judge what can be judged before money moves."""
    return _judge_terms(challenge, authorization, signature, now, eip3009_nonce(challenge["token"]))


def _judge_terms(
    challenge: Mapping[str, Any], authorization: Mapping[str, Any], signature: str, now: int, nonce: str | None
) -> dict[str, Any]:
    """Judge the terms and the signature; `nonce` is the only one that counts, or None if any does."""
    is_to_payee = authorization["to"].lower() == challenge["pay_to"].lower()
    demand(is_to_payee, RECIPIENT, "wrong_recipient", "it pays another account")
    # An authorization moves its whole value, so more than the price would also be taken.
    is_exact = int(authorization["value"]) == int(challenge["amount"])
    demand(is_exact, AMOUNT, "wrong_amount", "its value is not the price")
    # The nonce is signed by the payer and can be used once, so it binds the payment to this
    # challenge.
    is_welded = nonce is None or authorization["nonce"].lower() == nonce
    demand(is_welded, WELD, "weld_mismatch", "its nonce is not the token's hash")
    has_begun = int(authorization["validAfter"]) < now
    demand(has_begun, VALIDITY, "authorization_not_yet_valid", "it does not count yet")
    lasts = int(authorization["validBefore"]) >= now + LEAST_SECONDS_LEFT
    demand(lasts, VALIDITY, "authorization_expired", "it does not count long enough to be settled")
    digest = authorization_digest(authorization, _domain(challenge))
    read = Signature.read(signature)
    signer = None if read is None else read.signer(digest)
    payer = authorization["from"].lower()
    demand(signer == payer, SIGNATURE, "invalid_signature", "its signature is not the payer's over this offer")
    return {"payer": payer, "digest": "0x" + digest.hex()}


def _domain(challenge: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "name": challenge["name"],
        "version": challenge["version"],
        "chain_id": _chain_id(challenge),
        "contract": challenge["asset"],
    }


def _chain_id(challenge: Mapping[str, Any]) -> int:
    return int(challenge["caip2"].partition(":")[2])


def _judge_settlement(
    challenge: Mapping[str, Any], authorization: Mapping[str, Any], settlement: Mapping[str, Any]
) -> dict[str, Any]:
    """Judge the transaction that is said to have used the authorization."""
    receipt = settlement["receipt"]
    transaction = SignedTransaction.read(bytes.fromhex(settlement["transaction"].removeprefix("0x")))
    demand_valid(transaction.chain_id in {None, _chain_id(challenge)}, "it is for another chain")
    demand_valid(transaction.tx_id == receipt["transactionHash"].lower(), "the receipt is of another transaction")
    demand(int(receipt["status"], 16) == 1, OUTCOME, "settlement_failed", "it was mined and failed")
    depth = settlement["head_block"] - int(receipt["blockNumber"], 16) + 1
    demand(depth >= settlement["confirmations"], FINALITY, "tx_not_confirmed", "its block is not deep enough")
    place = _paying_log(challenge, authorization, receipt["logs"])
    return {"tx_id": transaction.tx_id, "settler": transaction.sender, "log_index": place}


def _paying_log(
    challenge: Mapping[str, Any], authorization: Mapping[str, Any], logs: Sequence[Mapping[str, Any]]
) -> int:
    """Return the index of the Transfer that is the log directly after the use of this very authorization.

    Raises:
        PaymentRefusal: No Transfer follows directly; one further down may belong to another authorization, or to none.
    """
    asset, payer = challenge["asset"].lower(), authorization["from"].lower()
    use_event = (asset, [_USED, _topic(payer), authorization["nonce"].lower()])
    transfer_event = (asset, [_TRANSFER, _topic(payer), _topic(challenge["pay_to"].lower())])
    by_place = {int(log["logIndex"], 16): log for log in logs}
    # A transaction may contain several transfers. Only the one directly after the use of this
    # nonce belongs to it.
    for place, log in by_place.items():
        next_log = by_place.get(place + 1)
        if _event(log) != use_event or next_log is None or _event(next_log) != transfer_event:
            continue
        if _WORD.fullmatch(next_log["data"]) and int(next_log["data"], 16) == int(challenge["amount"]):
            return place + 1
    raise PaymentRefusal(SETTLEMENT, "authorization_used", "no transfer of the price is the log directly after its use")


def _event(log: Mapping[str, Any]) -> tuple[str, list[str]]:
    return log["address"].lower(), [topic.lower() for topic in log["topics"]]


def _topic(address: str) -> str:
    return "0x" + address.removeprefix("0x").rjust(64, "0")
