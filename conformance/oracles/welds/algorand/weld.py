"""The weld on Algorand: a plain top-level asset transfer to the payee whose note is the challenge token."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

from conformance.oracles.welds.algorand.transaction import SignedTransaction, group_id
from conformance.oracles.welds.refusal_stages import (
    AMOUNT,
    ASSET,
    FINALITY,
    KIND,
    OUTCOME,
    RECIPIENT,
    UNSUPPORTED_CODE,
    WELD,
    demand,
    demand_age,
    demand_valid,
)


def judge_payment(evidence: Mapping[str, Any]) -> dict[str, Any]:
    """Return payer and id of a payment.

    Args:
        evidence: `challenge`; `signed_transaction_b64`, with `group_b64` where it is one of a group; `outcome`
            (confirmed, failed, pending) and `block` (round, time) as the node reports them.

    Raises:
        PaymentRefusal: It does not pay the challenge.
    """
    challenge, block = evidence["challenge"], evidence["block"]
    raw = base64.b64decode(evidence["signed_transaction_b64"])
    transaction = SignedTransaction.read(raw)
    # The signature covers the genesis hash, so a transaction of a test network does not pay on
    # the main network.
    _on_this_chain(transaction, challenge["caip2"], block)
    _in_its_group(transaction, raw, evidence.get("group_b64"))
    demand(evidence["outcome"] != "failed", OUTCOME, "tx_failed", "the node has thrown it out")
    is_confirmed = evidence["outcome"] == "confirmed" and block is not None
    demand(is_confirmed, FINALITY, "tx_not_confirmed", "it is in no block")
    demand_age(challenge, block["time"])
    # A clawback (`asnd`) moves another account's assets, so its sender is not the payer.
    is_plain = transaction.members.get("type") == "axfer" and "asnd" not in transaction.members
    demand(is_plain, KIND, UNSUPPORTED_CODE, "it is no transfer of an asset by its holder")
    demand(str(transaction.amount("xaid")) == challenge["asset"], ASSET, "wrong_asset", "it moves another asset")
    demand(transaction.address("arcv") == challenge["pay_to"], RECIPIENT, "wrong_recipient", "it pays another account")
    # A plain amount only: what closing an account adds is not a payment for the challenge.
    enough = transaction.amount("aamt") >= int(challenge["amount"])
    demand(enough, AMOUNT, "wrong_amount", "its plain amount is less than the price")
    has_note = transaction.members.get("note", b"") == challenge["token"].encode()
    demand(has_note, WELD, "weld_mismatch", "its note is not the token")
    return {"payer": transaction.address("snd"), "tx_id": transaction.tx_id}


def _on_this_chain(transaction: SignedTransaction, caip2: str, block: Mapping[str, Any] | None) -> None:
    reference = base64.urlsafe_b64encode(transaction.members.get("gh", b"")).decode("ascii")[:32]
    demand_valid(reference == caip2.partition(":")[2], "it is for another network")
    if block is not None:
        first, last = transaction.amount("fv"), transaction.amount("lv")
        demand_valid(first <= block["round"] <= last, "it is not valid in that round")


def _in_its_group(transaction: SignedTransaction, raw: bytes, group: list[str] | None) -> None:
    if group is None:
        return
    group_bytes = [base64.b64decode(one) for one in group]
    demand_valid(raw in group_bytes, "it is not in that group")
    group_members = [transaction.members if one == raw else SignedTransaction.read(one).members for one in group_bytes]
    group_hash = group_id(group_members)
    demand_valid(all(one.get("grp") == group_hash for one in group_members), "its group has another id")
