"""The weld on Base: an EIP-3009 authorization whose nonce is the hash of the challenge token, and what settled it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from conformance.oracles.challenge_tokens import eip3009_nonce
from conformance.oracles.keccak import keccak256
from conformance.oracles.welds.base.ethereum import Signature, SignedTransaction, authorization_digest
from conformance.oracles.welds.refusal import (
    AMOUNT,
    FINALITY,
    OUTCOME,
    RECIPIENT,
    SETTLEMENT,
    SIGNATURE,
    VALIDITY,
    WELD,
    Refused,
    demand,
    intact,
)

LEAST_SECONDS_LEFT: Final = 30
_USED: Final = "0x" + keccak256(b"AuthorizationUsed(address,bytes32)").hex()
_TRANSFER: Final = "0x" + keccak256(b"Transfer(address,address,uint256)").hex()
_WORD = re.compile(r"0x[0-9a-fA-F]{64}")


def welded(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return payer and signed digest of an authorization; of a settled one also transaction, its sender, and log.

    Args:
        given: `challenge` with the asset's EIP-712 `name` and `version`; `authorization`, `signature`, `now`; and
            `settlement` (transaction, receipt, head_block, confirmations) where it was settled.

    Raises:
        Refused: It does not pay the challenge.
    """
    challenge, offered = given["challenge"], given["authorization"]
    told = _offline(challenge, offered, given["signature"], given["now"])
    settlement = given.get("settlement")
    return told if settlement is None else told | _settled(challenge, offered, settlement)


def _offline(challenge: Mapping[str, Any], offered: Mapping[str, Any], signature: str, now: int) -> dict[str, Any]:
    """Judge what can be judged before money moves."""
    is_to_payee = offered["to"].lower() == challenge["pay_to"].lower()
    demand(is_to_payee, RECIPIENT, "wrong_recipient", "it pays another account")
    is_exact = int(offered["value"]) == int(challenge["amount"])
    demand(is_exact, AMOUNT, "wrong_amount", "its value is not the price")
    is_welded = offered["nonce"].lower() == eip3009_nonce(challenge["token"])
    demand(is_welded, WELD, "weld_mismatch", "its nonce is not the token's hash")
    begun = int(offered["validAfter"]) < now
    demand(begun, VALIDITY, "authorization_not_yet_valid", "it does not count yet")
    lasting = int(offered["validBefore"]) >= now + LEAST_SECONDS_LEFT
    demand(lasting, VALIDITY, "authorization_expired", "it does not count long enough to be settled")
    digest = authorization_digest(offered, _domain(challenge))
    read = Signature.read(signature)
    signer = None if read is None else read.signer(digest)
    payer = offered["from"].lower()
    demand(signer == payer, SIGNATURE, "invalid_signature", "the payer's own key has not signed it")
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


def _settled(challenge: Mapping[str, Any], offered: Mapping[str, Any], settlement: Mapping[str, Any]) -> dict[str, Any]:
    """Judge the transaction that is said to have used the authorization."""
    receipt = settlement["receipt"]
    sent = SignedTransaction.read(bytes.fromhex(settlement["transaction"].removeprefix("0x")))
    intact(sent.chain_id in {None, _chain_id(challenge)}, "it is for another chain")
    intact(sent.tx_id == receipt["transactionHash"].lower(), "the receipt is of another transaction")
    demand(int(receipt["status"], 16) == 1, OUTCOME, "settlement_failed", "it was mined and failed")
    depth = settlement["head_block"] - int(receipt["blockNumber"], 16) + 1
    demand(depth >= settlement["confirmations"], FINALITY, "tx_not_confirmed", "its block is not deep enough")
    place = _paying_log(challenge, offered, receipt["logs"])
    return {"tx_id": sent.tx_id, "settler": sent.sender, "log_index": place}


def _paying_log(challenge: Mapping[str, Any], offered: Mapping[str, Any], logs: Sequence[Mapping[str, Any]]) -> int:
    """Return the index of the Transfer that is the log directly after the use of this very authorization.

    Raises:
        Refused: No Transfer follows directly; one further down may belong to another authorization, or to none.
    """
    asset, payer = challenge["asset"].lower(), offered["from"].lower()
    used = (asset, [_USED, _topic(payer), offered["nonce"].lower()])
    moved = (asset, [_TRANSFER, _topic(payer), _topic(challenge["pay_to"].lower())])
    by_place = {int(log["logIndex"], 16): log for log in logs}
    for place, log in by_place.items():
        following = by_place.get(place + 1)
        if _event(log) != used or following is None or _event(following) != moved:
            continue
        if _WORD.fullmatch(following["data"]) and int(following["data"], 16) == int(challenge["amount"]):
            return place + 1
    raise Refused(SETTLEMENT, "authorization_used", "no transfer of the price is the log directly after its use")


def _event(log: Mapping[str, Any]) -> tuple[str, list[str]]:
    return log["address"].lower(), [topic.lower() for topic in log["topics"]]


def _topic(address: str) -> str:
    return "0x" + address.removeprefix("0x").rjust(64, "0")
