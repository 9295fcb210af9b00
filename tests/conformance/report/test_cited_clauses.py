"""Reports say on which clauses of the specification a breached requirement rests."""

from __future__ import annotations

import json

import pytest

from conformance.outcome import Verdict
from conformance.report import formats
from tests.conformance.report.run_builder import RunBuilder

ROW = "GW-LINK-14"


def render(kind: str) -> bytes:
    """Return the report of a run with one breach."""
    events = RunBuilder([ROW]).judge(ROW, Verdict.FAIL, found_text="no zone").finish({ROW: Verdict.FAIL})
    return formats.FORMATS[kind].render(events)


@pytest.mark.parametrize("kind", ["html", "junit", "markdown", "sarif"])
def test_a_breach_names_its_clauses(kind: str) -> None:
    """By their ids, in each format that people read."""
    assert "P-CV-04" in render(kind).decode().replace("\\-", "-")


def test_sarif_has_sentence_and_place_as_help() -> None:
    """A rule's help is what code-scanning services show beside a finding."""
    (rule,) = json.loads(render("sarif"))["runs"][0]["tool"]["driver"]["rules"]
    assert "P-CV-04: A time in text is written `YYYY-MM-DDThh:mm:ssZ`" in rule["help"]["text"]
    assert "(docs/spec/1-conventions.md#p-cv-04)" in rule["help"]["text"]
    assert "More: `weldproof explain GW-LINK-14`" in rule["help"]["text"]
