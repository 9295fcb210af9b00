"""Standalone verification of receipts by the steps of specification 2.4, on the suite's own key, JWS and JCS oracles.

Pure: no network, no clock. The first step that fails decides, and gives its code.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from conformance.oracles.ed25519_keys import KEY_BYTES, Ed25519Key, KeyFault, decode_base64url, verify
from conformance.oracles.hash_recipes import jcs_bytes
from conformance.oracles.jose import ALGORITHMS
from conformance.oracles.json_acceptance import has_large_integer, parse_json
from conformance.oracles.receipt_kinds import (
    CANON_VERSION,
    COMPLIANCE,
    Kind,
    kind_of,
    member_outside_its_set,
    missing_member,
    payment_member,
)

__all__ = (
    "CANON_VERSION",
    "COMPLIANCE",
    "LONGEST",
    "STEPS",
    "Examination",
    "ReceiptFault",
    "examine",
    "verify_receipt",
)

# A limit before any decoding keeps hostile tokens cheap (step 2).
LONGEST = 16_384
_PARTS = 3
# The step a code stands for; 8b answers INVALID_PAYLOAD on the line of step 8.
STEPS = (
    "MISSING_ENVELOPE",
    "INVALID_JWS_FORMAT",
    "UNSUPPORTED_ALG",
    "TAMPERED_SIGNATURE",
    "INVALID_PAYLOAD",
    "UNSUPPORTED_CANON_VERSION",
    "NON_CANONICAL_PAYLOAD",
    "MISSING_FIELD",
    "PAYMENT_HASH_MISMATCH",
)


class ReceiptFault(Exception):
    """A receipt that does not verify.

    Attributes:
        code: The typed code of the step that failed.
        field: The payload's member at fault, None where no member is.
    """

    def __init__(self, code: str, reason: str, field: str | None = None) -> None:
        super().__init__(reason)
        self.code = code
        self.field = field


@dataclass(frozen=True, slots=True)
class Envelope:
    """A compact JWS whose format holds; nothing is verified yet."""

    header: Mapping[str, Any]
    payload: bytes
    signature: bytes
    signing_input: bytes


@dataclass(slots=True)
class Examination:
    """What the nine steps found, as far as they went.

    Attributes:
        passed_steps: How many steps passed, all nine for a receipt that verifies.
        fault: Why the next one failed; None when none did.
        envelope: The token by its parts, once its format holds.
        jwk: The key that was selected, once there was one.
        claims: The payload, once its signature held and it was a JSON object; empty before.
    """

    passed_steps: int = 0
    fault: ReceiptFault | None = None
    envelope: Envelope | None = None
    jwk: Mapping[str, Any] | None = None
    claims: dict[str, Any] = field(default_factory=dict)

    @property
    def is_verified(self) -> bool:
        """Whether all nine steps passed."""
        return self.fault is None

    @property
    def kind(self) -> Kind | None:
        """The receipt's kind, once there are claims."""
        return kind_of(self.claims) if self.claims else None

    @property
    def checks(self) -> list[dict[str, str]]:
        """The nine lines of the report, in order: `{"code", "result"}`, after a fail all skipped."""
        results = ["pass"] * self.passed_steps + ["fail"] * (self.fault is not None)
        results += ["skipped"] * (len(STEPS) - len(results))
        return [{"code": code, "result": result} for code, result in zip(STEPS, results, strict=True)]


def verify_receipt(token: Any, keys: Any, *, expected_payment_hash: str | None = None) -> dict[str, Any]:
    """Return the claims of a receipt that verifies under a JWKS document.

    Args:
        token: The value that stands for the receipt; anything but a text is no receipt.
        keys: The JWKS document whose key the header's `kid` selects, the first one when none matches (P-RV-01).
        expected_payment_hash: What the receipt must be bound to, where that is asked.

    Raises:
        ReceiptFault: It does not verify; its code is that of the first step that fails.
    """
    examination = examine(token, keys, expected_payment_hash=expected_payment_hash)
    if examination.fault is not None:
        raise examination.fault
    return examination.claims


def examine(token: Any, keys: Any, *, expected_payment_hash: str | None = None) -> Examination:
    """Return what the nine steps find, with the arguments of `verify_receipt`; never raises."""
    examination = Examination()
    try:
        # The steps are a generator, so that the report knows how many passed before the one
        # that failed.
        for _ in _steps(examination, token, keys, expected_payment_hash):
            examination.passed_steps += 1
    except ReceiptFault as fault:
        examination.fault = fault
    return examination


def _steps(examination: Examination, token: Any, keys: Any, expected_payment_hash: str | None) -> Iterator[None]:
    """Take the nine steps one after the other, yielding after each that passes."""
    if not isinstance(token, str) or not token:
        raise ReceiptFault("MISSING_ENVELOPE", "there is no receipt")
    yield
    envelope = examination.envelope = read_envelope(token)
    jwk = examination.jwk = _select_key(keys, envelope.header.get("kid"))
    is_ed25519 = (jwk.get("kty"), jwk.get("crv")) == ("OKP", "Ed25519")
    # A key of another type is no format fault: step 3 reports it as an unsupported algorithm.
    # So step 2 reads only Ed25519 keys.
    key = _key(jwk) if is_ed25519 else Ed25519Key(b"", None)
    yield
    # The header and the key must both say Ed25519. Otherwise the token chooses how its key is
    # used.
    if envelope.header.get("alg") not in ALGORITHMS or not is_ed25519:
        raise ReceiptFault("UNSUPPORTED_ALG", "the algorithm or the key is not Ed25519")
    yield
    if not verify(key, envelope.signing_input, envelope.signature):
        raise ReceiptFault("TAMPERED_SIGNATURE", "the signature does not hold")
    yield
    claims = examination.claims = _claims(envelope.payload)
    yield
    if claims.get("canon_version") != CANON_VERSION:
        raise ReceiptFault("UNSUPPORTED_CANON_VERSION", "canon_version is not jcs-rfc8785-v1", "canon_version")
    yield
    # The bytes themselves must be canonical. Otherwise two verifiers that parse differently
    # could see different claims under one signature.
    why = departure_from_jcs(envelope.payload)
    if why is not None:
        raise ReceiptFault("NON_CANONICAL_PAYLOAD", why)
    yield
    _require_members(claims)
    yield
    member = payment_member(claims)
    # Step 9 applies only if the caller names a payment.
    if expected_payment_hash is not None and claims.get(member) != expected_payment_hash:
        raise ReceiptFault("PAYMENT_HASH_MISMATCH", f"{member} is not that of the expected payment", member)
    yield


def read_envelope(token: str) -> Envelope:
    """Parse a compact JWS; its key is not used yet (first half of step 2).

    Raises:
        ReceiptFault: It is not a compact JWS, by INVALID_JWS_FORMAT.
    """
    parts = token.split(".")
    if len(token) > LONGEST:
        raise ReceiptFault("INVALID_JWS_FORMAT", f"longer than {LONGEST} characters")
    if len(parts) != _PARTS or not all(parts):
        raise ReceiptFault("INVALID_JWS_FORMAT", "not three segments")
    try:
        header, payload, signature = map(decode_base64url, parts)
        members = parse_json(header, duplicates=False)
    except (KeyFault, ValueError) as fault:
        raise ReceiptFault("INVALID_JWS_FORMAT", f"a segment is malformed: {fault}") from fault
    # Critical members and unencoded payloads (RFC 7797) change the meaning of a JWS, and step 2
    # excludes both.
    if not isinstance(members, dict) or "crit" in members or members.get("b64", True) is not True:
        raise ReceiptFault("INVALID_JWS_FORMAT", "the header is no object, or has critical members")
    if not all(isinstance(members.get(name, ""), str) for name in ("alg", "kid")):
        raise ReceiptFault("INVALID_JWS_FORMAT", "alg or kid is no text")
    return Envelope(members, payload, signature, token.rpartition(".")[0].encode("ascii"))


def departure_from_jcs(payload: bytes) -> str | None:
    """Return why bytes that are a JSON text are not their own RFC 8785 form; None when they are (step 7, P-CV-20)."""
    try:
        value = parse_json(payload, duplicates=False)
        if has_large_integer(value):
            return "the payload has an integer beyond 2^53 - 1"
        canonical = jcs_bytes(value)
    except ValueError:
        return "the payload has duplicate members or no canonical form"
    return None if canonical == payload else "the payload is not its own JCS form"


def _select_key(document: Any, kid: Any) -> Mapping[str, Any]:
    jwks = document.get("keys") if isinstance(document, Mapping) else None
    if not isinstance(jwks, Sequence) or not jwks or not all(isinstance(one, Mapping) for one in jwks):
        raise ReceiptFault("INVALID_JWS_FORMAT", "the key set is no JWKS document with keys")
    keys_with_kid = [one for one in jwks if kid is not None and one.get("kid") == kid]
    # Keys of different types may share a kid (RFC 7517, 4.5): only one of them fits the algorithm.
    ed25519_keys = (one for one in keys_with_kid if (one.get("kty"), one.get("crv")) == ("OKP", "Ed25519"))
    jwk: Mapping[str, Any] = next(ed25519_keys, (keys_with_kid or jwks)[0])
    return jwk


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
        # Duplicate members are JSON, so step 5 accepts them. Step 7 rejects them as
        # non-canonical.
        value = parse_json(payload, duplicates=True)
    except ValueError as fault:
        raise ReceiptFault("INVALID_PAYLOAD", "the payload is not JSON") from fault
    if not isinstance(value, dict):
        raise ReceiptFault("INVALID_PAYLOAD", "the payload is no object")
    return value


def _require_members(claims: Mapping[str, Any]) -> None:
    missing_name = missing_member(claims)
    if missing_name is not None:
        raise ReceiptFault("MISSING_FIELD", f"{missing_name} is missing", missing_name)
    wrong = member_outside_its_set(claims)
    if wrong is not None:
        raise ReceiptFault("INVALID_PAYLOAD", f"{wrong} has a value outside its set", wrong)
