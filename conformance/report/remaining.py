"""The estimated remaining time of a run, from the check durations of a recorded run and from its own pace.

The recorded durations only weigh the checks against each other. The pace of the run scales them, so that the first
finished checks show a slower machine or target.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import median
from typing import Final

from conformance.ledger.typical_seconds import typical_seconds

# Part of the work that must be done before the pace of the run is used.
_MINIMUM_PART: Final = 0.03
# Least seconds of a check. Recorded times are rounded, so that a plan of quick checks alone would otherwise have no
# length, by which nothing can be divided.
_LEAST_SECONDS: Final = 0.05
_SHORT: Final = 10.0
_MINUTES: Final = 100.0
# Companies that are phases of a run. Checks of any other company run one after the other, in parallel to the other
# companies.
_PHASES: Final = frozenset({"together", "alone"})


class Remaining:
    """The estimate for one run.

    Args:
        checks: (id, company) of each check: `together`, or the resource on which checks run one after the other: a
            lane's `chain …`, a surface's `surface …`, or `alone`, which begins after all others.
        workers: Number of `together` checks that run at the same time.
        typical: Recorded seconds of each check.
    """

    def __init__(
        self, checks: Iterable[Sequence[str]], workers: int, typical: Mapping[str, float] | None = None
    ) -> None:
        known_seconds = typical_seconds() if typical is None else typical
        # A check without a recorded duration is new or was never reached. The median avoids the few
        # very long ones.
        usual = median(known_seconds.values()) if known_seconds else 1.0
        self._company = {str(check): str(company) for check, company in checks}
        self._seconds = {check: max(_LEAST_SECONDS, known_seconds.get(check, usual)) for check in self._company}
        self._workers = max(1, workers)
        self._total = self._length(lambda _: 1.0)

    def __len__(self) -> int:
        """Number of checks of the run."""
        return len(self._company)

    def seconds(
        self, finished_checks: frozenset[str], running_checks: Mapping[str, float], elapsed_seconds: float
    ) -> float | None:
        """Return the remaining seconds, or None while too little is done for an estimate.

        Args:
            finished_checks: Ids of finished checks.
            running_checks: Running check to its seconds so far.
            elapsed_seconds: Seconds since the first check began.
        """

        def remaining_part(check: str) -> float:
            if check in finished_checks:
                return 0.0
            # A check beyond its usual time is counted as nearly finished, and not as finished.
            return max(0.1, 1 - running_checks.get(check, 0.0) / self._seconds[check])

        ahead = self._length(remaining_part)
        behind = self._total - ahead
        if not finished_checks or behind <= 0 or behind < _MINIMUM_PART * self._total:
            return None
        # One that sends most of the requests where these are paced may run on long after the others: what ran over its
        # time is taken to need as long again.
        over = max((ran - self._seconds.get(check, ran) for check, ran in running_checks.items()), default=0.0)
        return max(ahead * elapsed_seconds / behind, over)

    def _length(self, part: Callable[[str], float]) -> float:
        """Return the duration of the given part of every check, with the parallelism of the companies."""
        sums: dict[str, float] = defaultdict(float)
        for check, company in self._company.items():
            sums[company] += part(check) * self._seconds[check]
        # Exclusive checks run in parallel only between different resources, so the longest sequence
        # counts.
        in_turn = max((seconds for company, seconds in sums.items() if company not in _PHASES), default=0.0)
        return sums["together"] / self._workers + in_turn + sums["alone"]


def left_words(seconds: float) -> str:
    """Return the remaining seconds in words that are as precise as an estimate can be: `about 40 s left`."""
    if seconds < _SHORT:
        return "a few seconds left"
    if seconds < _MINUTES:
        return f"about {round(seconds, -1):.0f} s left"
    return f"about {max(2, round(seconds / 60))} min left"
