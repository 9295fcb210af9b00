"""Judgement of an answer: agreement, or one of eight kinds of disagreement. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from conformance.vectors import FamilyInfo, Vector
from conformance.vectors.runner.protocol import INVALID, UNSUPPORTED, VALID, Answer


class Outcome(StrEnum):
    """The outcome of one vector.

    Attributes:
        AGREE: The verdict and everything that was returned with it is right.
        OTHER_REASON: Refused correctly, but with another stage or code.
        WRONG_VALUE: The verdict is right, but a returned value is another.
        ACCEPTS: An invalid vector was called valid.
        REFUSES: A valid vector was called invalid.
        UNSUPPORTED: The verifier answered that it does not judge the vector.
        CRASH: The process ended, or could not be started again.
        HANG: No answer in time.
        NONSENSE: A line that is not an answer.
    """

    AGREE = "agree"
    OTHER_REASON = "other-reason"
    WRONG_VALUE = "wrong-value"
    ACCEPTS = "accepts"
    REFUSES = "refuses"
    UNSUPPORTED = "unsupported"
    CRASH = "crash"
    HANG = "hang"
    NONSENSE = "nonsense"


# Outcomes of an answer with a verdict. The other outcomes say that there was none.
VERDICT_OUTCOMES = frozenset(
    {Outcome.AGREE, Outcome.OTHER_REASON, Outcome.WRONG_VALUE, Outcome.ACCEPTS, Outcome.REFUSES},
)


@dataclass(frozen=True, slots=True)
class Result:
    """The outcome of one vector, with its reason.

    Attributes:
        vector: The vector.
        outcome: The outcome.
        pinned: Whether the disagreement is about something that only the profile decides, so no standard is broken.
        detail: A sentence; empty for an agreement.
        answer: The answer; None if no answer could be read.
        asked: Whether the question was asked at all.
    """

    vector: Vector
    outcome: Outcome
    pinned: bool = False
    detail: str = ""
    answer: Answer | None = None
    asked: bool = True

    @property
    def disagrees(self) -> bool:
        """Whether it is a disagreement; a family that a verifier never claimed to judge does not count."""
        return self.outcome is not Outcome.AGREE and (self.asked or self.outcome is not Outcome.UNSUPPORTED)


def judge_answer(vector: Vector, family: FamilyInfo, answer: Answer) -> Result:
    """Return the result of an answer to a vector."""
    expected = vector.expected
    # A verifier that calls a message valid must say what is valid about it, where its family asks for that. Without the
    # value, its answer cannot be compared.
    missing_values = [name for name in family.told if name not in answer.values]
    if answer.verdict == VALID and missing_values:
        detail = f"valid, but without the value {' and '.join(missing_values)} that its family asks for"
        return Result(vector, Outcome.NONSENSE, detail=detail, answer=answer)
    if answer.verdict == UNSUPPORTED:
        return Result(vector, Outcome.UNSUPPORTED, detail="not judged, by its own word", answer=answer)
    # The verdict first: a wrong verdict is a security fault, a wrong stage or value only a wrong explanation.
    if (answer.verdict == VALID) is not expected.valid:
        outcome = Outcome.ACCEPTS if answer.verdict == VALID else Outcome.REFUSES
        detail = f"{_expectation(vector)}; it says {_describe_answer(answer)}"
        return Result(vector, outcome, _only_profile(vector, ()), detail, answer)
    # Only for a refusal: a valid vector has neither stage nor codes.
    differences = tuple(_other_reasons(vector, answer)) if answer.verdict == INVALID else ()
    if differences:
        detail = f"{_expectation(vector)}; it says {_describe_answer(answer)}"
        return Result(vector, Outcome.OTHER_REASON, _only_profile(vector, differences), detail, answer)
    wrong = [name for name, value in expected.values.items() if not _is_same(answer.values.get(name, value), value)]
    if wrong:
        detail = f"its value {' and '.join(wrong)} is another"
        return Result(vector, Outcome.WRONG_VALUE, _only_profile(vector, ("values",)), detail, answer)
    return Result(vector, Outcome.AGREE, answer=answer)


def _other_reasons(vector: Vector, answer: Answer) -> Iterable[str]:
    """Yield the returned members of a refusal that differ; of several right codes, one is enough."""
    if answer.stage is not None and answer.stage != vector.expected.stage:
        yield "stage"
    # Several faults may be found in one message, and verifiers name them in their own order. So every code that was
    # named must be right, and none is demanded.
    if not set(answer.codes) <= set(vector.expected.codes):
        yield "codes"


def _only_profile(vector: Vector, differences: Iterable[str]) -> bool:
    members = set(differences)
    # One difference that a standard decides is enough: then the disagreement is not the profile's alone.
    return "valid" in vector.pinned or (bool(members) and members <= set(vector.pinned))


def _expectation(vector: Vector) -> str:
    if vector.expected.valid:
        return "it is valid"
    return f"to be refused at {vector.expected.stage} ({', '.join(vector.expected.codes)})"


def _describe_answer(answer: Answer) -> str:
    place = [] if answer.stage is None else [f"at {answer.stage}"]
    codes = [f"({', '.join(answer.codes)})"] if answer.codes else []
    why = [f"- {answer.why}"] if answer.why else []
    return " ".join([answer.verdict, *place, *codes, *why])


def _is_same(answer: Any, right: Any) -> bool:
    """Return whether two values are the same; 1 is not true, but 1.0 is 1, for JSON knows one kind of number."""
    if isinstance(answer, bool) or isinstance(right, bool):
        return answer is right
    return bool(answer == right)
