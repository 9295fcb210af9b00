"""Which kind of receipt a payload is, and what that kind must hold (profile 2.3, 2.4 steps 8 and 8b, P-RV-02)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Literal

from reference.protocol.canonical_json import JsonValue

ReceiptKind = Literal["compliance", "payable", "settlement_attestation"]

SCREEN_RESULTS = ("ALLOW", "REFER", "DENY")
SETTLEMENT_RESULTS = ("SETTLED", "PENDING_FINALITY", "REVERSED")
HASH_MEMBERS = ("request_hash", "response_hash", "settled_payment_ref")

# In the order in which profile 2.3 lists them: the first one missing is the one that is named.
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
    kind = payload.get("kind")
    if isinstance(kind, str) and _PAYABLE_KIND.fullmatch(kind):
        return "payable"
    if "settlement_result" in payload or "settlement_chain" in payload:
        return "settlement_attestation"
    return "compliance"


def missing_members(payload: Mapping[str, JsonValue]) -> Iterator[str]:
    """Yield the required members that are absent or null, in the order of the kind's table (step 8)."""
    return (member for member in REQUIRED_MEMBERS[kind_of(payload)] if payload.get(member) is None)


def members_outside_their_set(payload: Mapping[str, JsonValue]) -> Iterator[str]:
    """Yield the required members whose value is none of those allowed, in the same order (step 8b).

    Only the two results and, in a payable receipt, the hash references have a set; all else passes (P-RV-03).
    """
    kind = kind_of(payload)
    return (member for member in REQUIRED_MEMBERS[kind] if not _is_allowed(kind, member, payload.get(member)))


def payment_hash_member(payload: Mapping[str, JsonValue]) -> str:
    """Return the member that an expected payment hash is compared with (step 9)."""
    return "payment_hash" if kind_of(payload) == "compliance" else "settled_payment_ref"


def _is_allowed(kind: ReceiptKind, member: str, value: JsonValue) -> bool:
    if kind == "compliance" and member == "screen_result":
        return value in SCREEN_RESULTS
    if kind == "settlement_attestation" and member == "settlement_result":
        return value in SETTLEMENT_RESULTS
    if kind == "payable" and member in HASH_MEMBERS:
        return isinstance(value, str) and _HASH_REFERENCE.fullmatch(value) is not None
    return True
