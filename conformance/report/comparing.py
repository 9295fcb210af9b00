"""The comparison of two runs: rows that both judged, and rows that only one of them judged."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from conformance.outcome import Verdict
from conformance.report.summary import Summary

DECIDED_VERDICTS: Final = frozenset({Verdict.PASS, Verdict.FAIL, Verdict.WARN})
# This order differs from the one that combines verdicts of one row: an undecided row is worse than
# a warning here, because a run that can no longer decide a row has lost it.
_WORST_FIRST: Final = (
    Verdict.ERROR,
    Verdict.FAIL,
    Verdict.INCONCLUSIVE,
    Verdict.WARN,
    Verdict.LEFT_OUT,
    Verdict.NOT_APPLICABLE,
    Verdict.DOCUMENTED,
    Verdict.PASS,
)
# Options of `weldproof run` that select rows.
_SELECTION_OPTIONS: Final = ("ids", "surfaces", "levels", "lanes", "addon", "shard")


@dataclass(frozen=True, slots=True)
class Change:
    """One row whose verdict differs.

    Attributes:
        id: Its id.
        sentence: Its sentence.
        before: Its verdict in the first run, None if it has no verdict there.
        after: Its verdict in the second run, None if it has no verdict there.
        unselected: Whether the run without a verdict selected another part of the suite than the other run.
    """

    id: str
    sentence: str
    before: Verdict | None
    after: Verdict | None
    unselected: bool = False

    @property
    def is_compared(self) -> bool:
        """Whether both runs judged the row: it passed, failed or warned in each."""
        return {self.before, self.after} <= DECIDED_VERDICTS

    @property
    def judged_once(self) -> bool:
        """Whether one run judged the row and the other, which was asked for it, did not."""
        return not self.unselected and (self.before in DECIDED_VERDICTS) is not (self.after in DECIDED_VERDICTS)

    @property
    def worse(self) -> bool:
        """Whether the second run is worse for the row. A row that is no longer judged is worse.

        A row that the operator did not select is not worse, and neither is one that no run judged.
        """
        looked_at = self.before in DECIDED_VERDICTS or self.after in DECIDED_VERDICTS
        return looked_at and not self.unselected and _rank(self.after) < _rank(self.before)


def compare(before: Summary, after: Summary) -> tuple[Change, ...]:
    """Return the rows whose verdicts differ: worse ones first, then in the order of the runs."""
    old, new = ({row.id: row for row in run.rows} for run in (before, after))
    changes = []
    for row_id in {**old, **new}:
        requirement = (new.get(row_id) or old[row_id]).requirement
        was, now = (run[row_id].verdict if row_id in run else None for run in (old, new))
        if was is not now:
            # A row that only one run has is a difference only if both runs selected the same part
            # of the suite.
            part = None in (was, now) and _selection(before) != _selection(after)
            changes.append(Change(row_id, requirement.sentence, was, now, unselected=part))
    return tuple(sorted(changes, key=lambda change: not change.worse))


def judged_by_both(before: Summary, after: Summary) -> int:
    """Return how many rows both runs judged."""
    first, second = ({row.id for row in run.rows if row.verdict in DECIDED_VERDICTS} for run in (before, after))
    return len(first & second)


def judged_only(changes: Iterable[Change]) -> dict[str, tuple[str, ...]]:
    """Return the ids of rows that only `before` and only `after` judged, although both runs selected them."""
    once = [change for change in changes if change.judged_once]
    return {
        "before": tuple(change.id for change in once if change.before in DECIDED_VERDICTS),
        "after": tuple(change.id for change in once if change.after in DECIDED_VERDICTS),
    }


def _rank(verdict: Verdict | None) -> int:
    return len(_WORST_FIRST) - 2 if verdict is None else _WORST_FIRST.index(verdict)


def _selection(summary: Summary) -> dict[str, object]:
    """Return the options by which a run selected rows."""
    return {name: summary.options[name] for name in _SELECTION_OPTIONS if summary.options.get(name)} | {
        "quick": summary.quick
    }
