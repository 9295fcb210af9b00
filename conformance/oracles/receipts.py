"""Standalone verification of a receipt by the nine steps of profile 2.4, on the suite's own key, JWS and JCS oracles.

Pure: no network, no clock. The first step that fails decides, and gives its code.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from conformance.oracles.hashing import jcs_bytes
from conformance.oracles.jose import ALGORITHMS
from conformance.oracles.keys import KEY_BYTES, Ed25519Key, KeyFault, decode_base64url, verify

LONGEST = 16_384
CANON_VERSION = "jcs-rfc8785-v1"
_PARTS = 3
_PAYABLE = re.compile(r"[a-z0-9]+/payable-svc-receipt/1")
_HASH = re.compile(r"sha256:[0-9a-f]{64}")
COMPLIANCE = (
    "payer_ref",
    "screen_result",
    "screen_timestamp_ms",
    "screen_provider_did",
    "jurisdiction_flags",
    "canon_version",
)
_HASHES = ("request_hash", "response_hash", "settled_payment_ref")
_PAYABLE_MEMBERS = ("kind", "canon_version", "service_id", *_HASHES)
_ATTESTATION = (
    "canon_version",
    "jurisdiction_flags",
    "settled_payment_ref",
    "settlement_amount",
    "settlement_chain",
    "settlement_provider_did",
    "settlement_result",
    "settlement_timestamp_ms",
)
_VALUES: Mapping[str, tuple[str, ...]] = {
    "screen_result": ("ALLOW", "REFER", "DENY"),
    "settlement_result": ("SETTLED", "PENDING_FINALITY", "REVERSED"),
}


class ReceiptFault(Exception):
    """A receipt that does not verify.

    Attributes:
        code: The typed code of the step that failed.
    """

    def __init__(self, code: str, reason: str) -> None:
        super().__init__(reason)
        self.code = code


@dataclass(frozen=True, slots=True)
class Envelope:
    """A compact JWS whose format holds; nothing is verified yet."""

    header: Mapping[str, Any]
    payload: bytes
    signature: bytes
    signing_input: bytes


def verify_receipt(token: Any, keys: Any, *, expected_payment_hash: str | None = None) -> dict[str, Any]:
    """Return the claims of a receipt that verifies under a JWKS document.

    Args:
        token: The value that stands for the receipt; anything but a text is no receipt.
        keys: The JWKS document whose key the header's `kid` selects, the first one when none matches (P-RV-01).
        expected_payment_hash: What the receipt must be bound to, where that is asked.

    Raises:
        ReceiptFault: It does not verify; its code is that of the first step that fails.
    """
    envelope = _envelope(token)
    jwk = _selected(keys, envelope.header.get("kid"))
    if envelope.header.get("alg") not in ALGORITHMS or (jwk.get("kty"), jwk.get("crv")) != ("OKP", "Ed25519"):
        raise ReceiptFault("UNSUPPORTED_ALG", "the algorithm or the key is not Ed25519")
    if not verify(_key(jwk), envelope.signing_input, envelope.signature):
        raise ReceiptFault("TAMPERED_SIGNATURE", "the signature does not hold")
    claims = _claims(envelope.payload)
    _structure(claims, envelope.payload)
    if expected_payment_hash is not None and claims.get(_payment_member(claims)) != expected_payment_hash:
        raise ReceiptFault("PAYMENT_HASH_MISMATCH", "the receipt is not bound to that payment")
    return claims


def _envelope(token: Any) -> Envelope:
    if not isinstance(token, str) or not token:
        raise ReceiptFault("MISSING_ENVELOPE", "there is no receipt")
    parts = token.split(".")
    if len(token) > LONGEST or len(parts) != _PARTS or not all(parts):
        raise ReceiptFault("INVALID_JWS_FORMAT", "not three segments")
    try:
        header, payload, signature = map(decode_base64url, parts)
        members = json.loads(header, object_pairs_hook=_no_duplicates)
    except (KeyFault, ValueError, RecursionError) as fault:
        raise ReceiptFault("INVALID_JWS_FORMAT", f"a segment is malformed: {fault}") from fault
    if not isinstance(members, dict) or "crit" in members or members.get("b64", True) is not True:
        raise ReceiptFault("INVALID_JWS_FORMAT", "the header is no object, or has critical members")
    if not all(isinstance(members.get(name, ""), str) for name in ("alg", "kid")):
        raise ReceiptFault("INVALID_JWS_FORMAT", "alg or kid is no text")
    return Envelope(members, payload, signature, token.rpartition(".")[0].encode("ascii"))


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("duplicate members")
    return members


def _selected(document: Any, kid: Any) -> Mapping[str, Any]:
    listed = document.get("keys") if isinstance(document, Mapping) else None
    if not isinstance(listed, Sequence) or not listed or not all(isinstance(one, Mapping) for one in listed):
        raise ReceiptFault("INVALID_JWS_FORMAT", "the key set is no JWKS document with keys")
    named = (one for one in listed if kid is not None and one.get("kid") == kid)
    found: Mapping[str, Any] = next(named, listed[0])
    return found


def _key(jwk: Mapping[str, Any]) -> Ed25519Key:
    x = jwk.get("x")
    try:
        raw = decode_base64url(x) if isinstance(x, str) else b""
    except KeyFault:
        raw = b""
    if len(raw) != KEY_BYTES:
        raise ReceiptFault("INVALID_JWS_FORMAT", "the key's member x does not hold 32 bytes")
    return Ed25519Key(raw, None)


def _claims(payload: bytes) -> dict[str, Any]:
    try:
        value = json.loads(payload.decode("utf-8"))
    except (ValueError, RecursionError) as fault:
        raise ReceiptFault("INVALID_PAYLOAD", "the payload is not JSON") from fault
    if not isinstance(value, dict):
        raise ReceiptFault("INVALID_PAYLOAD", "the payload is no object")
    return value


def _structure(claims: Mapping[str, Any], payload: bytes) -> None:
    if claims.get("canon_version") != CANON_VERSION:
        raise ReceiptFault("UNSUPPORTED_CANON_VERSION", "canon_version is not jcs-rfc8785-v1")
    try:
        canonical = jcs_bytes(json.loads(payload, object_pairs_hook=_no_duplicates))
    except ValueError as fault:
        raise ReceiptFault("NON_CANONICAL_PAYLOAD", "the payload has duplicate members or no canonical form") from fault
    if canonical != payload:
        raise ReceiptFault("NON_CANONICAL_PAYLOAD", "the payload is not its own JCS form")
    members = _members(claims)
    missing = [name for name in members if claims.get(name) is None]
    if missing:
        raise ReceiptFault("MISSING_FIELD", f"{missing[0]} is missing")
    wrong = [name for name, allowed in _VALUES.items() if name in members and claims[name] not in allowed]
    if members is _PAYABLE_MEMBERS:
        wrong += [name for name in _HASHES if _HASH.fullmatch(str(claims[name])) is None]
    if wrong:
        raise ReceiptFault("INVALID_PAYLOAD", f"{wrong[0]} has a value outside its set")


def _members(claims: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the required members of the receipt's kind (P-RV-02)."""
    kind = claims.get("kind")
    if isinstance(kind, str) and _PAYABLE.fullmatch(kind):
        return _PAYABLE_MEMBERS
    return _ATTESTATION if {"settlement_result", "settlement_chain"} & claims.keys() else COMPLIANCE


def _payment_member(claims: Mapping[str, Any]) -> str:
    return "payment_hash" if _members(claims) is COMPLIANCE else "settled_payment_ref"
