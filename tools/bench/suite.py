"""Where the seconds of a run of the suite went, by check: a pure function of its event log."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from conformance.log.events import Event


@dataclass(frozen=True, slots=True)
class Share:
    """What one check took.

    Attributes:
        check: Its id.
        seconds: From its start to its end; checks run side by side, so that the sum is more than the run's time.
        waiting: Seconds of its exchanges, added up; those of a race run side by side, so that it may be more.
        exchanges: How many those were.
    """

    check: str
    seconds: float
    waiting: float
    exchanges: int


@dataclass(frozen=True, slots=True)
class Spent:
    """Where a run's seconds went.

    Attributes:
        seconds: The whole run, start to end; None when it did not end.
        shares: Every check, the slowest first.
    """

    seconds: float | None
    shares: tuple[Share, ...]

    @property
    def in_checks(self) -> float:
        """Sum over the checks."""
        return sum(share.seconds for share in self.shares)

    def as_json(self) -> dict[str, Any]:
        """Return it as a JSON object."""
        checks = [
            {
                "check": share.check,
                "seconds": round(share.seconds, 3),
                "exchanges": share.exchanges,
                "exchange_seconds": round(share.waiting, 3),
            }
            for share in self.shares
        ]
        return {"seconds": self.seconds, "check_seconds": round(self.in_checks, 3), "checks": checks}


def sum_seconds(events: Iterable[Event]) -> Spent:
    """Return where the seconds of an event log went."""
    seconds: dict[str, float] = {}
    exchange_seconds: defaultdict[str, float] = defaultdict(float)
    exchanges: Counter[str] = Counter()
    whole: float | None = None
    for event in events:
        if event["event"] == "check.finished":
            seconds[event["check"]] = float(event["seconds"])
        elif event["event"] == "exchange":
            response = event.get("response") or {}
            exchange_seconds[event["check"]] += float(response.get("milliseconds", 0)) / 1000
            exchanges[event["check"]] += 1
        elif event["event"] == "run.finished":
            whole = float(event["seconds"])
    shares = (Share(check, took, exchange_seconds[check], exchanges[check]) for check, took in seconds.items())
    return Spent(whole, tuple(sorted(shares, key=lambda share: share.seconds, reverse=True)))
