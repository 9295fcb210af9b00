"""The family of welds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from conformance.oracles.welds.refusal_stages import STAGES
from conformance.vectors.judges.welds import judge
from tools.vectors_builder.drafting import Draft
from tools.vectors_builder.family import Family
from tools.vectors_builder.welds import (
    algorand_broken,
    algorand_faults,
    algorand_notes,
    algorand_opinion,
    algorand_valid,
    base_faults,
    base_opinion,
    base_settlement_faults,
    base_signatures,
    base_valid,
    solana_broken,
    solana_faults,
    solana_opinion,
    solana_references,
    solana_valid,
)
from tools.vectors_builder.welds.known_differences import DIFFERENCES


def _complaints(draft: Draft) -> Iterator[str]:
    lanes = {
        "algorand": algorand_opinion.complaints,
        "base": base_opinion.complaints,
        "solana": solana_opinion.complaints,
    }
    yield from lanes[draft.input["lane"]](draft)


FAMILY: Final = Family(
    name="welds",
    prefix="welds",
    title="payments held against the challenge they are to pay, as complete signed transactions",
    input={
        "lane": "algorand, base or solana: which of the members below are there",
        "challenge": "token, caip2, asset, amount in atomic units, pay_to, issued_at (unix seconds), ttl_seconds, "
        "service_word; on Base also name and version of the asset's EIP-712 domain",
        "signed_transaction_b64": "Algorand: the signed transaction as it is sent, canonical msgpack in base64",
        "group_b64": "Algorand: all transactions of its group in order, where it is shown with one",
        "outcome": "Algorand: confirmed, failed or pending, as a node tells; pool_error says why it failed",
        "pool_error": "Algorand: why the node has thrown it out",
        "block": "Algorand: round and time (unix seconds) of its block; null where there is none",
        "inner_transactions": "Algorand: what an application that it calls has sent",
        "transaction_b64": "Solana: the signed transaction as it is sent, in base64",
        "loaded_addresses": "Solana: what address tables add to its accounts, writable and readonly, as a node tells",
        "slot": "Solana: the slot of its block",
        "block_time": "Solana: unix seconds of its block",
        "err": "Solana: null, or the error with which it failed",
        "confirmation": "Solana: processed, confirmed or finalized; a payment must be finalized",
        "inner_instructions": "Solana: what programs called inside",
        "post_token_balances": "Solana: whose token accounts they are, as a node tells",
        "authorization": "Base: from, to, value, validAfter, validBefore, nonce of an EIP-3009 authorization",
        "signature": "Base: the authorization's signature as it was presented",
        "now": "Base: unix seconds at which the authorization was presented",
        "settlement": "Base: the signed transaction said to have used the authorization, its receipt, the newest "
        "block's number and how many confirmations are demanded; without it, only what can be judged before is judged",
    },
    stages=STAGES,
    reported_values=("payer",),
    files={
        "algorand_valid.json": (algorand_valid.drafts,),
        "algorand_broken.json": (algorand_broken.drafts,),
        "algorand_faults.json": (algorand_faults.drafts,),
        "algorand_notes.json": (algorand_notes.drafts,),
        "base_valid.json": (base_valid.drafts, base_valid.settled_drafts),
        "base_faults.json": (base_faults.drafts,),
        "base_signatures.json": (base_signatures.drafts,),
        "base_settlements.json": (base_settlement_faults.drafts,),
        "solana_valid.json": (solana_valid.drafts,),
        "solana_broken.json": (solana_broken.drafts,),
        "solana_faults.json": (solana_faults.drafts,),
        "solana_references.json": (solana_references.drafts,),
    },
    judge=judge,
    second=_complaints,
    differences=DIFFERENCES,
)
