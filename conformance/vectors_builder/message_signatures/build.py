"""Drafts made vectors: each judged by the suite, its equation and its verdict compared with two other libraries."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from conformance.oracles.message_signatures import judgement, members
from conformance.oracles.message_signatures.judgement import Judgement
from conformance.vectors_builder.message_signatures import (
    appendix_b,
    bad_algorithms,
    bad_coverage,
    bad_digests,
    bad_equations,
    bad_headers,
    bad_parameters,
    second_opinion,
    valid,
    valid_offline,
)
from conformance.vectors_builder.message_signatures.differences import DIFFERENCES
from conformance.vectors_builder.message_signatures.drafting import Draft

FORMAT: Final = "weldproof-message-signatures/1"
# A vector whose policy names no time must be judged alike at any time after it was made.
NOW: Final = 1_800_000_000
_PARTS: Final = {
    "rfc.json": (appendix_b,),
    "valid.json": (valid,),
    "valid_offline.json": (valid_offline,),
    "headers.json": (bad_headers,),
    "coverage.json": (bad_coverage,),
    "parameters_and_keys.json": (bad_parameters,),
    "digests.json": (bad_digests,),
    "equations.json": (bad_equations, bad_algorithms),
}


class BuildFault(Exception):
    """A draft that is not what its author says, or on which libraries differ without a written reason."""


def build() -> dict[str, bytes]:
    """Return every file of the family by name.

    Raises:
        BuildFault: A draft is wrong.
    """
    unused = set(DIFFERENCES)
    files = {}
    for name, parts in _PARTS.items():
        drafts = [draft for part in parts for draft in part.drafts()]
        vectors = [vector(draft, unused) for draft in drafts]
        document = {"format": FORMAT, "vectors": vectors}
        files[name] = (json.dumps(document, ensure_ascii=True, indent=1) + "\n").encode("ascii")
    if unused:
        raise BuildFault(f"libraries do not differ, or there is no such vector: {', '.join(sorted(unused))}")
    return files


def vector(draft: Draft, unused: set[str]) -> dict[str, Any]:
    """Return a draft as a vector; what it differs on is taken off `unused`.

    Raises:
        BuildFault: The suite judges it otherwise than meant, or another library does without a written reason.
    """
    found = judged(draft.message, draft.key, draft.policy)
    if set(found.codes) != set(draft.codes) or len(found.codes) != len(draft.codes):
        raise BuildFault(f"{draft.id}: meant {list(draft.codes)}, found {found.faults}")
    for complaint in _complaints(draft, found):
        if draft.id not in DIFFERENCES:
            raise BuildFault(f"{draft.id}: {complaint}")
        unused.discard(draft.id)
    base = None if found.base is None else found.base.text
    pins = [*draft.pins, *_of_form(draft.message)]
    pinned = [*(["valid"] if pins else []), *([] if found.valid else ["step", "codes"])]
    return {
        "id": draft.id,
        "kind": draft.kind,
        "requirements": list(draft.requirements),
        "message": draft.message,
        "key": dict(draft.key),
        "policy": dict(draft.policy),
        "expected": {
            "valid": bool(found.valid),
            "step": draft.codes[0].step if draft.codes else None,
            "codes": list(draft.codes),
            "signature_base": base,
        },
        "pinned": pinned,
        "pins": pins,
        "doors": list(draft.doors),
        "fault": draft.fault,
        "origin": draft.origin,
        "why": draft.why,
    }


def _of_form(message: Mapping[str, Any]) -> Iterator[str]:
    """Yield the clauses that a message's form rests on: another agent may take it for no request at all."""
    values = message["headers"].values()
    if any(isinstance(value, list) for value in values):
        yield "profile 6.2 headers as arrays"
    if "status" in message:
        yield "profile 6.2 status"
    if not message["path"].startswith("/"):
        yield "profile 6.2 path, empty too"
    text = "".join(value for value in values if isinstance(value, str))
    if not text.isascii() or any(letter < " " and letter != "\t" for letter in text):
        yield "profile 6.2 headers of any text"


def judged(message: Mapping[str, Any], key: Mapping[str, str], policy: Mapping[str, Any]) -> Judgement:
    """Return the suite's judgement of a vector's members."""
    return judgement.judge(
        members.message_of(message), members.key_of(key), members.policy_of(policy), now=policy.get("now", NOW)
    )


def _complaints(draft: Draft, found: Judgement) -> Iterator[str]:
    """Yield what another library says otherwise."""
    whole = second_opinion.whole_message(draft.message, draft.key, draft.policy)
    if whole is not None and whole is not found.valid:
        yield f"http-message-signatures says {whole}, the suite says {found.valid}"
    text = None if found.base is None else found.base.text
    outcome = found.checked["signature"]
    if text is not None and found.labelled is not None and outcome != "skipped":
        holds = second_opinion.equation(draft.key, found.labelled.signature, text)
        if holds is not (outcome == "pass"):
            yield f"the equation: PyCryptodome says {holds}, the suite says {outcome}"
