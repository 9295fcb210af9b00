"""A judgement as the members of an agent's answer (6.3), for machines."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Final

from conformance.oracles.message_signatures import structured, verify_request_members
from conformance.oracles.message_signatures.algorithms import ED25519, SigningKey, VerifyingKey
from conformance.oracles.message_signatures.digests import DigestReport
from conformance.oracles.message_signatures.judgement import Judgement
from conformance.oracles.message_signatures.keys import did_key
from conformance.oracles.message_signatures.message import Message
from conformance.oracles.message_signatures.notes import CITATION, LINKS, fix_notes
from conformance.oracles.message_signatures.signing import SignedMessage

SPEC: Final = "RFC 9421"
DIGEST_SPEC: Final = "RFC 9530"
_EPHEMERAL_KEY_NOTE: Final = "the key was made for this message and is gone: a demonstration, never a key to trust"
_GIVEN_KEY_NOTE: Final = "signed with the key that was given"
_HOLDS: Final = {"pass": True, "fail": False, "skipped": None}


def verify_answer(judgement: Judgement) -> dict[str, Any]:
    """Return the members of a verify answer."""
    signature = judgement.signature
    coverage = None if signature is None else signature.coverage
    base = None if judgement.base is None else judgement.base.text
    return {
        "valid": judgement.is_valid,
        "errors": [fault.text for fault in judgement.faults],
        "error_codes": [str(fault.code) for fault in judgement.faults],
        "checked": judgement.outcomes,
        "signature_valid": _HOLDS[judgement.outcomes["signature"]],
        "content_digest_valid": _HOLDS[judgement.outcomes["content_digest"]],
        # The family uses both names for the base, and clients read either.
        "signature_base": base,
        "signing_base": base,
        "covered_components": [] if coverage is None else [one.plain for one in coverage.components],
        "parameters": {} if coverage is None else parameters_as_json(dict(coverage.parameters)),
        "label": None if signature is None else signature.label,
        "spec_ref": SPEC,
        "digest_spec_ref": DIGEST_SPEC,
    }


def explain_answer(message: Message, key: VerifyingKey | None, judgement: Judgement) -> dict[str, Any]:
    """Return the members of an explain answer."""
    notes = fix_notes(message, key, judgement)
    return {
        **verify_answer(judgement),
        "verdict": {True: "pass", False: "fail", None: "unverified"}[judgement.is_valid],
        "content_digest": None if judgement.digest is None else digest_member(judgement.digest),
        "fix_notes": notes,
        "diagnosis": notes,
        "links": LINKS,
        "citation": CITATION,
    }


def digest_member(report: DigestReport) -> dict[str, Any]:
    """Return the member `content_digest`."""
    return {
        "present": report.is_present,
        "covered": report.is_covered,
        "algorithm": report.algorithm,
        "provided": report.field_digest,
        "computed": report.content_digest,
        "match": report.match,
    }


def sign_answer(outcome: SignedMessage, key: SigningKey, *, ephemeral: bool) -> dict[str, Any]:
    """Return the members of a sign answer (P-SG-04), which a verifier takes as they stand."""
    message, coverage = outcome.message, outcome.coverage
    public = key.public.material
    raw = public if isinstance(public, bytes) and outcome.algorithm == ED25519 else None
    answer = {
        **verify_request_members.members_of(message),
        "signature_base": outcome.base,
        "signing_base": outcome.base,
        "covered_components": [one.plain for one in coverage.components],
        "parameters": parameters_as_json(dict(coverage.parameters)),
        "label": outcome.label,
        "created": coverage.parameter("created"),
        "keyid": coverage.parameter("keyid"),
        "algorithm": outcome.algorithm,
    }
    if raw is not None:
        answer |= {"public_key_hex": raw.hex(), "did_key": did_key(raw)}
    return {**answer, "ephemeral": ephemeral, "note": _EPHEMERAL_KEY_NOTE if ephemeral else _GIVEN_KEY_NOTE}


def parameters_as_json(parameters: Mapping[str, structured.BareItem]) -> dict[str, Any]:
    """Return parameters as JSON values; what JSON has no type for is its structured text."""
    return {
        name: structured.write_bare(value) if isinstance(value, bytes | Decimal | structured.Token) else value
        for name, value in parameters.items()
    }
