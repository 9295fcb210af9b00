"""The vectors of audit logs: judged, whole up to the fault, and enough to tell broken verifiers from good ones."""

from __future__ import annotations

import hashlib
import hmac
import json
import operator
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import rfc8785

from conformance import vectors
from conformance.oracles.audit_chain import Kind
from conformance.vectors.judges.audit_chains import judge
from tools.vectors_builder.audit_chains import FAMILY, second_opinion
from tools.vectors_builder.family import BuildFault

VectorInput = Mapping[str, Any]
FOLDER = Path(vectors.__file__).parent / "audit_chains"
ALL_VECTORS = [one for path in sorted(FOLDER.glob("*.json")) for one in json.loads(path.read_text("ascii"))["vectors"]]
HOLDING = [one for one in ALL_VECTORS if one["expected"]["valid"]]
PLACED_VECTORS = [one for one in ALL_VECTORS if "place" in one["expected"]["values"]]


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
def test_a_whole_log_is_refused_with_any_entry_changed(vector: dict[str, Any]) -> None:
    """Each entry with another time, and the log with another key."""
    question = vector["input"]
    for place, entry in enumerate(question["entries"]):
        changed_entries = [*question["entries"]]
        changed_entries[place] = {**entry, "ts_ms": entry["ts_ms"] + 1}
        verdict = judge({**question, "entries": changed_entries})
        assert (False, place, entry["seq"]) == (verdict.valid, verdict.values["place"], verdict.values["seq"])
    if question["entries"]:
        assert not judge({**question, "key_hex": "00" * 32}).valid


@pytest.mark.parametrize("vector", PLACED_VECTORS, ids=lambda vector: vector["id"])
def test_a_log_is_whole_before_its_first_fault(vector: dict[str, Any]) -> None:
    """The entries before the reported place hold, without the head."""
    question, place = vector["input"], vector["expected"]["values"]["place"]
    assert judge({**question, "entries": question["entries"][:place], "head": None}).valid


def test_every_kind_of_fault_is_there() -> None:
    """The stages are the suite's own kinds."""
    assert {kind.value for kind in Kind} == set(FAMILY.stages)


def _walk(
    question: VectorInput,
    *,
    covers: Callable[[dict[str, Any]], bytes] = rfc8785.dumps,
    is_same: Callable[[str, str], bool] = operator.eq,
    numbers: bool = True,
    links: bool = True,
    genesis: bool = True,
    head: bool = True,
) -> bool:
    """Judge a log as a verifier that may leave something out."""
    begins = not genesis or question["partial"]
    seq, link = (None, None) if begins else (1, "0" * 64)
    if question["partial"]:
        seq = None
    try:
        key, entry = bytes.fromhex(question["key_hex"].strip()), None
        for entry in question["entries"]:
            bare = {name: value for name, value in entry.items() if name != "mac"}
            if not is_same(hmac.new(key, covers(bare), hashlib.sha256).hexdigest(), entry["mac"]):
                return False
            if numbers and seq is not None and entry["seq"] != seq:
                return False
            if links and link is not None and entry["prev_mac"] != link:
                return False
            seq, link = entry["seq"] + 1, entry["mac"]
    except (AttributeError, KeyError, TypeError, ValueError):
        return False
    noted_head = question["head"]
    return not (head and noted_head is not None and noted_head["seq"] > (entry["seq"] if entry else 0))


def _plain(value: dict[str, Any]) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


BROKEN: dict[str, Callable[[VectorInput], bool]] = {
    "says yes": lambda _: True,
    "says no": lambda _: False,
    "looks at no number": lambda given: _walk(given, numbers=False),
    "looks at no link": lambda given: _walk(given, links=False),
    "takes any beginning": lambda given: _walk(given, genesis=False),
    "looks at no head": lambda given: _walk(given, head=False),
    "does not compare the head's MAC": _walk,
    "takes capitals": lambda given: _walk(given, is_same=lambda wanted, found: found.lower() == wanted),
    "compares the beginning": lambda given: _walk(given, is_same=lambda wanted, found: wanted.startswith(found)),
    "looks at no MAC": lambda given: _walk(given, is_same=lambda *_: True),
    "sorts by code point and writes numbers as Python": lambda given: _walk(given, covers=_plain),
    "escapes what is not ASCII": lambda given: _walk(
        given, covers=lambda value: _plain(value).decode().encode("ascii", "backslashreplace")
    ),
}


@pytest.mark.parametrize("broken", BROKEN.values(), ids=BROKEN)
def test_a_broken_verifier_is_told_from_a_good_one(broken: Callable[[VectorInput], bool]) -> None:
    """Some log is judged otherwise by it."""
    assert [vector["id"] for vector in ALL_VECTORS if broken(vector["input"]) is not vector["expected"]["valid"]]


def test_a_draft_that_lies_stops_the_build() -> None:
    """Another place, another stage, another key."""
    draft = next(vector for vector in FAMILY.drafts() if vector.name == "altered/member/subject")
    for lie in (
        replace(draft, values={**draft.values, "place": 1}),
        replace(draft, stage="reordered"),
        replace(draft, input={**draft.input, "key_hex": "00" * 32}),
    ):
        with pytest.raises(BuildFault):
            FAMILY.vector(lie, set())


def test_a_second_verifier_that_says_otherwise_stops_the_build(monkeypatch: pytest.MonkeyPatch) -> None:
    """It must find the same place."""
    draft = next(vector for vector in FAMILY.drafts() if vector.name == "altered/member/subject")
    assert FAMILY.vector(draft, set())["id"] == "audit/altered/member/subject"
    monkeypatch.setattr(second_opinion, "first_bad", lambda _: 3)
    with pytest.raises(BuildFault, match="PyCryptodome"):
        FAMILY.vector(draft, set())
