"""The run on a terminal and off it."""

from __future__ import annotations

import io
from pathlib import Path

from rich.console import Console

from conformance.report.console import show
from conformance.report.summary import summarise
from tests.conformance.report.run_builder import RunBuilder, every_verdict


def test_a_failure_carries_what_repairs_it() -> None:
    """Sentence, expected, found, exchange, a curl line on one line, fix and a replay id that can be typed."""
    out = io.StringIO()
    show(summarise(every_verdict()), written=[Path("out/events.ndjson")], console=Console(file=out, width=60))
    text = out.getvalue()
    assert "A paid operation called without X-PAYMENT answers 402" in text
    assert "found     status 200" in text
    assert "fix       Answer 402 before the service runs." in text
    assert any(line.strip().startswith("curl ") and line.endswith("'") for line in text.splitlines())
    assert "weldproof replay out#1" in text
    assert text.rstrip().endswith("out/events.ndjson")


def test_the_last_lines_say_the_verdict_and_what_it_rests_on() -> None:
    """After pages of failures the reader finds the conclusion where the terminal stopped."""
    out = io.StringIO()
    show(summarise(every_verdict()), console=Console(file=out, width=200))
    ending = out.getvalue().splitlines()[-9:]
    assert ending[0].startswith("Fault in the suite: 87 of 90 judged requirements pass")
    assert any("rail.scheme = exact" in line for line in ending)
    assert "exit code 4" in ending[-1]


def test_a_stale_entry_of_the_expected_failure_list_is_shown() -> None:
    """A row that passes against its entry fails the run, so the reader is told why."""
    out = io.StringIO()
    row = "RAIL-402-01"
    events = RunBuilder([row]).finish({}, expected={row: "unexpected_pass"})
    show(summarise(events), console=Console(file=out, width=200))
    assert "on the expected-failure list, and yet it passes: take the entry out" in out.getvalue()


def test_a_long_profile_leaves_the_conclusion_on_the_screen() -> None:
    """Of many values that are not defaults the first are shown and the rest counted; the reports have them all."""
    out = io.StringIO()
    events = RunBuilder(["RAIL-402-01"], non_defaults=[(f"key.{n}", n) for n in range(25)]).finish({})
    show(summarise(events), console=Console(file=out, width=200))
    assert "key.19 = 19" in out.getvalue()
    assert "key.20" not in out.getvalue()
    assert "and 5 more values" in out.getvalue()


def test_no_color_is_obeyed() -> None:
    """Under NO_COLOR a terminal gets no colour codes."""
    out = io.StringIO()
    terminal = Console(file=out, width=100, force_terminal=True, _environ={"NO_COLOR": "1", "TERM": "xterm-256color"})
    show(summarise(every_verdict()), console=terminal)
    assert "\x1b[3" not in out.getvalue()
    assert "RAIL-402-01" in out.getvalue()
