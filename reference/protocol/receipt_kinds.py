"""The kinds of receipt and their required members (2.3, 2.4 steps 8 and 8b, P-RV-02)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Literal

from reference.protocol.canonical_json import JsonValue

ReceiptKind = Literal["compliance", "payable", "settlement_attestation"]

SCREEN_RESULTS = ("ALLOW", "REFER", "DENY")
SETTLEMENT_RESULTS = ("SETTLED", "PENDING_FINALITY", "REVERSED")
HASH_MEMBERS = ("request_hash", "response_hash", "settled_payment_ref")

# In the order of the tables of 2.3, because `error_field` names the first member that is missing (step 8).
REQUIRED_MEMBERS: Mapping[ReceiptKind, tuple[str, ...]] = {
    "compliance": (
        "payer_ref",
        "screen_result",
        "screen_timestamp_ms",
        "screen_provider_did",
        "jurisdiction_flags",
        "canon_version",
    ),
    "payable": ("kind", "canon_version", "service_id", *HASH_MEMBERS),
    "settlement_attestation": (
        "canon_version",
        "jurisdiction_flags",
        "settled_payment_ref",
        "settlement_amount",
        "settlement_chain",
        "settlement_provider_did",
        "settlement_result",
        "settlement_timestamp_ms",
    ),
}

_PAYABLE_KIND = re.compile(r"[a-z0-9]+/payable-svc-receipt/1")
_HASH_REFERENCE = re.compile(r"sha256:[0-9a-f]{64}")


def kind_of(payload: Mapping[str, JsonValue]) -> ReceiptKind:
    """Return which kind of receipt a payload is (P-RV-02)."""
    # The order of these tests is fixed (P-RV-02). Verifiers that tested in another order would judge one payload by
    # different rules.
    kind = payload.get("kind")
    if isinstance(kind, str) and _PAYABLE_KIND.fullmatch(kind):
        return "payable"
    if "settlement_result" in payload or "settlement_chain" in payload:
        return "settlement_attestation"
    return "compliance"


def missing_member(kind: ReceiptKind, payload: Mapping[str, JsonValue]) -> str | None:
    """Return the first required member that is absent or null, in the order of the kind's table (step 8)."""
    for member in REQUIRED_MEMBERS[kind]:
        if payload.get(member) is None:
            return member
    return None


def member_outside_its_set(kind: ReceiptKind, payload: Mapping[str, JsonValue]) -> str | None:
    """Return the first required member whose value is not one of those allowed, in the same order (step 8b).

    Only the two results and, in a payable receipt, the hash references have a set; all else passes (P-RV-03).
    """
    for member, is_allowed in _SETS[kind]:
        value = payload.get(member)
        if not isinstance(value, str) or not is_allowed(value):
            return member
    return None


def payment_hash_member(kind: ReceiptKind) -> str:
    """Return the member that an expected payment hash is compared with (step 9)."""
    return "payment_hash" if kind == "compliance" else "settled_payment_ref"


# By kind: each member with a set, and a function that is true for an allowed text. A value that is not a text is never
# allowed.
_SETS: Mapping[ReceiptKind, Sequence[tuple[str, Callable[[str], object]]]] = {
    "compliance": (("screen_result", SCREEN_RESULTS.__contains__),),
    "settlement_attestation": (("settlement_result", SETTLEMENT_RESULTS.__contains__),),
    "payable": tuple((member, _HASH_REFERENCE.fullmatch) for member in HASH_MEMBERS),
}
