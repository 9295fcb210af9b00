"""A judgement as the members of an agent's answer (6.3), for machines."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Final

from conformance.oracles.message_signatures import members, structured
from conformance.oracles.message_signatures.algorithms import ED25519, SigningKey, VerifyingKey
from conformance.oracles.message_signatures.digests import DigestReport
from conformance.oracles.message_signatures.judgement import Judgement
from conformance.oracles.message_signatures.keys import did_key
from conformance.oracles.message_signatures.message import Message
from conformance.oracles.message_signatures.notes import CITATION, LINKS, fix_notes
from conformance.oracles.message_signatures.signing import Signed

SPEC: Final = "RFC 9421"
DIGEST_SPEC: Final = "RFC 9530"
_THROWN_AWAY: Final = "the key was made for this message and is gone: a demonstration, never a key to trust"
_KEPT: Final = "signed with the key that was given"
_HOLDS: Final = {"pass": True, "fail": False, "skipped": None}


def verified(judgement: Judgement) -> dict[str, Any]:
    """Return the members of a verify answer."""
    labelled = judgement.labelled
    covered = None if labelled is None else labelled.covered
    base = None if judgement.base is None else judgement.base.text
    return {
        "valid": judgement.valid,
        "errors": [fault.text for fault in judgement.faults],
        "error_codes": [str(fault.code) for fault in judgement.faults],
        "checked": judgement.checked,
        "signature_valid": _HOLDS[judgement.checked["signature"]],
        "content_digest_valid": _HOLDS[judgement.checked["content_digest"]],
        "signature_base": base,
        "signing_base": base,
        "covered_components": [] if covered is None else [one.plain for one in covered.components],
        "parameters": {} if covered is None else shown(dict(covered.parameters)),
        "label": None if labelled is None else labelled.label,
        "spec_ref": SPEC,
        "digest_spec_ref": DIGEST_SPEC,
    }


def explained(message: Message, key: VerifyingKey | None, judgement: Judgement) -> dict[str, Any]:
    """Return the members of an explain answer."""
    notes = fix_notes(message, key, judgement)
    return {
        **verified(judgement),
        "verdict": {True: "pass", False: "fail", None: "unverified"}[judgement.valid],
        "content_digest": None if judgement.digest is None else digest(judgement.digest),
        "fix_notes": notes,
        "diagnosis": notes,
        "links": LINKS,
        "citation": CITATION,
    }


def digest(report: DigestReport) -> dict[str, Any]:
    """Return the member `content_digest`."""
    return {
        "present": report.present,
        "covered": report.covered,
        "algorithm": report.algorithm,
        "provided": report.provided,
        "computed": report.computed,
        "match": report.match,
    }


def signed(made: Signed, key: SigningKey, *, ephemeral: bool) -> dict[str, Any]:
    """Return the members of a sign answer (P-SG-04), which a verifier takes as they stand."""
    message, covered = made.message, made.covered
    public = key.public.material
    raw = public if isinstance(public, bytes) and made.algorithm == ED25519 else None
    described = {
        **members.members_of(message),
        "signature_base": made.base,
        "signing_base": made.base,
        "covered_components": [one.plain for one in covered.components],
        "parameters": shown(dict(covered.parameters)),
        "label": made.label,
        "created": covered.parameter("created"),
        "keyid": covered.parameter("keyid"),
        "algorithm": made.algorithm,
    }
    if raw is not None:
        described |= {"public_key_hex": raw.hex(), "did_key": did_key(raw)}
    return {**described, "ephemeral": ephemeral, "note": _THROWN_AWAY if ephemeral else _KEPT}


def shown(parameters: Mapping[str, structured.BareItem]) -> dict[str, Any]:
    """Return parameters as JSON values; what JSON has no type for is its structured text."""
    return {
        name: structured.write_bare(value) if isinstance(value, bytes | Decimal | structured.Token) else value
        for name, value in parameters.items()
    }
