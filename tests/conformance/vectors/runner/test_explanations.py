"""Written explanations: what a file may say, what it explains, and when an entry rots."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from conformance.vectors.runner.explanations import (
    Explanation,
    ExplanationsFault,
    apply_explanations,
    read,
    rotten,
)
from conformance.vectors.runner.judging import Outcome, Result
from tests.conformance.vectors.runner.made import VECTORS

ODD = [one for one in VECTORS if one.kind == "parity/odd"]


def entry(about: str, result: str = "accepts", reason: str = "so it is") -> str:
    return f'[[explained]]\n{about}\nresult = "{result}"\nreason = "{reason}"\n'


def make_results(outcome: Outcome, kind: str = "parity/odd") -> list[Result]:
    """Return results in which the vectors of one kind come to something, and all others agree."""
    return [Result(one, outcome if one.kind == kind else Outcome.AGREE) for one in VECTORS]


def list_rotten(text: str, results: Sequence[Result]) -> list[str]:
    return [one.detail for one in rotten(read(text), results, VECTORS)]


def test_a_file_is_a_list_of_entries() -> None:
    """About ids or about a family; an empty file explains nothing."""
    text = entry('id = "numbers/parity/*"', reason=" not a  number ") + entry('family = "words"', "unsupported")
    assert read(text) == (
        Explanation("numbers/parity/*", None, Outcome.ACCEPTS, "not a  number"),
        Explanation(None, "words", Outcome.UNSUPPORTED, "so it is"),
    )
    assert read("") == ()


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("[[explained]", "TOML"),
        ("explained = 3", "list of tables"),
        ("explained = [1]", "list of tables"),
        ("[[explain]]\n", "explain"),
        (entry('id = "a"\nfamily = "b"'), "either"),
        (entry(""), "either"),
        (entry('id = ""'), "id is no text"),
        (entry("id = 3"), "id is no text"),
        (entry('id = "a"', "agree"), "result is one of"),
        (entry('id = "a"', "maybe"), "result is one of"),
        (entry('id = "a"', reason="  "), "reason is no text"),
        ('[[explained]]\nid = "a"\nresult = "crash"\n', "no reason"),
        ('[[explained]]\nid = "a"\nreason = "x"\n', "result is one of"),
        (entry('id = "a"\nsince = "2"'), "since"),
    ],
)
def test_another_file_is_refused_with_its_place(text: str, word: str) -> None:
    """Nothing is guessed, and no entry is without a reason."""
    with pytest.raises(ExplanationsFault, match=word):
        read(text)


def test_only_the_named_result_is_explained() -> None:
    """An entry for accepts explains no crash, and one for a pattern nothing beyond it."""
    entries = read(entry('id = "numbers/parity/*"', reason="first") + entry('id = "*"', reason="second"))
    assert apply_explanations(make_results(Outcome.ACCEPTS), entries) == dict.fromkeys((one.id for one in ODD), "first")
    assert apply_explanations(make_results(Outcome.CRASH), entries) == {}


def test_a_family_is_explained_as_a_whole() -> None:
    """By its name."""
    results = [Result(one, Outcome.UNSUPPORTED, asked=False) for one in VECTORS]
    reasons = apply_explanations(results, read(entry('family = "words"', "unsupported")))
    assert reasons == {one.id: "so it is" for one in VECTORS if one.family == "words"}


def test_a_pattern_knows_capitals_and_classes() -> None:
    """The same on every system."""
    results = make_results(Outcome.ACCEPTS)
    assert len(apply_explanations(results, read(entry('id = "numbers/*/n[13]"')))) == 2
    assert len(apply_explanations(results, read(entry('id = "Numbers/*"')))) == 0


@pytest.mark.parametrize(
    ("text", "detail"),
    [
        (entry('id = "numbers/parity/odd/n1"'), None),
        (entry('id = "numbers/*"'), None),
        (entry('id = "numbers/parity/odd/n99"'), "there is no such vector"),
        (entry('family = "poems"'), "there is no such vector"),
        (entry('family = "words"'), "nothing it covers comes to accepts, but to: agree"),
        (entry('id = "numbers/parity/*"', "crash"), "nothing it covers comes to crash, but to: accepts"),
        (entry('id = "numbers/*"', "crash"), "nothing it covers comes to crash, but to: accepts, agree"),
    ],
)
def test_an_entry_that_explains_nothing_rots(text: str, detail: str | None) -> None:
    """What was mended, renamed or never was has no place in the file."""
    assert list_rotten(text, make_results(Outcome.ACCEPTS)) == ([] if detail is None else [detail])


def test_what_was_not_run_keeps_its_entries() -> None:
    """A run of a part says nothing about entries that cover vectors outside it, unless no vector is covered at all."""
    part = [one for one in make_results(Outcome.AGREE) if one.vector.family == "numbers"]
    assert list_rotten(entry('family = "words"'), part) == []
    assert list_rotten(entry('id = "*"'), part) == []
    assert len(list_rotten(entry('id = "numbers/*"'), part)) == 1
    assert len(list_rotten(entry('id = "poems/*"'), part)) == 1


@pytest.mark.parametrize(
    ("outcome", "rots"), [(Outcome.ACCEPTS, False), (Outcome.AGREE, False), (Outcome.REFUSES, True)]
)
def test_what_depends_on_something_may_also_agree(outcome: Outcome, rots: bool) -> None:
    """Another version of a library agrees; what comes to a third result is no longer what was explained."""
    text = entry('id = "numbers/parity/odd*"') + 'depends_on = "a library before 3.5"\n'
    covered_vectors = [one for one in VECTORS if read(text)[0].covers(one)]
    assert covered_vectors
    results = [Result(one, outcome if one in covered_vectors else Outcome.AGREE) for one in VECTORS]
    assert bool(list_rotten(text, results)) is rots
