"""The weld on Algorand: a plain top-level asset transfer to the payee whose note is the challenge token."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

from conformance.oracles.welds.algorand.transaction import SignedTransaction, group_id
from conformance.oracles.welds.refusal import (
    AMOUNT,
    ASSET,
    FINALITY,
    KIND,
    OUTCOME,
    RECIPIENT,
    UNSUPPORTED,
    WELD,
    demand,
    intact,
    of_age,
)


def welded(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return payer and id of a payment.

    Args:
        given: `challenge`; `signed_transaction_b64`, with `group_b64` where it is one of a group; `outcome`
            (confirmed, failed, pending) and `block` (round, time) as the node tells them.

    Raises:
        Refused: It does not pay the challenge.
    """
    challenge, block = given["challenge"], given["block"]
    raw = base64.b64decode(given["signed_transaction_b64"])
    sent = SignedTransaction.read(raw)
    _on_this_chain(sent, challenge["caip2"], block)
    _in_its_group(sent, raw, given.get("group_b64"))
    demand(given["outcome"] != "failed", OUTCOME, "tx_failed", "the node has thrown it out")
    confirmed = given["outcome"] == "confirmed" and block is not None
    demand(confirmed, FINALITY, "tx_not_confirmed", "it is in no block")
    of_age(challenge, block["time"])
    is_plain = sent.members.get("type") == "axfer" and "asnd" not in sent.members
    demand(is_plain, KIND, UNSUPPORTED, "it is no transfer of an asset by its holder")
    demand(str(sent.amount("xaid")) == challenge["asset"], ASSET, "wrong_asset", "it moves another asset")
    demand(sent.address("arcv") == challenge["pay_to"], RECIPIENT, "wrong_recipient", "it pays another account")
    enough = sent.amount("aamt") >= int(challenge["amount"])
    demand(enough, AMOUNT, "wrong_amount", "its plain amount is less than the price")
    noted = sent.members.get("note", b"") == challenge["token"].encode()
    demand(noted, WELD, "weld_mismatch", "its note is not the token")
    return {"payer": sent.address("snd"), "tx_id": sent.tx_id}


def _on_this_chain(sent: SignedTransaction, caip2: str, block: Mapping[str, Any] | None) -> None:
    reference = base64.urlsafe_b64encode(sent.members.get("gh", b"")).decode("ascii")[:32]
    intact(reference == caip2.partition(":")[2], "it is for another network")
    if block is not None:
        first, last = sent.amount("fv"), sent.amount("lv")
        intact(first <= block["round"] <= last, "it is not valid in that round")


def _in_its_group(sent: SignedTransaction, raw: bytes, group: list[str] | None) -> None:
    if group is None:
        return
    listed = [base64.b64decode(one) for one in group]
    intact(raw in listed, "it is not in that group")
    others = [sent.members if one == raw else SignedTransaction.read(one).members for one in listed]
    made = group_id(others)
    intact(all(one.get("grp") == made for one in others), "its group has another id")
