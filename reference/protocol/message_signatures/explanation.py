"""Explain: the same verdict as verify, and what to do about it (profile 6.3, P-AG-07, P-AG-08)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from reference.protocol.message_signatures import base, components
from reference.protocol.message_signatures.algorithms import ALGORITHMS, ED25519
from reference.protocol.message_signatures.fix_notes import FIX_NOTES
from reference.protocol.message_signatures.request import MessageRequest
from reference.protocol.message_signatures.verdict import DIGEST_SPEC, SKEW_SECONDS, SPEC, Judged, judge, result

CITATION = "RFC 9421 section 3.2 (verifying a signature) and RFC 9530 section 2 (Content-Digest)"
NO_KEY_NOTE = "Give public_key_hex or did_key of the expected signer to learn whether the signature holds."

# What signers get wrong most, each as the derived component they made; the note stands when the signature holds so.
MISTAKES: Mapping[str, Mapping[str, Callable[[MessageRequest], str]]] = {
    "The signer put the query inside @path. Sign the path alone as @path and the query as @query"
    " (RFC 9421 sections 2.2.6 and 2.2.7).": {"@path": components.request_target},
    "The signer kept upper case or the scheme's default port in @authority. Lower its case and leave that port out"
    " (RFC 9421 section 2.2.3).": {"@authority": lambda request: request.authority},
    "The signer wrote @method in upper case and the message does not. Sign the method as it is sent"
    " (RFC 9421 section 2.2.1).": {"@method": lambda request: request.method.upper()},
    "The signer wrote @method in lower case. Sign the method as it is sent (RFC 9421 section 2.2.1).": {
        "@method": lambda request: request.method.lower()
    },
}


def explain(request: MessageRequest, *, now: int, skew: int = SKEW_SECONDS) -> dict[str, Any]:
    """Return the explain result: verify's members, a verdict, the digest in detail, and what to do.

    Args:
        request: Message and policy; without a key the verdict is "unverified" and `valid` null.
        now: Unix seconds; the request's own `now` wins.
        skew: Seconds by which clocks may differ (P-CV-09).
    """
    judged = judge(request, now=now, skew=skew)
    shared = result(request, judged)
    notes = list(dict.fromkeys(_notes(request, judged)))
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


def _notes(request: MessageRequest, judged: Judged) -> Iterator[str]:
    codes = [fault.code for fault in judged.faults]
    for code in codes:
        yield FIX_NOTES[code].advice
    if codes == ["signature_mismatch"]:
        yield from _mistakes(request, judged)
    if request.key_bytes() is None:
        yield NO_KEY_NOTE
    yield from _compatibility(judged)


def _mistakes(request: MessageRequest, judged: Judged) -> Iterator[str]:
    key = request.key_bytes()
    if key is None or judged.chosen is None:
        return
    for note, wrong in MISTAKES.items():
        text = base.build(request, judged.fields, judged.chosen, {**components.DERIVED, **wrong}).text
        if text != judged.base and ALGORITHMS[ED25519](key, text.encode("ascii"), judged.chosen.signature):
            yield note


def _compatibility(judged: Judged) -> Iterator[str]:
    covered = () if judged.chosen is None else judged.chosen.components
    for component in covered:
        if judged.chosen is not None and base.is_compatibility_name(judged.fields, judged.chosen, component):
            yield (
                f"{component.identifier} is covered as a component, which is non-standard: it is a signature parameter,"
                " and every signature covers its own. Other verifiers will refuse it; leave it out."
            )


def _clauses(judged: Judged) -> dict[str, str]:
    return {fault.code: FIX_NOTES[fault.code].clause for fault in judged.faults}
