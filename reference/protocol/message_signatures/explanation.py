"""Explain: the same verdict as verify, and what to do about it (6.3, P-AG-07, P-AG-08)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from reference.protocol.message_signatures import base
from reference.protocol.message_signatures.algorithms import ED25519
from reference.protocol.message_signatures.diagnosis import SUSPICIONS, Case, Suspicion, fields, keys, proven
from reference.protocol.message_signatures.diagnosis.coverage_notes import coverage_notes
from reference.protocol.message_signatures.diagnosis.digest_notes import digest_notes
from reference.protocol.message_signatures.diagnosis.header_notes import header_notes
from reference.protocol.message_signatures.diagnosis.policy_notes import policy_notes
from reference.protocol.message_signatures.faults import COVERAGE, DIGEST, HEADERS, PARAMETERS
from reference.protocol.message_signatures.fix_notes import FIX_NOTES
from reference.protocol.message_signatures.request import MessageRequest
from reference.protocol.message_signatures.verdict import DIGEST_SPEC, SKEW_SECONDS, SPEC, Judged, judge, result

CITATION = "RFC 9421 section 3.2 (verifying a signature) and RFC 9530 section 2 (Content-Digest)"
NO_KEY_NOTE = "Give public_key_hex or did_key of the expected signer to learn whether the signature holds."
NOT_PROVEN_NOTE = (
    "None of the usual changes to target, fields, form, encoding or key, made one at a time, makes the signature hold:"
    " it is of another key, or of a message that differs in more than one of these."
)


def explain(request: MessageRequest, *, now: int, skew: int = SKEW_SECONDS) -> dict[str, Any]:
    """Return the explain result: verify's members, a verdict, the digest in detail, and what to do.

    Args:
        request: Message and policy; without a key the verdict is "unverified" and `valid` null.
        now: Unix seconds; the request's own `now` wins.
        skew: Seconds by which clocks may differ (P-CV-09).
    """
    judged = judge(request, now=now, skew=skew)
    shared = result(request, judged)
    moment = now if request.now is None else request.now
    notes = list(dict.fromkeys(_notes(request, judged, moment, skew)))
    digest = judged.digest
    return {
        **shared,
        "verdict": {True: "pass", False: "fail", None: "unverified"}[shared["valid"]],
        "content_digest": {
            "present": digest.present,
            "covered": digest.covered,
            "algorithm": digest.algorithm,
            "provided": digest.provided,
            "computed": digest.computed,
            "match": digest.match,
        },
        "fix_notes": notes,
        "diagnosis": notes,
        "links": {"rfc9421": SPEC, "rfc9530": DIGEST_SPEC, **_clauses(judged)},
        "citation": CITATION,
    }


def _notes(request: MessageRequest, judged: Judged, now: int, skew: int) -> Iterator[str]:
    for code in dict.fromkeys(judged.codes):
        yield FIX_NOTES[code].advice
        yield from _particular(request, judged, code, now, skew)
    yield from _of_the_equation(request, judged)
    if request.key_bytes() is None:
        yield NO_KEY_NOTE
    yield from _compatibility(judged)


def _particular(request: MessageRequest, judged: Judged, code: str, now: int, skew: int) -> Iterator[str]:
    """Yield what can be said about this one message beyond the advice for its fault."""
    chosen = judged.chosen
    if code in HEADERS:
        yield from header_notes(code, judged.message, request.expected_key(), request.label)
    elif code in DIGEST:
        yield from digest_notes(code, judged.message, judged.digest)
    elif code in PARAMETERS and chosen is not None:
        yield from policy_notes(code, request, chosen.parameters, algorithm=ED25519, now=now, skew=skew)
    elif code in COVERAGE and chosen is not None and judged.base is not None:
        yield from coverage_notes(judged.message, chosen, judged.base)


def _of_the_equation(request: MessageRequest, judged: Judged) -> Iterator[str]:
    """Yield what makes the signature hold, when one change does: the result stays negative (P-AG-08)."""
    key, chosen, built = request.expected_key(), judged.chosen, judged.base
    if key is None or chosen is None or built is None:
        return
    case = Case(judged.message, chosen, built, key)
    if "signature_mismatch" in judged.codes:
        yield proven(case, SUSPICIONS) or NOT_PROVEN_NOTE
        return
    suspicions: tuple[Suspicion, ...] = ()
    if [fault.code for fault in built.faults] == ["missing_component"]:
        suspicions = (fields.missing,)
    elif "key_rejected" in judged.codes and not built.faults:
        suspicions = (keys.forms, keys.named)
    note = proven(case, suspicions)
    if note is not None:
        yield note


def _compatibility(judged: Judged) -> Iterator[str]:
    covered = () if judged.chosen is None else judged.chosen.components
    for component in covered:
        if judged.chosen is not None and base.is_compatibility_name(judged.message, judged.chosen, component):
            yield (
                f"{component.identifier} is covered as a component, which is non-standard: it is a signature parameter,"
                " and every signature covers its own. Other verifiers will refuse it; leave it out."
            )


def _clauses(judged: Judged) -> dict[str, str]:
    return {fault.code: FIX_NOTES[fault.code].clause for fault in judged.faults}
