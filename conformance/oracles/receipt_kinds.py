"""Which kind of receipt a payload is, and what that kind must hold (2.3, steps 8 and 8b of 2.4, P-RV-02)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal

Kind = Literal["compliance", "payable", "settlement_attestation"]

CANON_VERSION = "jcs-rfc8785-v1"
# In the order of 2.3, which is the order in which a verifier looks for them.
COMPLIANCE = (
    "payer_ref",
    "screen_result",
    "screen_timestamp_ms",
    "screen_provider_did",
    "jurisdiction_flags",
    "canon_version",
)
HASHES = ("request_hash", "response_hash", "settled_payment_ref")
# Required members by kind, in the order in which step 8 reports the first missing one.
MEMBERS: Mapping[Kind, tuple[str, ...]] = {
    "compliance": COMPLIANCE,
    "payable": ("kind", "canon_version", "service_id", *HASHES),
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
VALUES: Mapping[str, tuple[str, ...]] = {
    "screen_result": ("ALLOW", "REFER", "DENY"),
    "settlement_result": ("SETTLED", "PENDING_FINALITY", "REVERSED"),
}
# The kind begins with the service word, so that receipts of one deployment name their origin.
_PAYABLE = re.compile(r"([a-z0-9]+)/payable-svc-receipt/1")
_HASH = re.compile(r"sha256:[0-9a-f]{64}")


def kind_of(claims: Mapping[str, Any]) -> Kind:
    """Return the kind of a payload (P-RV-02); one without a mark of another kind is a compliance receipt."""
    kind = claims.get("kind")
    if isinstance(kind, str) and _PAYABLE.fullmatch(kind):
        return "payable"
    # Attestations have no member `kind`. They are recognised by members that no other kind has.
    return "settlement_attestation" if {"settlement_result", "settlement_chain"} & claims.keys() else "compliance"


def service_word_of(claims: Mapping[str, Any]) -> str | None:
    """Return the service word in a payable receipt's kind, in lower case; None without one."""
    match = _PAYABLE.fullmatch(str(claims.get("kind")))
    return match[1] if match is not None else None


def payment_member(claims: Mapping[str, Any]) -> str:
    """Return the member that holds the settled payment: in a compliance receipt `payment_hash` (step 9)."""
    return "payment_hash" if kind_of(claims) == "compliance" else "settled_payment_ref"


def missing_member(claims: Mapping[str, Any]) -> str | None:
    """Return the first required member that is absent or null (step 8)."""
    return next((name for name in MEMBERS[kind_of(claims)] if claims.get(name) is None), None)


def member_outside_its_set(claims: Mapping[str, Any]) -> str | None:
    """Return the first required member whose value is not one of those allowed (step 8b)."""
    kind = kind_of(claims)
    wrong_members = (name for name in MEMBERS[kind] if name in VALUES and claims.get(name) not in VALUES[name])
    hashes = HASHES if kind == "payable" else ()
    return next(wrong_members, next((name for name in hashes if not is_hash_reference(claims.get(name))), None))


def is_hash_reference(value: Any) -> bool:
    """Return whether a value is `sha256:` and 64 lower-case hex digits (P-CV-06)."""
    return isinstance(value, str) and _HASH.fullmatch(value) is not None
