"""ZK receipts: a payment, a commitment to a score, and the proof that the score reaches a threshold (8.4)."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from reference.protocol import falcon
from reference.protocol.credentials import (
    Judgement,
    Keys,
    Question,
    Rule,
    find_inability,
    fits,
    is_text,
    signature_faults,
)
from reference.protocol.envelope import DECODE, SHAPE, Envelope, EnvelopeFault, open_envelope
from reference.protocol.keys import falcon_kid
from reference.protocol.range_proof import SYSTEM, Nonces, Opening, ProofInvalid, Statement, check, commit, prove
from reference.protocol.service_word import ServiceWord
from reference.protocol.time_text import utc_text

TYPE = "zkp_receipt"
VERSION = "1"
CERT_VERSION = "2"
LIFETIME_SECONDS = 30 * 86_400
HIGHEST_SCORE = 1000
LONGEST_PROOF_TEXT = 16_384
NO_PROOF = "proof_invalid"
NO_SYSTEM = "unknown_proof_system"
NOTICE = (
    f"The proof system {SYSTEM} is our own and unaudited. A valid receipt shows that the committed score lies in "
    "[threshold, threshold + 2^64) and that its issuer received that score, or took it from an ATB certificate that it "
    "verified. Nothing shows that the score is true."
)


class ScoreTooLow(ValueError):
    """The score is below the threshold, so no proof is made."""


@dataclass(frozen=True, slots=True)
class Checks:
    """The result of each check: None if it was not reached."""

    envelope: bool | None = None
    signature: bool | None = None
    expiry: bool | None = None
    proof: bool | None = None


@dataclass(frozen=True, slots=True)
class ReceiptJudgement:
    """The verdict on a receipt.

    Attributes:
        judgement: Reason, status and payload, as of any credential.
        refusal: Where the proof was refused, when that is the reason.
    """

    judgement: Judgement
    refusal: ProofInvalid | None = None

    @property
    def checks(self) -> Checks:
        """The result of each check, derived from the reason."""
        # The checks are made in order, so the reason shows which of them passed, which failed and which were not
        # reached.
        reason = self.judgement.reason
        if reason in {"no_backend", "no_trust_set"}:
            return Checks()
        if reason in {DECODE, SHAPE}:
            return Checks(envelope=False)
        if reason in {"no_public_key", "unsupported_alg", "sig_verify_error", "sig_invalid"}:
            return Checks(envelope=True, signature=None if reason == "no_public_key" else False)
        if reason == "timestamp_parse":
            return Checks(envelope=True, expiry=False)
        if reason == "expired":
            return Checks(envelope=True, signature=True, expiry=False)
        proof = {None: True, NO_PROOF: False}.get(reason)
        return Checks(envelope=True, signature=True, expiry=True, proof=proof)


def issuer_did(word: ServiceWord) -> str:
    """Return the DID of every ZK receipt addon of a service word."""
    return f"did:{word.lower}:zkp-receipt"


def build_proven_payload(
    payment: Mapping[str, Any], *, bench_issuer: str, score: int, threshold: int, now: int, ttl: int, nonces: Nonces
) -> dict[str, Any]:
    """Return the payload of a receipt with its proof; the score is not in it.

    Args:
        payment: `payment_id`, `chain`, `amount_microusd`, `recipient`, `tx_id` and `settled_at`.
        bench_issuer: The issuer that claims to have measured the score.
        score: In milliunits, 0 to 1000.
        threshold: In milliunits, 0 to 1000.
        now: Unix seconds.
        ttl: Seconds that the receipt holds.
        nonces: Fresh ones.

    Raises:
        ScoreTooLow: The score is below the threshold.
    """
    if score < threshold:
        raise ScoreTooLow("the score is below the threshold")
    commitment = commit(Opening(score, nonces.blinding))
    payload = {
        "type": TYPE,
        "version": VERSION,
        **{name: payment[name] for name in _PAYMENT},
        "atb_cert_version": CERT_VERSION,
        "bench_issuer": bench_issuer,
        "commitment_b64": base64.b64encode(commitment).decode(),
        "threshold_milliunits": threshold,
        "proof_system": SYSTEM,
        "issued_at": utc_text(now),
        "expires_at": utc_text(now + ttl),
    }
    proof = prove(Statement.of(payload), score, nonces)
    return {**payload, "proof_b64": base64.b64encode(proof).decode()}


def judge_receipt(
    text: str, question: Question, keys: Keys, library: falcon.Library | None, *, own_keys: Sequence[bytes]
) -> ReceiptJudgement:
    """Return the verdict on a receipt, by the checks of specification 8.2 in their order and then by its proof.

    Args:
        text: The receipt.
        question: When it must hold.
        keys: The trust set.
        library: Does Falcon's arithmetic, or None.
        own_keys: Published keys of this addon, which go before those of the trust set.
    """
    if (inability := find_inability(keys, library)) is not None or keys is None or library is None:
        return ReceiptJudgement(Judgement(inability))
    try:
        envelope = open_envelope(text)
    except EnvelopeFault as fault:
        return ReceiptJudgement(Judgement(fault.reason))
    # P-AD-08: the type is checked first, so that no other envelope passes for a receipt.
    if envelope.payload.get("type") != TYPE or not fits(envelope.payload, _MEMBERS):
        return ReceiptJudgement(Judgement(SHAPE, envelope))
    # The key is chosen by `kid` alone. `bench_issuer` is data and never chooses a key (8.4). Own keys come last
    # here, so they replace a key of the trust set with the same `kid`.
    key_by_kid = {falcon_kid(key): key for key in (*keys.values(), *own_keys)}
    reason = next(_faults(envelope, question, key_by_kid, library), None)
    # The proof goes last: an unsigned receipt is not worth 149 multiplications (decision 0028).
    refusal = None if reason is not None else refusal_of(envelope.payload)
    return ReceiptJudgement(Judgement(reason if refusal is None else NO_PROOF, envelope, TYPE), refusal)


def refusal_of(payload: Mapping[str, Any]) -> ProofInvalid | None:
    """Return the stage at which the proof of a payload is refused, or None if it is right."""
    try:
        check(Statement.of(payload), base64.b64decode(payload["proof_b64"], validate=True))
    except ProofInvalid as refusal:
        return refusal
    return None


def _faults(
    envelope: Envelope, question: Question, key_by_kid: Mapping[str, bytes], library: falcon.Library
) -> Iterator[str]:
    if envelope.alg != falcon.ALGORITHM:
        yield "unsupported_alg"
    key = key_by_kid.get(envelope.kid)
    if key is None:
        yield "no_public_key"
        return
    yield from signature_faults(envelope, key, (envelope.kid,), library, question)
    # "unverifiable" and not "invalid": a receipt without this member has the deployed proof system, which this
    # addon cannot judge.
    if envelope.payload.get("proof_system") != SYSTEM:
        yield NO_SYSTEM


def _is(expected_value: str) -> Rule:
    return lambda value: value == expected_value


def _is_amount(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_threshold(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= HIGHEST_SCORE


def _decode_base64(value: object) -> bytes | None:
    """Return what padded standard base64 of one spelling holds (P-CV-06)."""
    try:
        data = base64.b64decode(value, validate=True) if isinstance(value, str) else None
    except (binascii.Error, ValueError):
        return None
    return data if data is not None and base64.b64encode(data).decode() == value else None


def _is_commitment(value: object) -> bool:
    data = _decode_base64(value)
    return data is not None and len(data) == 32


def _is_proof(value: object) -> bool:
    return isinstance(value, str) and len(value) <= LONGEST_PROOF_TEXT and _decode_base64(value) is not None


_PAYMENT: Mapping[str, Rule] = {
    "payment_id": is_text,
    "chain": is_text,
    "amount_microusd": _is_amount,
    "recipient": is_text,
    "tx_id": is_text,
    "settled_at": is_text,
}
_MEMBERS: Mapping[str, Rule] = {
    **_PAYMENT,
    "version": _is(VERSION),
    "atb_cert_version": _is(CERT_VERSION),
    "bench_issuer": is_text,
    "commitment_b64": _is_commitment,
    "proof_b64": _is_proof,
    "threshold_milliunits": _is_threshold,
    "issued_at": is_text,
    "expires_at": is_text,
}
