"""Results side by side: lines, labels, and the page."""

from __future__ import annotations

import re
from collections.abc import Mapping

import pytest
from selectolax.lexbor import LexborHTMLParser

from conformance.vectors.runner import html
from conformance.vectors.runner.document import Document, ResultLine
from conformance.vectors.runner.judging import Outcome
from conformance.vectors.runner.verifier_comparison import Comparison, ComparisonFault, compare
from tests.conformance.vectors.runner.made import VECTORS

EVIL = '<script>alert("x")</script>\u202e\x1b[31m'


def result(
    name: str, changed_outcomes: Mapping[str, Outcome], *, version: str = "9.1.0", only: str = "", why: str = ""
) -> Document:
    results = tuple(
        ResultLine(
            vector.id,
            vector.family,
            vector.kind,
            comparison,
            False,
            "" if comparison is Outcome.AGREE else f"detail {why}",
            None,
        )
        for vector in VECTORS
        if vector.family.startswith(only)
        for comparison in (changed_outcomes.get(vector.id, Outcome.AGREE),)
    )
    return Document(name, version, 0, f"sentence of {name}", results)


def two(**more: str) -> Comparison:
    return compare(
        {
            "a.json": result("first 1", {}),
            "b.json": result("second 2", {"numbers/parity/odd/n3": Outcome.ACCEPTS}, **more),
        }
    )


def test_a_line_a_kind_and_one_a_vector_where_they_differ() -> None:
    """In the order of the package; each cell says what came how often."""
    numbers, words = two().families
    assert [one.line.name for one in numbers.kinds] == ["valid/even", "parity/odd"]
    even, odd = numbers.kinds
    assert (even.differs, odd.differs) == (False, True)
    assert odd.line.cells == (((Outcome.AGREE, 4),), ((Outcome.AGREE, 3), (Outcome.ACCEPTS, 1)))
    line = next(one for one in odd.vectors if one.name.endswith("n3"))
    assert line.cells == (((Outcome.AGREE, 1),), ((Outcome.ACCEPTS, 1),))
    assert line.details == ("", "detail ")
    assert numbers.line.cells[0] == ((Outcome.AGREE, 8),)
    assert not any(one.differs for one in words.kinds)


def test_the_same_mistake_in_both_is_no_difference() -> None:
    """They do not differ from each other."""
    wrong = {"numbers/parity/odd/n3": Outcome.ACCEPTS}
    comparison = compare({"a": result("x", wrong), "b": result("y", wrong)})
    assert not any(kind.differs for family in comparison.families for kind in family.kinds)


def test_who_does_not_judge_does_not_differ() -> None:
    """Only two who judged a vector can differ on it."""
    all_unsupported = dict.fromkeys((one.id for one in VECTORS), Outcome.UNSUPPORTED)
    comparison = compare({"a": result("x", all_unsupported), "b": result("y", {}), "c": result("z", all_unsupported)})
    assert not any(kind.differs for family in comparison.families for kind in family.kinds)


def test_what_one_did_not_run_is_told_as_that() -> None:
    """A run of one family stands beside a run of all."""
    comparison = compare({"a": result("x", {}, only="words"), "b": result("y", {})})
    assert [one.line.name for one in comparison.families] == ["words", "numbers"]
    assert comparison.families[1].line.cells == ((), ((Outcome.AGREE, 8),))
    assert not any(kind.differs for family in comparison.families for kind in family.kinds)


def test_two_of_one_name_are_told_apart_by_their_files() -> None:
    """The same verifier before and after."""
    assert compare({"a": result("x", {}), "b": result("x", {}), "c": result("y", {})}).labels == (
        "x (a)",
        "x (b)",
        "y",
    )


def test_two_versions_of_the_vectors_do_not_stand_side_by_side() -> None:
    """They may ask other things under one name."""
    with pytest.raises(ComparisonFault, match=r"9\.1\.0, 9\.2\.0"):
        compare({"a": result("x", {}), "b": result("y", {}, version="9.2.0")})


def test_the_page_needs_no_network_and_obeys_nobody() -> None:
    """What a verifier said is text; nothing is loaded; the style is the only thing that the policy lets apply."""
    comparison = compare({"a": result(EVIL, {}), "b": result("y", {"words/case/high/high": Outcome.CRASH}, why=EVIL)})
    page = html.render(comparison).decode("utf-8")
    tree = LexborHTMLParser(page)
    assert tree.css("script, link, img, iframe, object, form, [src], [onclick]") == []
    assert not re.search(r"https?:", page)
    assert "\u202e" not in page
    assert "\x1b" not in page
    assert """content="default-src 'none'; style-src 'sha256-""" in page
    assert '<script>alert("x")</script>' in tree.css("thead")[0].text()


def test_the_page_shows_each_verifier_and_each_difference() -> None:
    """A column a verifier, a row a kind, a row a vector of a kind on which they differ."""
    tree = LexborHTMLParser(html.render(two()).decode("utf-8"))
    assert [one.text() for one in tree.css("section:first-of-type thead th")] == ["Kind", "first 1", "second 2"]
    assert len(tree.css("tr.kind")) == 4
    assert len(tree.css("tr.vector")) == 4
    assert len(tree.css("tr.vector small")) == 1
    assert "1 of 4" in tree.css("h1")[0].text()


def test_the_same_is_to_be_had_as_json() -> None:
    """Vectors are listed if the verifiers differ."""
    document = two().as_json
    assert (document["verifiers"], document["vectors_version"]) == (["first 1", "second 2"], "9.1.0")
    kinds = document["families"][0]["kinds"]
    assert kinds[0]["vectors"] == []
    assert {
        "id": "numbers/parity/odd/n3",
        "results": [{"agree": 1}, {"accepts": 1}],
        "details": ["", "detail "],
    } in kinds[1]["vectors"]
