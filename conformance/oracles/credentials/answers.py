"""The members of an addon's answer about a credential, computed from the suite's own judgement (8.2, 8.3)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from conformance.oracles.credentials.envelope import SHAPE
from conformance.oracles.credentials.judging import PROOF_INVALID, UNKNOWN_PROOF_SYSTEM, Judgement
from conformance.oracles.credentials.payload_kinds import issuer_of
from conformance.oracles.hash_recipes import jcs_bytes

NO_TRUST_SET: Final = "no_trust_set"
_UNVERIFIABLE: Final = frozenset({"no_backend", NO_TRUST_SET, "no_public_key", UNKNOWN_PROOF_SYSTEM})
# "payload: the payload when its signature holds, else null". These reasons are found after the signature.
_AFTER_SIGNATURE: Final = frozenset(
    {None, "expired", "score_too_low", "not_passed", "wrong_audience", UNKNOWN_PROOF_SYSTEM, PROOF_INVALID}
)


def status_of(reason: str | None) -> str:
    """Return the status that follows from a reason (8.2)."""
    if reason is None:
        return "active"
    if reason in _UNVERIFIABLE:
        return "unverifiable"
    return "expired" if reason == "expired" else "invalid"


def expected_members(judgement: Judgement) -> dict[str, Any]:
    """Return the members of the answer to a credential by name.

    Members whose value the specification leaves open are missing: `issuer` of a payload that is no credential, and
    `kid` of a text that is JSON and no envelope.
    """
    envelope, kind = judgement.envelope, judgement.kind
    members = {
        **verdict_members(judgement.reason),
        "type": None if kind is None else kind.value,
        "payload": envelope.payload if envelope is not None and judgement.reason in _AFTER_SIGNATURE else None,
        "content_hash": None if envelope is None else envelope.content_hash,
    }
    if envelope is not None or judgement.reason != SHAPE:
        members["kid"] = None if envelope is None else envelope.kid
    if envelope is None and judgement.reason != SHAPE:
        members["issuer"] = None
    if envelope is not None and kind is not None:
        members["issuer"] = issuer_of(envelope.payload, kind)
    return members


def verdict_members(reason: str | None) -> dict[str, Any]:
    """Return `valid`, `status` and `reason` of a verdict."""
    return {"valid": reason is None, "status": status_of(reason), "reason": reason}


def differing_members(body: Mapping[str, Any], expected: Mapping[str, Any], names: Iterable[str] = ()) -> list[str]:
    """Return the names of the members that are missing or have another JSON value, sorted; 5.0 is 5.

    Args:
        body: The answer.
        expected: The expected members.
        names: The members that count; by default all that are expected.
    """
    considered = {*names} & {*expected} if names else {*expected}
    return sorted(name for name in considered if name not in body or not _is_same(body[name], expected[name]))


def _is_same(value: Any, expected: Any) -> bool:
    try:
        # RFC 8785 has one spelling for each JSON value. True is equal to 1 in Python, and not there.
        return bool(jcs_bytes(value) == jcs_bytes(expected))
    except (ValueError, TypeError):
        return False
