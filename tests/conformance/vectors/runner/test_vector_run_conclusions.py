"""What a run comes to: exit code, what counts, what is remarked; and the document that it is written as."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import jsonschema
import pytest

from conformance.outcome import Exit
from conformance.vectors import Vector
from conformance.vectors.runner import document
from conformance.vectors.runner.child import Ending
from conformance.vectors.runner.conclusion import Conclusion
from conformance.vectors.runner.explanations import Explanation, Rotten
from conformance.vectors.runner.judging import Outcome, Result
from conformance.vectors.runner.protocol import Answer, Hello
from conformance.vectors.runner.running import Plan, Run
from tests.conformance.vectors.runner.made import FAMILIES, VECTORS

VALID, INVALID = Answer("valid", values={"half": 1}), Answer("invalid")
ROTTEN = Rotten(Explanation("a", None, Outcome.CRASH, "b"), "there is no such vector")


def make_agreement(vector: Vector) -> Result:
    return Result(vector, Outcome.AGREE, answer=VALID if vector.expected.valid else INVALID)


def make_conclusion(
    changes: Mapping[int, Result] = {},
    *,
    results: Sequence[Result] | None = None,
    reasons: Mapping[str, str] = {},
    rotten: tuple[Rotten, ...] = (),
    profile: bool = False,
    **run: Any,
) -> Conclusion:
    """Return the conclusion of a run in which everything agrees but what is changed."""
    conclusion = results or [changes.get(place, make_agreement(one)) for place, one in enumerate(VECTORS)]
    members = {"ending": Ending(clean=True), "starts": 1, "gave_up": False, "interrupted": False, **run}
    return Conclusion(Run(Hello("made 1", tuple(FAMILIES)), tuple(conclusion), **members), reasons, rotten, profile)


def make_acceptance(place: int, *, is_pinned: bool = False) -> dict[int, Result]:
    return {place: Result(VECTORS[place], Outcome.ACCEPTS, pinned=is_pinned, detail="it is odd", answer=VALID)}


def test_a_run_in_which_everything_agrees_passes() -> None:
    """There is nothing to remark."""
    conclusion = make_conclusion()
    assert (conclusion.exit_code, conclusion.sentence, conclusion.remarks) == (Exit.PASSED, "12 of 12 agree", ())


@pytest.mark.parametrize("outcome", [one for one in Outcome if one is not Outcome.AGREE])
def test_every_disagreement_fails_the_run_unless_explained(outcome: Outcome) -> None:
    """A reason for its vector makes it known."""
    changes = {1: Result(VECTORS[1], outcome, detail="x")}
    assert make_conclusion(changes).exit_code == Exit.FAILED
    assert make_conclusion(changes).sentence == "11 of 12 agree, 1 unexplained"
    known_conclusion = make_conclusion(changes, reasons={VECTORS[1].id: "known"})
    assert (known_conclusion.exit_code, known_conclusion.sentence) == (Exit.PASSED, "11 of 12 agree, 1 explained")


def test_what_only_the_profile_decides_fails_nobody_by_itself() -> None:
    """It is shown, and counts where it is asked for."""
    changes = make_acceptance(1, is_pinned=True)
    assert make_conclusion(changes).exit_code == Exit.PASSED
    assert make_conclusion(changes).sentence == "11 of 12 agree, 1 differ only where the profile decides"
    assert make_conclusion(changes, profile=True).exit_code == Exit.FAILED
    assert make_conclusion(changes, profile=True, reasons={VECTORS[1].id: "known"}).exit_code == Exit.PASSED


@pytest.mark.parametrize(
    ("members", "expected_exit"),
    [
        ({"rotten": (ROTTEN,)}, Exit.FAILED),
        ({"ending": Ending(clean=False, detail="it exited with 1")}, Exit.FAILED),
        ({"interrupted": True, "rotten": (ROTTEN,)}, Exit.INTERRUPTED),
    ],
)
def test_a_rotten_entry_and_a_bad_end_fail_the_run(members: dict[str, Any], expected_exit: Exit) -> None:
    """An interruption goes before both."""
    assert make_conclusion(**members).exit_code == expected_exit


def test_a_run_that_the_profile_alone_decides_says_so() -> None:
    """Nothing in it could have counted; with --profile it does."""
    remark = "Of all that it judged the profile alone decides: nothing counts here unless --profile is given."
    pinned_results = [Result(replace(one, pinned=("valid",)), Outcome.AGREE, answer=VALID) for one in VECTORS]
    assert remark in make_conclusion(results=pinned_results).remarks
    assert remark not in make_conclusion(results=pinned_results, profile=True).remarks
    assert (
        remark
        not in make_conclusion(results=[*pinned_results[1:], Result(VECTORS[0], Outcome.AGREE, answer=VALID)]).remarks
    )


def test_nothing_judged_is_no_pass() -> None:
    """Whether the families were claimed, or explained, or not."""
    asked_results = [Result(one, Outcome.UNSUPPORTED) for one in VECTORS]
    named_conclusion = make_conclusion(results=asked_results, reasons={one.id: "known" for one in VECTORS})
    assert named_conclusion.exit_code == Exit.NO_VERDICT
    assert named_conclusion.remarks == (
        "It judged nothing.",
        "It names the family numbers and judged nothing of it.",
        "It names the family words and judged nothing of it.",
    )
    unnamed_conclusion = make_conclusion(results=[Result(one, Outcome.UNSUPPORTED, asked=False) for one in VECTORS])
    assert unnamed_conclusion.exit_code == Exit.NO_VERDICT
    assert unnamed_conclusion.sentence == "0 of 12 agree, 12 of families it does not judge"


@pytest.mark.parametrize(
    ("answer", "remark"), [(VALID, "a verifier that refuses nothing"), (INVALID, "It refused everything")]
)
def test_who_always_says_the_same_is_seen_for_it(answer: Answer, remark: str) -> None:
    """Even where half of it is right."""
    wrong = Outcome.ACCEPTS if answer is VALID else Outcome.REFUSES
    right = answer is VALID
    results = [Result(one, Outcome.AGREE if one.expected.valid is right else wrong, answer=answer) for one in VECTORS]
    assert any(remark in one for one in make_conclusion(results=results).remarks)
    only = [one for one in results if one.outcome is Outcome.AGREE]
    assert make_conclusion(results=only).remarks == ()


def test_what_befell_the_process_is_remarked() -> None:
    """Starts, giving up, a bad end, an interruption."""
    assert make_conclusion(starts=3).remarks == ("It was started 3 times.",)
    assert "10 times in a row" in make_conclusion(gave_up=True, starts=11).remarks[0]
    assert "exited with 1" in make_conclusion(ending=Ending(clean=False, detail="it exited with 1")).remarks[0]
    assert make_conclusion(interrupted=True).remarks[0] == "The run was interrupted after 12 vectors."


def test_the_document_obeys_its_schema_and_can_be_read_again() -> None:
    """Whatever a verifier returned, even a lone surrogate."""
    answer = Answer("valid", ("c",), "s", {"half": 1, "x": "\ud800", "big": 2**80, "long": "x" * 100_000}, "\x1b[31m")
    changes = make_acceptance(1) | {3: Result(VECTORS[3], Outcome.ACCEPTS, detail="\ud800", answer=answer)}
    changes |= {5: Result(VECTORS[5], Outcome.CRASH, detail="it exited with 1")}
    conclusion = make_conclusion(changes, reasons={VECTORS[1].id: "known"}, rotten=(ROTTEN,))
    raw = document.write_document(conclusion, Plan(("x", "-y"), FAMILIES, VECTORS, 7), "9.1.0")
    value = json.loads(raw)
    jsonschema.Draft202012Validator(document.schema()).validate(value)
    assert raw.isascii()
    assert len(raw) < 20_000
    assert [one["counts"] for one in value["results"]][:6] == [False, False, False, True, False, True]
    assert value["counts"]["numbers"]["accepts"] == 2
    again = document.read(raw)
    assert (again.verifier, again.vectors_version, again.exit_code) == ("made 1", "9.1.0", 1)
    assert [one.id for one in VECTORS] == [one.id for one in again.results]
    assert (again.results[1].explained, again.results[3].outcome) == ("known", Outcome.ACCEPTS)


@pytest.mark.parametrize("raw", [b"", b"{}", b"[]", b'{"format":"weldproof-vectors-result/2"}', b"\xff"])
def test_another_document_is_refused(raw: bytes) -> None:
    """With a sentence, not with what went wrong underneath."""
    with pytest.raises(document.DocumentFault):
        document.read(raw)


def test_the_schema_itself_holds() -> None:
    """It is of the draft that it names."""
    jsonschema.Draft202012Validator.check_schema(document.schema())
