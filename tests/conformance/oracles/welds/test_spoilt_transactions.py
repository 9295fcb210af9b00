"""Transactions with bytes changed at random: the oracles say what the chains' own libraries say, and never fail."""

from __future__ import annotations

import base64
from random import Random
from typing import Any

import pytest

from conformance.vectors.judges.welds import judge
from tools.vectors_builder.drafting import Draft
from tools.vectors_builder.welds import (
    algorand_opinion,
    algorand_valid,
    base_opinion,
    base_valid,
    solana_opinion,
    solana_valid,
)


def spoilt(rng: Random, raw: bytes) -> bytes:
    """Return bytes with one changed, one gone or one more."""
    place = rng.randrange(len(raw))
    match rng.randrange(3):
        case 0:
            return raw[:place] + bytes([raw[place] ^ 1 << rng.randrange(8)]) + raw[place + 1 :]
        case 1:
            return raw[:place] + raw[place + 1 :]
    return raw[:place] + rng.randbytes(1) + raw[place:]


def in_lane(drafts: Any, *kinds: str) -> list[Draft]:
    return [draft for draft in drafts() if draft.fault_name in kinds]


@pytest.mark.parametrize("seed", range(4))
def test_algorand_transactions_are_read_as_the_sdk_reads_them(seed: int) -> None:
    """Whatever was changed, the judge refuses at the same place as py-algorand-sdk and libsodium, and never fails."""
    rng = Random(seed)
    for draft in in_lane(algorand_valid.drafts, "algorand-plain", "algorand-multisig", "algorand-close-out"):
        for _ in range(25):
            raw = spoilt(rng, base64.b64decode(draft.input["signed_transaction_b64"]))
            text = base64.b64encode(raw).decode("ascii")
            transaction_read = algorand_opinion.read(text)
            holds = transaction_read is not None and algorand_opinion.is_signed(transaction_read)
            assert (judge({**draft.input, "signed_transaction_b64": text}).stage != "transaction") is holds


@pytest.mark.parametrize("seed", range(4))
def test_solana_transactions_are_read_as_solders_reads_them(seed: int) -> None:
    """Whatever was changed, the judge refuses at the same place as solders, and never fails."""
    rng = Random(seed)
    for draft in in_lane(solana_valid.drafts, "solana-plain", "solana-payer", "solana-beside"):
        for _ in range(25):
            raw = spoilt(rng, base64.b64decode(draft.input["transaction_b64"]))
            transaction_read = solana_opinion.read(raw)
            holds = transaction_read is not None and solana_opinion.is_signed(transaction_read)
            evidence = {**draft.input, "transaction_b64": base64.b64encode(raw).decode("ascii")}
            assert (judge(evidence).stage != "transaction") is holds


def test_settlements_are_read_as_eth_account_reads_them() -> None:
    """The signer of a changed transaction is a different one or none, and both libraries name the same."""
    rng = Random(7)
    for draft in in_lane(base_valid.settled_drafts, "base-settled-transaction", "base-settled-type"):
        for _ in range(10):
            settlement = draft.input["settlement"]
            raw = spoilt(rng, bytes.fromhex(settlement["transaction"][2:]))
            receipt = {**settlement["receipt"], "transactionHash": base_opinion.hash_of(raw)}
            changed_settlement = {**settlement, "transaction": "0x" + raw.hex(), "receipt": receipt}
            judgement = judge({**draft.input, "settlement": changed_settlement})
            if judgement.valid:
                assert judgement.values["settler"] == base_opinion.sender_of(raw)
            else:
                assert judgement.stage == "transaction"
