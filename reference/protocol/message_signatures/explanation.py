"""Explain: the verdict of verify with notes on how to fix the message (6.3, P-AG-07, P-AG-08)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from reference.protocol.message_signatures import base
from reference.protocol.message_signatures.algorithms import ED25519
from reference.protocol.message_signatures.diagnosis import SUSPICIONS, Case, Suspicion, fields, find_proven_note, keys
from reference.protocol.message_signatures.diagnosis.coverage_notes import coverage_notes
from reference.protocol.message_signatures.diagnosis.digest_notes import digest_notes
from reference.protocol.message_signatures.diagnosis.header_notes import header_notes
from reference.protocol.message_signatures.diagnosis.policy_notes import policy_notes
from reference.protocol.message_signatures.faults import COVERAGE, DIGEST, HEADERS, PARAMETERS
from reference.protocol.message_signatures.fix_notes import FIX_NOTES
from reference.protocol.message_signatures.request import MessageRequest
from reference.protocol.message_signatures.verdict import DIGEST_SPEC, SKEW_SECONDS, SPEC, MessageVerdict, judge, result

CITATION = "RFC 9421 section 3.2 (verifying a signature) and RFC 9530 section 2 (Content-Digest)"
NO_KEY_NOTE = "Give public_key_hex or did_key of the expected signer to learn whether the signature holds."
NOT_PROVEN_NOTE = (
    "None of the usual changes to target, fields, form, encoding or key, made one at a time, makes the signature hold:"
    " it is of another key, or of a message that differs in more than one of these."
)


def explain(request: MessageRequest, *, now: int, skew: int = SKEW_SECONDS) -> dict[str, Any]:
    """Return the explain result: verify's members, a verdict, the digest in detail, and notes.

    Args:
        request: Message and policy; without a key the verdict is "unverified" and `valid` null.
        now: Unix seconds; the request's own `now` wins.
        skew: Seconds by which clocks may differ (P-CV-09).
    """
    verdict = judge(request, now=now, skew=skew)
    common_members = result(request, verdict)
    moment = now if request.now is None else request.now
    notes = list(dict.fromkeys(_notes(request, verdict, moment, skew)))
    digest = verdict.digest
    return {
        **common_members,
        "verdict": {True: "pass", False: "fail", None: "unverified"}[common_members["valid"]],
        "content_digest": {
            "present": digest.present,
            "covered": digest.is_covered,
            "algorithm": digest.algorithm,
            "provided": digest.provided_digest,
            "computed": digest.computed_digest,
            "match": digest.match,
        },
        "fix_notes": notes,
        "diagnosis": notes,
        "links": {"rfc9421": SPEC, "rfc9530": DIGEST_SPEC, **_clauses(verdict)},
        "citation": CITATION,
    }


def _notes(request: MessageRequest, verdict: MessageVerdict, now: int, skew: int) -> Iterator[str]:
    for code in dict.fromkeys(verdict.codes):
        yield FIX_NOTES[code].advice
        yield from _notes_on_fault(request, verdict, code, now, skew)
    yield from _notes_on_equation(request, verdict)
    if request.key_bytes() is None:
        yield NO_KEY_NOTE
    yield from _notes_on_compatibility(verdict)


def _notes_on_fault(request: MessageRequest, verdict: MessageVerdict, code: str, now: int, skew: int) -> Iterator[str]:
    """Yield notes about this message in addition to the general advice for its fault."""
    signature_input = verdict.signature_input
    if code in HEADERS:
        yield from header_notes(code, verdict.message, request.expected_key(), request.label)
    elif code in DIGEST:
        yield from digest_notes(code, verdict.message, verdict.digest)
    elif code in PARAMETERS and signature_input is not None:
        yield from policy_notes(code, request, signature_input.parameters, algorithm=ED25519, now=now, skew=skew)
    elif code in COVERAGE and signature_input is not None and verdict.base is not None:
        yield from coverage_notes(verdict.message, signature_input, verdict.base)


def _notes_on_equation(request: MessageRequest, verdict: MessageVerdict) -> Iterator[str]:
    """Yield the change that makes the signature hold, if one change does (P-AG-08)."""
    key, signature_input, signature_base = request.expected_key(), verdict.signature_input, verdict.base
    if key is None or signature_input is None or signature_base is None:
        return
    # The verdict is final before this point. A note explains a message and never makes it valid (P-AG-08).
    case = Case(verdict.message, signature_input, signature_base, key)
    if "signature_mismatch" in verdict.codes:
        yield find_proven_note(case, SUSPICIONS) or NOT_PROVEN_NOTE
        return
    suspicions: tuple[Suspicion, ...] = ()
    if [fault.code for fault in signature_base.faults] == ["missing_component"]:
        # The signature may hold with the field that is missing, so that something on the way removed it.
        suspicions = (fields.missing_fields,)
    elif "key_rejected" in verdict.codes and not signature_base.faults:
        suspicions = (keys.forms, keys.named_keys)
    note = find_proven_note(case, suspicions)
    if note is not None:
        yield note


def _notes_on_compatibility(verdict: MessageVerdict) -> Iterator[str]:
    signature_input = verdict.signature_input
    if signature_input is None:
        return
    for component in signature_input.components:
        if base.is_compatibility_name(verdict.message, signature_input, component):
            yield (
                f"{component.identifier} is covered as a component, which is non-standard: it is a signature parameter,"
                " and every signature covers its own. Other verifiers will refuse it; leave it out."
            )


def _clauses(verdict: MessageVerdict) -> dict[str, str]:
    return {fault.code: FIX_NOTES[fault.code].clause for fault in verdict.faults}
