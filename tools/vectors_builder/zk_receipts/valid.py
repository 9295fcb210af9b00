"""Receipts that hold: at and above the threshold, on each lane, and however their envelope is written."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from conformance.oracles.ed25519_keys import encode_base64url
from conformance.oracles.hash_recipes import jcs_bytes
from tools.vectors_builder.drafting import Draft
from tools.vectors_builder.zk_receipts.making import (
    ADDON,
    BENCH,
    END,
    SIGNER,
    holds,
    proven,
    receipt,
    trust_set,
)


def drafts() -> Iterator[Draft]:
    """Yield them."""
    yield from _scores()
    yield from _lanes()
    yield from _envelopes()


def _scores() -> Iterator[Draft]:
    yield holds("above", "usual", receipt(proven()), "A score of 912 shown to reach 700.")
    yield holds(
        "above",
        "by_everything",
        receipt(proven("highest over lowest", 1000, 0)),
        "The widest distance that scores have.",
    )
    yield holds(
        "above", "by_one", receipt(proven("by one", 701)), "The value that is shown to be no less than zero is one."
    )
    for variant, value in (("usual", 700), ("lowest", 0), ("highest", 1000)):
        yield holds(
            "at_the_threshold",
            variant,
            receipt(proven(f"{variant} at the threshold", value, value)),
            "The value is zero: every bit is zero, and a sum that skips zeros must not go wrong.",
        )


def _lanes() -> Iterator[Draft]:
    lanes: dict[str, dict[str, Any]] = {
        "base": {
            "chain": "base_mainnet",
            "recipient": "0x8ba1f109551bD432803012645Ac136ddd64DBA72",
            "tx_id": "0x" + "5e" * 32,
        },
        "solana": {
            "chain": "solana_mainnet",
            "recipient": "9xQeWvG816bUx9EPjHmaT23yvVM2ZWbrrpZb9PusVFin",
            "tx_id": "5VERv8NMvzbJMEkV8xnrLkEaWRtSz9CosKDYjCJjBRnbJLgp8uirBgmQpjKhoR4tjF3ZpRzrFmBV6UjKdiSZkQUW",
        },
    }
    for lane, changes in lanes.items():
        yield holds("lane", lane, receipt(proven(lane, **changes)), f"A payment on {lane.capitalize()}.")


def _envelopes() -> Iterator[Draft]:
    payload = proven()
    backwards = json.dumps(dict(reversed(list(payload.items()))), indent=1)
    other_members = {"alg": "Falcon-1024", "kid": SIGNER.kid(ADDON), "sig": encode_base64url(_signature())}
    text = json.dumps(other_members)[:-1] + ', "payload": ' + backwards + "}"
    yield holds(
        "canonical_form",
        "backwards_and_spaced",
        encode_base64url(text.encode()),
        "Signature and transcript cover JCS of the payload, so the order in which it is written is free.",
    )
    yield holds(
        "further_members",
        "nested",
        receipt(proven("further members", counters={"runs": [480, 3]}, note="über 700")),
        "Members beside the profile's are free; the transcript has them like all the rest.",
    )
    yield holds(
        "key_choice",
        "by_kid",
        receipt(payload),
        "bench_issuer is data: its key stands in the trust set and is not the one that signed.",
        trusted_keys=trust_set(BENCH, ADDON),
    )
    yield holds(
        "expiry", "within_skew", receipt(payload), "Clocks may differ by a minute.", now=END + 60, pins=("P-CV-09",)
    )


def _signature() -> bytes:
    return SIGNER.sign(ADDON, jcs_bytes(proven()))
