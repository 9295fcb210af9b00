"""Verdicts of rows in the terms of ISO/IEC 9646, how several are combined, and the exit code of a run."""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum, StrEnum
from typing import Final, Self

# Member of a judgement's `where`: the part of the suite that was judged, because the operator named nothing.
STAND_IN: Final = "stand_in"
OUR_LISTENER: Final = "the suite's own listener"
# Member of a judgement's `where`: a statement of the operator that no request can show.
ON_WORD: Final = "on_word"
# Member of a judgement's `where`: a step that was not tried, and the key of the profile that would describe it.
NOT_TRIED: Final = "not_tried"
# Member of a judgement's `where`: why a breach of a MUST only warns here.
ONLY_WARNS: Final = "only warns, since"
# Member of a judgement's `where`: the clause of the specification by which a breach decides at a target that claims it.
CLAIMED_CLAUSE: Final = "claimed, specification"


class OpenPoint(str):
    """A point that the interface leaves open and the specification settles, as text.

    A breach warns. It decides if the target claims the specification.

    Attributes:
        clause: The clause or section of the specification that settles it.
    """

    __slots__ = ("clause",)

    clause: str

    def __new__(cls, text: str, clause: str) -> Self:
        """Return the point with its clause."""
        point = super().__new__(cls, text)
        point.clause = clause
        return point


class Inconclusive(Exception):
    """The check cannot reach what it needs; every row that it has not judged yet becomes inconclusive."""


class NodeCannotShow(Inconclusive):
    """The chain node cannot do what the check needs; every row of the check becomes documented.

    An earlier pass of the check is withdrawn, since the check is incomplete. An earlier breach remains.
    """


class Verdict(StrEnum):
    """The suite's verdict on one requirement.

    `fail` and `warn` are both breaches. A broken MUST fails a run, whether the interface states or implies it. A broken
    SHOULD or MAY warns; so does a case beyond the certain meaning of a MUST. `left_out` marks a row that a quick look
    did not try. It is not a verdict on the target.
    """

    PASS = "pass"  # noqa: S105 - a verdict, not a password
    FAIL = "fail"
    WARN = "warn"
    INCONCLUSIVE = "inconclusive"
    NOT_APPLICABLE = "not_applicable"
    ERROR = "error"
    DOCUMENTED = "documented"
    LEFT_OUT = "left_out"


# Verdicts of a conforming server: nothing is broken, and nothing undecided.
SOUND: Final = frozenset({Verdict.PASS, Verdict.DOCUMENTED, Verdict.NOT_APPLICABLE})


class Exit(IntEnum):
    """Exit codes of `weldproof run`."""

    PASSED = 0
    FAILED = 1
    USAGE = 2
    NO_VERDICT = 3
    SUITE_FAULT = 4
    INTERRUPTED = 130


class PaidExit(IntEnum):
    """Further exit codes of `weldproof pay`, for a payment that was made or may have been made.

    Attributes:
        ANSWER_MISSING: The answer has not arrived yet; the same proof can be presented again.
        PROOF_REFUSED: Presenting the proof again cannot succeed; a person has to act.
    """

    ANSWER_MISSING = 5
    PROOF_REFUSED = 6


# Several checks may judge one row. A breach outweighs every pass, and a check that could not decide outweighs a
# pass: a row passes only if each of its checks could decide. Verdicts that say nothing about the server come
# last, so that one check that does apply is enough for a pass.
_WORST_FIRST = (
    Verdict.ERROR,
    Verdict.FAIL,
    Verdict.WARN,
    Verdict.INCONCLUSIVE,
    Verdict.PASS,
    Verdict.LEFT_OUT,
    Verdict.NOT_APPLICABLE,
    Verdict.DOCUMENTED,
)

# The reason that makes the others unreliable comes first: an interrupted run or a faulty suite may have missed
# breaches, and a breach is certain even if other rows are undecided.
_EXIT_PRECEDENCE = (
    Exit.INTERRUPTED,
    Exit.USAGE,
    Exit.SUITE_FAULT,
    Exit.FAILED,
    Exit.NO_VERDICT,
)


def worst(verdicts: Iterable[Verdict]) -> Verdict | None:
    """Return the combined verdict of a row that several checks judged; None if no check did."""
    distinct = set(verdicts)
    return next((verdict for verdict in _WORST_FIRST if verdict in distinct), None)


def exit_code(
    verdicts: Iterable[Verdict], *, unexpected_passes: int = 0, is_interrupted: bool = False, is_strict: bool = False
) -> Exit:
    """Return the exit code of a run; if several apply, the first of 130, 2, 4, 1, 3, 0.

    Args:
        verdicts: Verdicts of the selected rows, with expected failures as passes.
        unexpected_passes: Number of entries of the expected-failure list whose row passed or does not apply, or that
            expired.
        is_interrupted: Whether a signal ended the run early.
        is_strict: Whether a warning fails the run.
    """
    distinct = set(verdicts)
    reasons = {
        Exit.INTERRUPTED: is_interrupted,
        Exit.SUITE_FAULT: Verdict.ERROR in distinct,
        Exit.FAILED: Verdict.FAIL in distinct or unexpected_passes > 0 or (is_strict and Verdict.WARN in distinct),
        Exit.NO_VERDICT: Verdict.INCONCLUSIVE in distinct or not distinct & {Verdict.PASS, Verdict.WARN, Verdict.FAIL},
    }
    return next((code for code in _EXIT_PRECEDENCE if reasons.get(code)), Exit.PASSED)
