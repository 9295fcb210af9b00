"""Verdicts, how many become one, and the exit code that follows from them (ISO/IEC 9646 words)."""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum, StrEnum
from typing import Final

# Member of a judgement's `where`: what of the suite's own was judged, because the operator named nothing.
STAND_IN: Final = "stand_in"
OUR_LISTENER: Final = "the suite's own listener"
# Member of a judgement's `where`: what the operator says and no request shows.
ON_WORD: Final = "on_word"
# Member of a judgement's `where`: what was not tried, since the profile does not say how, and the key that says it.
NOT_TRIED: Final = "not_tried"
# Member of a judgement's `where`: why a breach of a row that decides only warns here.
ONLY_WARNS: Final = "only warns, since"


class Inconclusive(Exception):
    """The check cannot reach what it needs; every row it has not judged yet is inconclusive for this reason."""


class NodeCannotShow(Inconclusive):
    """The chain node cannot be made to do what the check needs; every row of the check is documented for this reason.

    What the check judged before is no pass, since it is not the whole check; a breach that it found stays one.
    """


class Verdict(StrEnum):
    """What the suite says of one requirement.

    `fail` and `warn` are both breaches: a MUST fails a run, whether the interface states or implies it; SHOULD and MAY
    warn, and so does what a check tries beyond the sure meaning of a MUST. `left_out` is what a quick look did not try:
    no verdict on the target.
    """

    PASS = "pass"  # noqa: S105 - a verdict, not a password
    FAIL = "fail"
    WARN = "warn"
    INCONCLUSIVE = "inconclusive"
    NOT_APPLICABLE = "not_applicable"
    ERROR = "error"
    DOCUMENTED = "documented"
    LEFT_OUT = "left_out"


# What a right server gets: nothing broken, nothing open.
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
    """Further exit codes of `weldproof pay`, for when money has left or may have.

    Attributes:
        UNANSWERED: The answer is not here yet; the same proof is good later.
        REFUSED: Presenting the proof once more brings nothing, so that a person has to look.
    """

    ANSWER_MISSING = 5
    PROOF_REFUSED = 6


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

_EXIT_PRECEDENCE = (
    Exit.INTERRUPTED,
    Exit.USAGE,
    Exit.SUITE_FAULT,
    Exit.FAILED,
    Exit.NO_VERDICT,
)


def worst(verdicts: Iterable[Verdict]) -> Verdict | None:
    """Return the verdict of a row that several checks judged, or None when none did."""
    distinct = set(verdicts)
    return next((verdict for verdict in _WORST_FIRST if verdict in distinct), None)


def exit_code(
    verdicts: Iterable[Verdict], *, unexpected_passes: int = 0, is_interrupted: bool = False, is_strict: bool = False
) -> Exit:
    """Return the exit code of a run; where several apply the order is 130, 2, 4, 1, 3, 0.

    Args:
        verdicts: Verdicts of the selected rows after expected failures were taken out (those count as passes).
        unexpected_passes: Rows on the expected-failure list that passed, do not apply, or whose entry expired.
        interrupted: Whether the run was cut short by a signal.
        strict: Whether a warning fails the run.
    """
    distinct = set(verdicts)
    reasons = {
        Exit.INTERRUPTED: is_interrupted,
        Exit.SUITE_FAULT: Verdict.ERROR in distinct,
        Exit.FAILED: Verdict.FAIL in distinct or unexpected_passes > 0 or (is_strict and Verdict.WARN in distinct),
        Exit.NO_VERDICT: Verdict.INCONCLUSIVE in distinct or not distinct & {Verdict.PASS, Verdict.WARN, Verdict.FAIL},
    }
    return next((code for code in _EXIT_PRECEDENCE if reasons.get(code)), Exit.PASSED)
