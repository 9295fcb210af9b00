"""The vectors of canonical JSON: judged, stable under their rule, and enough to tell broken writers from good ones."""

from __future__ import annotations

import base64
import hashlib
import json
import struct
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest
import rfc8785

from conformance import vectors
from conformance.vectors.judges.canonical_json import judge
from tools.vectors_builder.canonical_json import FAMILY, second_opinion
from tools.vectors_builder.family import BuildFault

FOLDER = Path(vectors.__file__).parent / "canonical_json"
ALL_VECTORS = [one for path in sorted(FOLDER.glob("*.json")) for one in json.loads(path.read_text("ascii"))["vectors"]]
HOLDING = [one for one in ALL_VECTORS if one["expected"]["valid"]]


def text_of(vector: Mapping[str, Any]) -> bytes:
    return base64.b64decode(vector["input"]["json_b64"])


def form_of(vector: Mapping[str, Any]) -> bytes:
    return base64.b64decode(vector["expected"]["values"]["canonical_b64"])


@pytest.mark.parametrize("vector", ALL_VECTORS, ids=lambda vector: vector["id"])
def test_the_judge_says_what_is_expected(vector: dict[str, Any]) -> None:
    """Verdict, stage, code and every value."""
    verdict, expected_verdict = judge(vector["input"]), vector["expected"]
    assert (expected_verdict["valid"], expected_verdict["stage"], expected_verdict["codes"]) == (
        verdict.valid,
        verdict.stage,
        list(verdict.codes),
    )
    assert expected_verdict["values"].items() <= verdict.values.items()


@pytest.mark.parametrize("vector", HOLDING, ids=lambda vector: vector["id"])
def test_a_canonical_form_means_the_same_and_is_its_own(vector: dict[str, Any]) -> None:
    """Python reads the same value from it, the hash is of it, and it is the form of itself.

    Not where a whole number beyond 2^53 - 1 has lost its exponent: read again, it is an integer (P-CV-20).
    """
    form = form_of(vector)
    assert json.loads(text_of(vector)) == json.loads(form, parse_int=float)
    assert vector["expected"]["values"]["sha256"] == hashlib.sha256(form).hexdigest()
    again = judge({"json_b64": base64.b64encode(form).decode()})
    large = isinstance(number := json.loads(form), int) and abs(number) > 2**53 - 1
    assert (
        (form_of(vector) == base64.b64decode(again.values["canonical_b64"])) if not large else again.stage == "number"
    )


def test_the_table_of_the_rfc_is_whole() -> None:
    """Every row of appendix B is there, and its text is read as the row's bits."""
    rows = [vector for vector in ALL_VECTORS if vector["origin"] == "RFC 8785 B"]
    assert len(rows) == 26
    for vector in rows:
        if vector["expected"]["valid"]:
            assert vector["id"].rpartition("/")[2] == struct.pack(">d", float(text_of(vector))).hex()


def _by_code_point(data: bytes) -> bytes:
    return json.dumps(json.loads(data), sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def _last_wins(data: bytes) -> bytes:
    return rfc8785.dumps(orjson.loads(data))


def _lenient(data: bytes) -> bytes:
    return rfc8785.dumps(json.loads(data.decode("utf-8-sig", "replace")))


BROKEN: dict[str, Callable[[bytes], bytes]] = {
    "gives back what came": bytes,
    "sorts by code point and writes numbers as Python": _by_code_point,
    "escapes what is not ASCII": lambda data: json.dumps(
        json.loads(data), sort_keys=True, separators=(",", ":")
    ).encode(),
    "does not sort": lambda data: orjson.dumps(orjson.loads(data)),
    "lets the last of two members win": _last_wins,
    "drops marks and replaces bad bytes": _lenient,
}


@pytest.mark.parametrize("broken", BROKEN.values(), ids=BROKEN)
def test_a_broken_writer_is_told_from_a_good_one(broken: Callable[[bytes], bytes]) -> None:
    """Some vector has another form, or a form where none is to be."""
    wrong = []
    for vector in ALL_VECTORS:
        try:
            verdict = broken(text_of(vector))
        except (ValueError, RecursionError):
            verdict = None
        if verdict != (form_of(vector) if vector["expected"]["valid"] else None):
            wrong.append(vector["id"])
    assert wrong


def test_digits_searched_for_are_the_shortest() -> None:
    """The third opinion on numbers writes what ECMA-262 shows, and differs from Python where it must."""
    shown_digits = {
        0.1: "0.1",
        -1e21: "-1e+21",
        123e18: "123000000000000000000",
        1.5e-7: "1.5e-7",
        1e-6: "0.000001",
        2.5: "2.5",
    }
    assert list(shown_digits.values()) == [second_opinion.by_search(number) for number in shown_digits]


def test_a_draft_that_lies_stops_the_build() -> None:
    """Another form, another stage, or a text that Node was never asked about."""
    draft = next(vector for vector in FAMILY.drafts() if vector.name == "valid/zero/minus-as-an-integer")
    for lie in (
        replace(draft, values={**draft.values, "canonical_b64": base64.b64encode(b"-0").decode()}),
        replace(draft, stage="number", fault="It lies.", values={}),
        replace(draft, input={"json_b64": base64.b64encode(b" -0").decode()}),
    ):
        with pytest.raises(BuildFault):
            FAMILY.vector(lie, set())


def test_a_library_that_says_otherwise_stops_the_build(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether it is a writer, Node, or the search for digits."""
    draft = next(vector for vector in FAMILY.drafts() if vector.name == "valid/shortest/tenth")
    assert FAMILY.vector(draft, set())["id"] == "jcs/valid/shortest/tenth"
    for name, answer in (("by_rfc8785", None), ("by_node", b"1e-1"), ("by_search", "1e-1")):
        with monkeypatch.context() as patch:
            patch.setattr(second_opinion, name, lambda *_, answer=answer: answer)
            with pytest.raises(BuildFault, match="not"):
                FAMILY.vector(draft, set())
