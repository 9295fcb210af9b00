"""What a run shows while it goes: N of M, what is slow, and about how long it will take."""

from __future__ import annotations

import fcntl
import io
import math
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from pathlib import Path
from unittest.mock import patch

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from conformance.engine.check_loading import load_checks
from conformance.ledger.typical_seconds import typical_seconds
from conformance.log.events import WHOLE_RUN, EventLog
from conformance.outcome import Verdict
from conformance.report.progress import Progress
from conformance.report.remaining import Remaining, left_words
from conformance.text.terminal import Terminal, columns
from tests.conformance.report.run_builder import RunBuilder

CHECKS = [["quick_one", "together"], ["slow_one", "together"], ["of_a_chain[base]", "chain base"], ["last", "alone"]]


def begin_progress(width: int, *, terminal: bool) -> tuple[Progress, EventLog, list[float], io.StringIO]:
    """Return progress on a console of that width, the log it listens to, its clock and what it wrote."""
    out, now = io.StringIO(), [0.0]
    console = Terminal(out, width=width, terminal=terminal)
    progress, log = Progress(console, seconds=lambda: now[0]), EventLog()
    log.listen(progress)
    log.add("run.started", checks=CHECKS, workers=2)
    return progress, log, now, out


def finish(log: EventLog, check: str) -> None:
    """End a check."""
    log.add("check.finished", check=check, seconds=1.0, outcome="done", error=None)


def test_off_a_terminal_progress_prints_each_breach_once() -> None:
    """A build log gets one line a breach, and no colour or cursor movement."""
    out = io.StringIO()
    progress = Progress(Terminal(out, width=80))
    run = RunBuilder(["RAIL-402-01"])
    run.log.listen(progress)
    run.log.add("check.started", check="one", rows=["RAIL-402-01"])
    run.exchange("one")
    run.judge("RAIL-402-01", Verdict.FAIL, check="one").judge("RAIL-402-01", Verdict.FAIL, check="one")
    run.judge("RAIL-402-01", Verdict.PASS, check="one").check("one")
    progress.close()
    assert out.getvalue() == "fail  RAIL-402-01  one\n"


def test_off_a_terminal_a_long_run_says_now_and_then_how_far_it_is() -> None:
    """A reader of a build log sees what a run was doing when it was ended from outside."""
    progress, log, now, out = begin_progress(80, terminal=False)
    for now[0], check in ((1.0, "quick_one"), (12.0, "slow_one"), (13.0, "last")):
        log.add("check.started", check=check, rows=["RAIL-402-01"])
    progress.close()
    assert out.getvalue() == "0 of 4 checks done, 0 exchanges, 0 breaches; 11 s quick_one, 0 s slow_one\n"


def test_progress_says_how_many_of_how_many_what_is_slow_and_what_is_left() -> None:
    """The check that runs longest is named with its seconds, whatever else runs."""
    progress, log, now, _ = begin_progress(44, terminal=True)
    log.add("check.started", check="slow_one", rows=[])
    log.add("check.started", check="quick_one", rows=[])
    now[0] = 30.0
    finish(log, "quick_one")
    log.add("check.started", check="last", rows=[])
    now[0] = 42.0
    first, second = progress.lines(44)
    assert re.fullmatch(r"1 of 4 checks, about \d+ (s|min) left", first)
    assert second == "42 s slow_one"
    progress.close()


def test_where_there_is_more_room_more_is_shown() -> None:
    """Exchanges and the other running checks, on a wide terminal alone."""
    progress, log, _, _ = begin_progress(120, terminal=True)
    for check in ("slow_one", "quick_one"):
        log.add("check.started", check=check, rows=[])
    log.add("exchange", n=1)
    assert progress.lines(118) == ("0 of 4 checks, 1 exchange", "0 s slow_one, 0 s quick_one")
    assert progress.lines(42) == ("0 of 4 checks", "0 s slow_one")
    progress.close()


def test_nothing_is_wider_than_the_terminal() -> None:
    """A long name is cut with an ellipsis, and what has no room is left away, the count last."""
    progress, log, now, _ = begin_progress(44, terminal=True)
    log.add("check.started", check="transfer_of_something_else_in_the_same_transaction", rows=[])
    finish(log, "quick_one")
    log.add("judgement", row="RAIL-402-01", check="last", verdict="fail")
    now[0] = 500.0
    for width in range(4, 60):
        assert all(columns(line) <= width for line in progress.lines(width))
    assert re.fullmatch(r"1 of 4 checks, about \d+ min left, 1 breach", progress.lines(44)[0])
    assert progress.lines(42)[1] == "500 s transfer_of_something_else_in_the_s…"
    progress.close()


SCREEN = """
import sys
from conformance.log.events import EventLog
from conformance.report.progress import Progress
from conformance.ledger.typical_seconds import typical_seconds
now = [0.0]
progress, log = Progress(seconds=lambda: now[0]), EventLog()
log.listen(progress)
names = [name for name in typical_seconds() if "[" not in name]
log.add("run.started", checks=[[name, "together"] for name in names], workers=8)
slow = "transfer_of_something_else_in_the_same_transaction"
log.add("check.started", check=slow, rows=[])
for name in [name for name in names if name != slow][:123]:
    log.add("check.finished", check=name, seconds=1.0, outcome="done", error=None)
log.add("judgement", row="RAIL-402-01", check="some_check", verdict="fail")
now[0] = 21.0
progress._live.refresh()
progress.close()
"""


def screen(columns: int) -> str:
    """Run progress on a real terminal of that many columns; return what was written to it."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    environment = {**os.environ, "TERM": "xterm-256color", "PYTHONPATH": str(Path(__file__).parents[3])}
    for name in ("COLUMNS", "LINES", "NO_COLOR"):
        environment.pop(name, None)
    child = subprocess.Popen([sys.executable, "-c", SCREEN], stderr=theirs, env=environment)
    os.close(theirs)
    screen_bytes = b""
    try:
        while part := os.read(ours, 65536):
            screen_bytes += part
    except OSError:
        # Linux says so that the other side closed its terminal.
        pass
    os.close(ours)
    assert child.wait() == 0
    return screen_bytes.decode()


def test_on_a_terminal_of_44_columns_nothing_wraps() -> None:
    """Count, time left, and what is slow stand on two lines, and are taken away at the end."""
    screen_text = screen(44)
    shown_lines = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", screen_text).replace("\r", "\n").split("\n")
    assert all(columns(line) <= 44 for line in shown_lines)
    frame = [line.rstrip() for line in shown_lines if " checks" in line or "transfer" in line][-2:]
    total = len([name for name in typical_seconds() if "[" not in name])
    # The spinner turns in front of the first line.
    assert re.fullmatch(rf"123 of {total} checks, (about \d+ (s|min)|a few seconds) left", frame[0][2:])
    assert frame[1] == "21 s transfer_of_something_else_in_the_sa…"
    assert screen_text.rstrip().endswith("\x1b[2K")


def test_the_time_left_follows_the_plan_and_the_runs_own_pace() -> None:
    """Checks that run side by side share the workers, those of a chain and those that run alone come after them."""
    typical = {"quick_one": 10.0, "slow_one": 10.0, "of_a_chain[base]": 5.0, "last": 5.0}
    remaining_time = Remaining(CHECKS, 2, typical)
    assert remaining_time.seconds(frozenset(), {}, 0.0) is None
    # Of 20 s 5 are behind, and they took twice as long as elsewhere.
    assert remaining_time.seconds(frozenset({"quick_one"}), {}, 10.0) == pytest.approx(30.0)
    assert remaining_time.seconds(frozenset({"quick_one"}), {"slow_one": 5.0}, 10.0) == pytest.approx(10 * 12.5 / 7.5)
    # A check that hangs is never counted as done.
    hangs = remaining_time.seconds(frozenset({"quick_one", "of_a_chain[base]", "last"}), {"slow_one": 900.0}, 900.0)
    assert hangs is not None
    assert hangs > 0
    assert remaining_time.seconds(frozenset(typical), {}, 40.0) == 0


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(3, "a few seconds left"), (42, "about 40 s left"), (99, "about 100 s left"), (170, "about 3 min left")],
)
def test_the_time_left_claims_no_more_than_an_estimate_can(seconds: float, words: str) -> None:
    """Rounded, and called what it is."""
    assert left_words(seconds) == words


def test_the_recorded_seconds_are_of_checks_that_exist() -> None:
    """A check that was renamed has no time of its own any more; most have one."""
    names = {one.id for one in load_checks()}
    check_names = {name.partition("[")[0] for name in typical_seconds()}
    assert len(names & check_names) > 0.8 * len(names)


def test_a_check_that_runs_over_its_time_is_not_taken_to_be_nearly_done() -> None:
    """One that sends most of the requests runs on at a pace that the others, which are done, did not show."""
    remaining_time = Remaining((("a", "together"), ("b", "together"), ("c", "together")), 2, {"a": 3, "b": 3, "c": 3})
    result = frozenset({"a", "b"})
    early, late = remaining_time.seconds(result, {"c": 2.0}, 5.0), remaining_time.seconds(result, {"c": 60.0}, 65.0)
    assert early is not None
    assert early < 10
    assert late is not None
    assert left_words(late) == "about 60 s left"


COMPANIES = st.sampled_from(["together", "alone", "chain base", "surface agent"])
NAMES = st.sampled_from(["a", "b", "c", "d[base]", "e"])
PLANS = st.lists(st.tuples(NAMES, COMPANIES), max_size=5)
SECONDS = st.one_of(st.just(0.0), st.floats(0, 1e6))
MOVES = st.lists(st.tuples(st.sampled_from(["check.started", "check.finished"]), NAMES, SECONDS), max_size=12)


@given(
    plan=PLANS,
    workers=st.integers(0, 8),
    typical=st.dictionaries(NAMES, SECONDS),
    moves=MOVES,
    width=st.integers(1, 100),
)
@example(plan=[("a", "together")], workers=1, typical={"a": 0.0}, moves=[("check.finished", "a", 12.0)], width=80)
def test_no_schedule_breaks_the_display(
    plan: list[tuple[str, str]],
    workers: int,
    typical: dict[str, float],
    moves: list[tuple[str, str, float]],
    width: int,
) -> None:
    """Whatever runs in which order and however quickly, each line can be drawn and the estimate is a number."""
    now = [0.0]
    progress = Progress(Terminal(io.StringIO(), width=width, terminal=False), seconds=lambda: now[0])
    with patch("conformance.report.remaining.typical_seconds", lambda: typical):
        progress({"event": "run.started", "checks": plan, "workers": workers})
    for kind, check, seconds in moves:
        now[0] += seconds
        progress({"event": kind, "check": check})
        lines = progress.lines(width)
        assert lines[0]
        assert all(columns(line) <= width for line in lines)
    result = frozenset(check for kind, check, _ in moves if kind == "check.finished")
    seconds_left = Remaining(plan, workers, typical).seconds(result, {}, now[0])
    assert seconds_left is None or 0 <= seconds_left < math.inf


def test_a_fault_of_the_display_turns_it_off_and_is_noted_once() -> None:
    """The log goes on without it, and no event is lost."""
    progress, log, _, out = begin_progress(80, terminal=False)
    log.add("judgement", row="RAIL-402-01", check="one", verdict="no verdict")
    log.add("judgement", row="RAIL-402-01", check="one", verdict="fail")
    progress.close()
    (note,) = log.of("note")
    assert note["check"] == WHOLE_RUN
    assert "the display of the run failed and was turned off (ValueError in" in note["text"]
    assert "no verdict" not in note["text"].partition("(")[2].partition(")")[0]
    assert len(list(log.of("judgement"))) == 2
    assert out.getvalue() == ""


def test_a_fault_while_lines_are_drawn_is_noted_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """The thread that draws ends, and the run hears of it with its next event."""
    out = io.StringIO()
    console = Terminal(out, width=80, terminal=True)
    console.redraws = True
    # Before the thread starts: it keeps the function that it finds.
    monkeypatch.setattr(Progress, "lines", lambda *_: 1 / 0)
    progress, log = Progress(console, seconds=lambda: 0.0), EventLog()
    log.listen(progress)
    progress._live._thread.join()  # type: ignore[union-attr]
    log.add("check.started", check="slow_one", rows=[])
    log.add("check.finished", check="slow_one", seconds=1.0, outcome="done", error=None)
    (note,) = log.of("note")
    assert "ZeroDivisionError in test_progress.py" in note["text"]
