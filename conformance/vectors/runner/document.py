"""Result document of a run, written and read as JSON; its published schema is result.schema.json in this folder."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Final

from conformance.oracles.json_schema import Schema
from conformance.oracles.strict_json import JsonTextFault, strict_json
from conformance.text.json_safe import json_safe
from conformance.text.target_text_escaping import shorten
from conformance.vectors.runner.conclusion import Conclusion
from conformance.vectors.runner.judging import Outcome, Result
from conformance.vectors.runner.running import Plan

FORMAT: Final = "weldproof-vectors-result/1"
# The longest text of a verifier that is repeated.
_LONGEST_TEXT: Final = 4_000
# A verifier's answer is repeated in the document, so its size is bounded.
_MOST_CODES: Final = 20


class DocumentFault(ValueError):
    """A document that is not the result of a run; the text contains the reason."""


@dataclass(frozen=True, slots=True)
class ResultLine:
    """One vector's line of a result document.

    Attributes:
        id: The vector.
        family: Its family.
        kind: Its stage and fault.
        outcome: Its outcome.
        pinned: Whether the disagreement is about something that only the profile decides.
        detail: A sentence; empty for an agreement.
        explained: The written reason, if any.
    """

    id: str
    family: str
    kind: str
    outcome: Outcome
    pinned: bool
    detail: str
    explained: str | None


@dataclass(frozen=True, slots=True)
class Document:
    """The parts of a result document that the comparison needs.

    Attributes:
        verifier: Name and version of the verifier's greeting.
        vectors_version: Version of the package.
        exit_code: The exit code of the run.
        sentence: The run in a sentence.
        results: A line for each vector.
    """

    verifier: str
    vectors_version: str
    exit_code: int
    sentence: str
    results: tuple[ResultLine, ...]


@cache
def schema() -> Mapping[str, Any]:
    """Return the published JSON Schema of a result document."""
    document: Mapping[str, Any] = json.loads(files(__package__).joinpath("result.schema.json").read_text("utf-8"))
    return document


def write_document(conclusion: Conclusion, plan: Plan, vectors_version: str) -> bytes:
    """Return a run as a document: ASCII, members in a fixed order, vectors in the order of the package."""
    # ASCII, so that a terminal or a diff shows the same bytes whatever a verifier answered.
    return json.dumps(json_safe(_value(conclusion, plan, vectors_version)), allow_nan=False, indent=1).encode() + b"\n"


def _value(conclusion: Conclusion, plan: Plan, vectors_version: str) -> dict[str, Any]:
    verifier_run = conclusion.run
    failing_ids = {result.vector.id for result in conclusion.unexplained_results}
    return {
        "format": FORMAT,
        "vectors_version": vectors_version,
        "verifier": verifier_run.hello.verifier,
        "families": list(verifier_run.hello.families),
        "command": list(plan.command),
        "seed": plan.seed,
        "profile": conclusion.profile,
        "exit_code": int(conclusion.exit_code),
        "sentence": conclusion.sentence,
        "remarks": list(conclusion.remarks),
        "starts": verifier_run.starts,
        "interrupted": verifier_run.interrupted,
        "counts": {
            family: {outcome.value: count for outcome, count in counts.items()}
            for family, counts in conclusion.counts.items()
        },
        "rotten": [
            {"about": result.explanation.subject, "result": result.explanation.outcome.value, "detail": result.detail}
            for result in conclusion.rotten
        ],
        "results": [
            _result_as_json(result, conclusion.reasons, counts=result.vector.id in failing_ids)
            for result in verifier_run.results
        ],
    }


def _result_as_json(result: Result, reasons: Mapping[str, str], *, counts: bool) -> dict[str, Any]:
    vector, answer = result.vector, result.answer
    return {
        "id": vector.id,
        "family": vector.family,
        "kind": vector.kind,
        "result": result.outcome.value,
        "pinned": result.pinned,
        "counts": counts,
        "explained": reasons.get(vector.id),
        "detail": shorten(result.detail, _LONGEST_TEXT),
        "told": None
        if answer is None
        else {
            "verdict": answer.verdict,
            "stage": None if answer.stage is None else shorten(answer.stage, _LONGEST_TEXT),
            "codes": [shorten(code, _LONGEST_TEXT) for code in answer.codes[:_MOST_CODES]],
            "values": {name: _shorten_value(value) for name, value in answer.values.items()},
            "why": answer.why,
        },
    }


def _shorten_value(value: Any) -> Any:
    return shorten(value, _LONGEST_TEXT) if isinstance(value, str) else value


def read(raw: bytes) -> Document:
    """Return a result document.

    Raises:
        DocumentFault: It is not a result document.
    """
    try:
        value = strict_json(raw)
    except JsonTextFault as fault:
        raise DocumentFault(str(fault)) from fault
    # Judged by the published schema, so that the code and the schema cannot differ.
    for path, words in _load_schema().faults(value):
        place = "/".join(map(str, path)) or "the document"
        raise DocumentFault(f"no result of `weldproof vectors run`: {place}: {words[:200]}")
    return Document(
        value["verifier"],
        value["vectors_version"],
        value["exit_code"],
        value["sentence"],
        tuple(_line(one) for one in value["results"]),
    )


@cache
def _load_schema() -> Schema:
    return Schema(schema())


def _line(entry: Mapping[str, Any]) -> ResultLine:
    return ResultLine(
        entry["id"],
        entry["family"],
        entry["kind"],
        Outcome(entry["result"]),
        entry["pinned"],
        entry["detail"],
        entry["explained"],
    )
