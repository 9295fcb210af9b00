"""ATB certificates and agent passports: their form and their verification (8.2, P-AD-04 to P-AD-08)."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from reference.protocol import falcon
from reference.protocol.envelope import SHAPE, Envelope, EnvelopeFault, open_envelope
from reference.protocol.keys import falcon_kid
from reference.protocol.time_text import unix_of

_METHODOLOGY = re.compile(r"[^\s]+-v[0-9]+\.[0-9]+")
Rule = Callable[[object], bool]
# The key of 1793 bytes by the issuer's DID; None if there is no trust set that may be used (P-AD-04).
Keys = Mapping[str, bytes] | None


class Status(StrEnum):
    """The status of a credential. `revoked` needs a revocation list, which this specification does not have (8.2)."""

    ACTIVE = "active"
    REVOKED = "revoked"
    EXPIRED = "expired"
    INVALID = "invalid"
    UNVERIFIABLE = "unverifiable"


class Kind(StrEnum):
    """Which credential a payload is."""

    CERTIFICATE = "atb_certificate"
    PASSPORT = "agent_passport"


# Every reason in the order of the checks (8.2), with the status that follows from it. The service's own inability goes
# first, so that no verdict depends on the order of the other faults. It leads to "unverifiable" and never to
# "invalid": a service without keys must not call a sound credential forged.
REASONS: Mapping[str, Status] = {
    "no_backend": Status.UNVERIFIABLE,
    "no_trust_set": Status.UNVERIFIABLE,
    "envelope_decode": Status.INVALID,
    "envelope_shape": Status.INVALID,
    "unsupported_alg": Status.INVALID,
    "wrong_issuer": Status.INVALID,
    "no_public_key": Status.UNVERIFIABLE,
    "kid_mismatch": Status.INVALID,
    "timestamp_parse": Status.INVALID,
    "sig_verify_error": Status.INVALID,
    "sig_invalid": Status.INVALID,
    "expired": Status.EXPIRED,
    "score_too_low": Status.INVALID,
    "not_passed": Status.INVALID,
    "wrong_audience": Status.INVALID,
    "unknown_proof_system": Status.UNVERIFIABLE,
    "proof_invalid": Status.INVALID,
}
# Reasons that are found only after the signature was verified, because an unsigned payload proves nothing about expiry
# or score.
AFTER_SIGNATURE = frozenset(
    {"expired", "score_too_low", "not_passed", "wrong_audience", "unknown_proof_system", "proof_invalid"}
)


@dataclass(frozen=True, slots=True)
class Question:
    """What a caller wants to know.

    Attributes:
        now: Unix seconds at which the credential must hold.
        skew: Seconds by which clocks may differ (P-CV-09).
        expected_issuer: DID that must have issued it, or None.
        min_score: Score that a certificate must reach, having passed; None asks for neither.
    """

    now: int
    skew: int
    expected_issuer: str | None = None
    min_score: float | None = None


@dataclass(frozen=True, slots=True)
class Judgement:
    """The verdict on a credential or a token.

    Attributes:
        reason: The first thing that is wrong with it; None when it is active.
        envelope: The envelope, once it was opened.
        kind: What its payload is, once that was read.
        issuer: DID that its payload names, once that was read.
    """

    reason: str | None
    envelope: Envelope | None = None
    kind: str | None = None
    issuer: str | None = None

    @property
    def status(self) -> Status:
        """Its status."""
        return Status.ACTIVE if self.reason is None else REASONS[self.reason]

    @property
    def valid(self) -> bool:
        """Whether it may be relied on."""
        return self.reason is None

    @property
    def verified_payload(self) -> Mapping[str, Any] | None:
        """The payload if its signature holds, else None."""
        # An answer repeats only what was signed. An unsigned payload in an answer could pass for a verified one
        # (8.2).
        holds = self.reason is None or self.reason in AFTER_SIGNATURE
        return self.envelope.payload if self.envelope is not None and holds else None

    @property
    def members(self) -> dict[str, Any]:
        """The members of every answer: `valid`, `status`, `reason`, `type`, `issuer`, `kid` (8.2)."""
        kid = None if self.envelope is None else self.envelope.kid
        return {
            "valid": self.valid,
            "status": self.status.value,
            "reason": self.reason,
            "type": self.kind,
            "issuer": self.issuer,
            "kid": kid,
        }

    @property
    def content_hash(self) -> str | None:
        """SHA-256 of the payload's JCS, bare lower-case hex (P-CV-06)."""
        return None if self.envelope is None else hashlib.sha256(self.envelope.signed_bytes).hexdigest()


def judge(text: str, question: Question, keys: Keys, library: falcon.Library | None) -> Judgement:
    """Return the verdict on a credential, by the checks of specification 8.2 in their order."""
    # Without a library or a trust set nothing is verified, whatever the credential is (P-AD-04, P-AD-05).
    if (inability := find_inability(keys, library)) is not None or keys is None or library is None:
        return Judgement(inability)
    try:
        envelope = open_envelope(text)
    except EnvelopeFault as fault:
        return Judgement(fault.reason)
    kind = kind_of(envelope.payload)
    if kind is None:
        return Judgement(SHAPE, envelope)
    issuer = envelope.payload[_ISSUER[kind]]
    return Judgement(next(_faults(envelope, kind, question, keys, library), None), envelope, kind, issuer)


def find_inability(keys: Keys, library: falcon.Library | None) -> str | None:
    """Return the reason why no credential can be verified now, or None."""
    if library is None:
        return "no_backend"
    return "no_trust_set" if keys is None else None


def kind_of(payload: Mapping[str, Any]) -> Kind | None:
    """Return which credential a payload is; None when it is not one, or could be taken for two (P-AD-08)."""
    # P-AD-08: tokens and ZK receipts have `type`, credentials do not. So an issuer's signature under one kind of
    # envelope cannot be presented as another kind.
    if "type" in payload:
        return None
    kinds = [kind for kind, mark in _MARK.items() if mark in payload]
    return kinds[0] if len(kinds) == 1 and fits(payload, _MEMBERS[kinds[0]]) else None


def fits(payload: Mapping[str, Any], members: Mapping[str, Rule]) -> bool:
    """Return whether a payload has every member, each as its rule wants it; further ones are free."""
    return all(name in payload and rule(payload[name]) for name, rule in members.items())


def signature_faults(
    envelope: Envelope, key: bytes, kids: tuple[str, ...], library: falcon.Library, question: Question
) -> Iterator[str]:
    """Yield what is wrong from `kid_mismatch` to `expired`, in order.

    Args:
        envelope: The opened envelope; its payload has texts `issued_at` and `expires_at`.
        key: The issuer's key.
        kids: Every `kid` that the envelope and its payload name.
        library: Does the arithmetic.
        question: When it must hold.
    """
    # A certificate names its key twice, in the envelope and in the signed payload. Both must be the key that is
    # used: otherwise the unsigned name could point to another key of the issuer.
    if {*kids} != {falcon_kid(key)}:
        yield "kid_mismatch"
    try:
        unix_of(envelope.payload["issued_at"])
        expires = unix_of(envelope.payload["expires_at"])
    except ValueError:
        yield "timestamp_parse"
        return
    try:
        holds = falcon.verify(library, key, envelope.signed_bytes, envelope.signature)
    except Exception:  # noqa: BLE001 - whatever a foreign library raises, nothing was verified
        yield "sig_verify_error"
        return
    # The generator goes on: the caller takes the first reason only, and later ones cost nothing.
    if not holds:
        yield "sig_invalid"
    if expires < question.now - question.skew:
        yield "expired"


def _faults(
    envelope: Envelope, kind: Kind, question: Question, keys: Mapping[str, bytes], library: falcon.Library
) -> Iterator[str]:
    payload = envelope.payload
    issuer = payload[_ISSUER[kind]]
    if envelope.alg != falcon.ALGORITHM:
        yield "unsupported_alg"
    if question.expected_issuer not in {None, issuer}:
        yield "wrong_issuer"
    key = keys.get(issuer)
    if key is None:
        yield "no_public_key"
        return
    kids = (envelope.kid, payload["bench_kid"]) if kind is Kind.CERTIFICATE else (envelope.kid,)
    yield from signature_faults(envelope, key, kids, library, question)
    if question.min_score is not None:
        # A passport has no score, so it reaches none.
        if kind is not Kind.CERTIFICATE or payload["score"] < question.min_score:
            yield "score_too_low"
        elif not payload["passed"]:
            yield "not_passed"


def is_text(value: object) -> bool:
    """Return whether a value is a text that says something."""
    return isinstance(value, str) and bool(value)


def is_list_of_texts(value: object) -> bool:
    """Return whether a value is a list of texts; it may be empty."""
    return isinstance(value, list) and all(is_text(one) for one in value)


def _is_share(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1


def _is_methodology(value: object) -> bool:
    return isinstance(value, str) and _METHODOLOGY.fullmatch(value) is not None


def _is_amount(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_bool(value: object) -> bool:
    return isinstance(value, bool)


_MARK: Mapping[Kind, str] = {Kind.CERTIFICATE: "atb_cert_version", Kind.PASSPORT: "passport_id"}
_ISSUER: Mapping[Kind, str] = {Kind.CERTIFICATE: "bench_issuer", Kind.PASSPORT: "issuer_did"}
# A payload is of a kind only if it has every member of the kind, each by its rule.
_MEMBERS: Mapping[Kind, Mapping[str, Rule]] = {
    Kind.CERTIFICATE: {
        "atb_cert_version": is_text,
        "bench_issuer": is_text,
        "bench_kid": is_text,
        "score": _is_share,
        "passed": _is_bool,
        "methodology_version": _is_methodology,
        "issued_at": is_text,
        "expires_at": is_text,
    },
    Kind.PASSPORT: {
        "passport_id": is_text,
        "agent_did": is_text,
        "issuer_did": is_text,
        "scopes": is_list_of_texts,
        "spend_limit_microusd": _is_amount,
        "spend_window": is_text,
        "issued_at": is_text,
        "expires_at": is_text,
    },
}
