"""What an envelope is worth, by the checks of specification 8.2 in their order, then a ZK proof (8.4)."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from conformance.oracles import falcon
from conformance.oracles.credentials.envelope import SHAPE, Envelope, NoEnvelope, open_envelope, unix_of
from conformance.oracles.credentials.payload_kinds import Kind, credential_kind, decode_base64, issuer_of, typed_kind
from conformance.oracles.range_proof import system
from conformance.oracles.range_proof.verifying import Refusal, refusal_of

ALGORITHM: Final = "Falcon-1024"
# Clocks of issuer and verifier may differ by a minute.
SKEW_SECONDS: Final = 60
UNKNOWN_PROOF_SYSTEM: Final = "unknown_proof_system"
PROOF_INVALID: Final = "proof_invalid"


@dataclass(frozen=True, slots=True)
class Question:
    """The requirements of an envelope.

    Attributes:
        keys: Trusted keys in base64 by DID, as `GET /v1/issuer-pks` has them.
        now: Unix seconds.
        expected_issuer: DID of the issuer that must have signed it; None accepts every issuer.
        min_score: Score that a certificate must reach, having passed; None requires neither.
        audience: The audience that a token must be for; None accepts every audience.
    """

    keys: Mapping[str, str]
    now: int
    expected_issuer: str | None = None
    min_score: float | None = None
    audience: str | None = None


@dataclass(frozen=True, slots=True)
class Judgement:
    """The verdict on it.

    Attributes:
        reason: The first thing that is wrong with it; None when it holds.
        refusal: Where the proof of a ZK receipt is refused, when that is the reason.
        envelope: The envelope, when it was one.
        kind: What its payload is, when it is anything.
    """

    reason: str | None
    refusal: Refusal | None = None
    envelope: Envelope | None = None
    kind: Kind | None = None


def kid_of(public_key: bytes) -> str:
    """Return the name of a Falcon key: 16 hex digits of its SHA-256 (P-KY-09)."""
    return hashlib.sha256(public_key).hexdigest()[:16]


def read_trust_set(keys: Mapping[str, str]) -> dict[str, bytes]:
    """Return the keys of a trust set; an entry that holds none is left out."""
    read = ((did, decode_base64(text) or b"") for did, text in keys.items())
    return {did: key for did, key in read if len(key) == falcon.PUBLIC_KEY_BYTES and key[0] == falcon.KEY_HEADER}


def judge_credential(text: str, question: Question) -> Judgement:
    """Return what a certificate or a passport is worth (8.2)."""
    return _judge(text, question, None)


def judge_token(text: str, question: Question) -> Judgement:
    """Return what a federation token is worth (8.3)."""
    return _judge(text, question, Kind.TOKEN)


def judge_receipt(text: str, question: Question) -> Judgement:
    """Return what a ZK receipt is worth (8.4); its key is chosen by `kid` alone, of all that are trusted."""
    judgement = _judge(text, question, Kind.RECEIPT)
    if judgement.reason is not None or judgement.envelope is None:
        return judgement
    payload = judgement.envelope.payload
    # The signature is checked first: the proof system of an unsigned receipt is anyone's word.
    if payload.get("proof_system") != system.NAME:
        return Judgement(UNKNOWN_PROOF_SYSTEM, None, judgement.envelope, judgement.kind)
    refusal = refusal_of(payload, decode_base64(payload["proof_b64"]) or b"")
    return Judgement(None if refusal is None else PROOF_INVALID, refusal, judgement.envelope, judgement.kind)


def _judge(text: str, question: Question, expected_kind: Kind | None) -> Judgement:
    try:
        envelope = open_envelope(text)
    except NoEnvelope as fault:
        return Judgement(str(fault))
    kind = credential_kind(envelope.payload) if expected_kind is None else typed_kind(envelope.payload, expected_kind)
    if kind is None:
        return Judgement(SHAPE, None, envelope)
    return Judgement(next(_faults(envelope, kind, question), None), None, envelope, kind)


def _faults(envelope: Envelope, kind: Kind, question: Question) -> Iterator[str]:
    """Yield what is wrong with an envelope of a known kind, in order."""
    payload = envelope.payload
    issuer = issuer_of(payload, kind)
    # The order of the checks is part of the specification (8.2), because the first fault is the
    # reported reason.
    if envelope.alg != ALGORITHM:
        yield "unsupported_alg"
    if kind is not Kind.RECEIPT and question.expected_issuer not in {None, issuer}:
        yield "wrong_issuer"
    key = _key(envelope, kind, question)
    if key is None:
        yield "no_public_key"
        return
    key_names = {envelope.kid, *([payload["bench_kid"]] if kind is Kind.CERTIFICATE else [])}
    # The name must be that of the key which the trust set holds for the issuer. A certificate
    # names its key twice, in the envelope and in the payload.
    if key_names != {kid_of(key)}:
        yield "kid_mismatch"
    try:
        unix_of(payload["issued_at"])
        expires = unix_of(payload["expires_at"])
    except ValueError:
        yield "timestamp_parse"
        return
    if not falcon.holds(key, envelope.signed_bytes, envelope.signature):
        yield "sig_invalid"
    # Expiry comes after the signature, so that a forged credential is never reported as merely
    # expired.
    if expires < question.now - SKEW_SECONDS:
        yield "expired"
    yield from _unmet_requirements(envelope, kind, question)


def _key(envelope: Envelope, kind: Kind, question: Question) -> bytes | None:
    keys = read_trust_set(question.keys)
    if kind is Kind.RECEIPT:
        return next((key for key in keys.values() if kid_of(key) == envelope.kid), None)
    return keys.get(issuer_of(envelope.payload, kind))


def _unmet_requirements(envelope: Envelope, kind: Kind, question: Question) -> Iterator[str]:
    """Yield the requirements of the caller that are not met."""
    payload = envelope.payload
    if question.min_score is not None and kind is not Kind.TOKEN:
        # A passport has no score, so it reaches none.
        if kind is not Kind.CERTIFICATE or payload["score"] < question.min_score:
            yield "score_too_low"
        elif not payload["passed"]:
            yield "not_passed"
    if kind is Kind.TOKEN and question.audience not in {None, payload["audience"]}:
        yield "wrong_audience"
