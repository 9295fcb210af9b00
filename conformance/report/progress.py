"""The progress of a run: finished checks, slow checks, and an estimate of the remaining time.

A terminal shows two lines that are redrawn. Other outputs, such as build logs, get one line every ten seconds. Breaches
are printed when they are found. Progress goes to standard error.
"""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from conformance.log.events import Event
from conformance.outcome import Verdict
from conformance.report.console import STYLES
from conformance.report.remaining import Remaining, left_words
from conformance.text.live import Live
from conformance.text.target_text_escaping import one_line
from conformance.text.terminal import Terminal

SECONDS_A_LINE: Final = 10.0
_NAME: Final = 60
# On a wider terminal, exchanges and further running checks are shown as well.
_WIDE: Final = 78


@dataclass(frozen=True, slots=True)
class State:
    """The progress of a run. It is replaced, never changed, because the terminal's thread reads it during the run.

    Attributes:
        estimate: The estimate of the remaining time; None before the run begins.
        began: Start of the first check, on the clock of `Progress`.
        finished_checks: Ids of finished checks.
        running_checks: Running check to its start, oldest first.
        exchanges: Exchanges so far.
        breaches: (row, check) of each breach.
    """

    estimate: Remaining | None = None
    began: float | None = None
    finished_checks: frozenset[str] = frozenset()
    running_checks: Mapping[str, float] = field(default_factory=dict)
    exchanges: int = 0
    breaches: frozenset[tuple[str, str]] = frozenset()

    def count(self) -> str:
        """Return the number of finished checks and of all checks."""
        total = "" if self.estimate is None else f" of {len(self.estimate)}"
        return f"{len(self.finished_checks)}{total} checks"

    def describe_time_left(self, now: float) -> str | None:
        """Return the estimated remaining time in words; None without an estimate."""
        if self.estimate is None or self.began is None:
            return None
        seconds_by_check = {check: now - since for check, since in self.running_checks.items()}
        seconds = self.estimate.seconds(self.finished_checks, seconds_by_check, now - self.began)
        return None if seconds is None else left_words(seconds)

    def slow(self, now: float) -> list[str]:
        """Return the running checks with their seconds, oldest first."""
        return [f"{now - since:.0f} s {one_line(check, _NAME)}" for check, since in self.running_checks.items()]


class Progress:
    """Shows the progress of a run; a listener for `EventLog.listen`.

    Args:
        console: The terminal; standard error by default.
        seconds: The clock.
    """

    def __init__(self, console: Terminal | None = None, seconds: Callable[[], float] = time.monotonic) -> None:
        self._console = console or Terminal(sys.stderr)
        self._seconds = seconds
        self._told_at = seconds()
        self._state = State()
        self._live = Live(self._console, self.lines)
        self._live.start()

    def __call__(self, event: Event) -> None:
        """Process one event. A closed terminal is ignored.

        Raises:
            Exception: The display has a fault, here or in the drawing thread; its lines are removed.
        """
        try:
            with contextlib.suppress(BrokenPipeError):
                self._take(event)
            if self._live.fault is not None:
                raise self._live.fault
        except Exception:
            self.close()
            raise

    def close(self) -> None:
        """Remove the lines. This never raises an exception, since a display must not end the run."""
        with contextlib.suppress(Exception):
            self._live.stop()

    def lines(self, width: int) -> tuple[str, ...]:
        """Return the progress lines for a terminal of `width` columns."""
        state, now = self._state, self._seconds()
        parts = [state.count(), state.describe_time_left(now)]
        if state.breaches:
            # The breaches are printed above, so a narrow terminal can do without their number.
            parts.append(_number(len(state.breaches), "breach", "breaches"))
        if width > _WIDE:
            parts.append(_number(state.exchanges, "exchange", "exchanges"))
        lines = [_join_fitting([part for part in parts if part], ", ", width)]
        if state.running_checks:
            slow = state.slow(now)
            lines.append(_join_fitting(slow if width > _WIDE else slow[:1], ", ", width))
        return tuple(lines)

    def _take(self, event: Event) -> None:
        kind = event["event"]
        if kind == "run.started" and event.get("not_yours") is not None:
            self._console.print(f"Nothing of yours is judged: the target is {one_line(event['not_yours'])}.")
        if kind == "run.waiting":
            self._console.print(f"Waiting for another run that uses {one_line(', '.join(event['shared']), 600)}.")
        if kind == "run.started" and "checks" in event:
            self._state = replace(self._state, estimate=Remaining(event["checks"], int(event["workers"])))
        elif kind in {"check.started", "check.finished"}:
            self._update_check(str(event["check"]), is_start=kind == "check.started")
        elif kind in {"exchange", "arrival"}:
            self._state = replace(self._state, exchanges=self._state.exchanges + 1)
        elif kind == "judgement":
            self._show_breach(event)
        # A build log would get thousands of lines with one line per event.
        if not self._console.is_terminal and self._seconds() - self._told_at >= SECONDS_A_LINE:
            self._told_at = self._seconds()
            self._console.print(self._line())

    def _update_check(self, check: str, *, is_start: bool) -> None:
        state, now = self._state, self._seconds()
        other_checks = {name: since for name, since in state.running_checks.items() if name != check}
        if is_start:
            began = now if state.began is None else state.began
            self._state = replace(state, running_checks={**other_checks, check: now}, began=began)
        else:
            self._state = replace(state, running_checks=other_checks, finished_checks=state.finished_checks | {check})

    def _show_breach(self, event: Event) -> None:
        verdict = Verdict(event["verdict"])
        key = (str(event["row"]), str(event["check"]))
        if verdict not in {Verdict.FAIL, Verdict.ERROR} or key in self._state.breaches:
            return
        self._state = replace(self._state, breaches=self._state.breaches | {key})
        # Printed at once: a user can stop a long run after the first breach.
        self._console.print((f"{verdict.value:5} ", STYLES[verdict]), f"{one_line(key[0])}  {one_line(key[1])}")

    def _line(self) -> str:
        """Return the progress line for a build log."""
        state, now = self._state, self._seconds()
        counts = (
            state.count() + " done",
            _number(state.exchanges, "exchange", "exchanges"),
            _number(len(state.breaches), "breach", "breaches"),
            state.describe_time_left(now),
        )
        slow = state.slow(now)[:3]
        text = ", ".join(part for part in counts if part)
        return f"{text}; {', '.join(slow)}" if slow else text


def _number(count: int, singular: str, plural: str) -> str:
    return f"{count} {singular if count == 1 else plural}"


def _join_fitting(parts: list[str], between: str, width: int) -> str:
    """Return as many parts as fit; the first one is shortened if it does not fit alone."""
    text = parts[0]
    for part in parts[1:]:
        if len(text) + len(between) + len(part) > width:
            break
        text += between + part
    return text if len(text) <= width else text[: max(0, width - 1)] + "…"
