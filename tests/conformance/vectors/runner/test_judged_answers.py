"""What an answer comes to beside what a vector expects."""

from __future__ import annotations

import pytest

from conformance.vectors import Expected, Vector
from conformance.vectors.runner.judging import Outcome, judge_answer
from conformance.vectors.runner.protocol import Answer
from tests.conformance.vectors.runner.made import NUMBERS, WORDS, number, word

HALF = {"half": 2}


@pytest.mark.parametrize(
    ("vector", "answer", "expected_class"),
    [
        (number(4), Answer("valid", values=HALF), Outcome.AGREE),
        (number(4), Answer("valid", values={"half": 2.0, "other": None}), Outcome.AGREE),
        (number(4), Answer("valid", values={"half": 3}), Outcome.WRONG_VALUE),
        (number(4), Answer("valid", values={"half": "2"}), Outcome.WRONG_VALUE),
        (number(4), Answer("valid", values={"half": None}), Outcome.WRONG_VALUE),
        (number(2), Answer("valid", values={"half": True}), Outcome.WRONG_VALUE),
        (number(4), Answer("valid"), Outcome.NONSENSE),
        (number(4), Answer("invalid"), Outcome.REFUSES),
        (number(4), Answer("invalid", ("odd",), "parity"), Outcome.REFUSES),
        (number(4), Answer("unsupported"), Outcome.UNSUPPORTED),
        (number(3), Answer("invalid"), Outcome.AGREE),
        (number(3), Answer("invalid", ("odd",)), Outcome.AGREE),
        (number(3), Answer("invalid", (), "parity"), Outcome.AGREE),
        (number(3), Answer("invalid", ("odd",), "size"), Outcome.OTHER_REASON),
        (number(3), Answer("invalid", ("huge",), "parity"), Outcome.OTHER_REASON),
        (number(3), Answer("invalid", ("odd", "huge")), Outcome.OTHER_REASON),
        (number(3), Answer("valid", values={"half": 1}), Outcome.ACCEPTS),
        (number(3), Answer("valid"), Outcome.NONSENSE),
        (number(3), Answer("unsupported", ("odd",)), Outcome.UNSUPPORTED),
    ],
)
def test_each_answer_has_its_class(vector: Vector, answer: Answer, expected_class: Outcome) -> None:
    """Only agreement needs no sentence."""
    result = judge_answer(vector, NUMBERS, answer)
    assert (expected_class, expected_class is Outcome.AGREE) == (result.outcome, not result.detail)
    assert result.disagrees is (expected_class is not Outcome.AGREE)


def test_of_several_right_codes_one_is_enough() -> None:
    """If a third party's vector has two faults, a verifier may stop at either."""
    vector = word("High")
    both_codes = Expected(valid=False, stage="case", codes=("upper", "long"), values={})
    members = {name: getattr(vector, name) for name in Vector.__dataclass_fields__} | {"expected": both_codes}
    for codes in (("upper",), ("long",), ("long", "upper"), ()):
        assert judge_answer(Vector(**members), WORDS, Answer("invalid", codes)).outcome is Outcome.AGREE
    assert judge_answer(Vector(**members), WORDS, Answer("invalid", ("upper", "x"))).outcome is Outcome.OTHER_REASON


@pytest.mark.parametrize(
    ("vector", "answer", "is_expected"),
    [
        (word("High", pinned_members=["valid", "stage", "codes"]), Answer("valid"), True),
        (word("High", pinned_members=["stage", "codes"]), Answer("valid"), False),
        (word("High", pinned_members=["stage", "codes"]), Answer("invalid", ("x",), "y"), True),
        (word("High", pinned_members=["codes"]), Answer("invalid", ("x",), "y"), False),
        (word("High", pinned_members=["codes"]), Answer("invalid", ("x",), "case"), True),
        (word("low", pinned_members=["valid"]), Answer("invalid"), True),
        (word("low"), Answer("invalid"), False),
        (word("low", pinned_members=["valid"]), Answer("unsupported"), False),
    ],
)
def test_what_only_the_profile_decides_is_marked(vector: Vector, answer: Answer, is_expected: bool) -> None:
    """Only where each member that differs is pinned; the class is the same."""
    assert is_expected is judge_answer(vector, WORDS, answer).pinned


@pytest.mark.parametrize(("pinned_members", "is_expected"), [(["values"], True), ([], False)])
def test_a_value_is_pinned_by_its_own_member(pinned_members: list[str], is_expected: bool) -> None:
    """A wrong value counts unless the profile alone decides values."""
    result = judge_answer(number(4, pinned_members=pinned_members), NUMBERS, Answer("valid", values={"half": 9}))
    assert (Outcome.WRONG_VALUE, is_expected) == (result.outcome, result.pinned)


def test_the_sentence_tells_both_sides() -> None:
    """What was to be said, what was, and the verifier's own words."""
    result = judge_answer(number(3), NUMBERS, Answer("invalid", ("huge",), "size", why="far too big"))
    assert result.detail == "to be refused at parity (odd); it says invalid at size (huge) - far too big"
