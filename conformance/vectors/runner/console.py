"""Console output of a vector run: progress, then a table by family and every disagreement that counts."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Sequence
from typing import Final

from conformance.outcome import Exit
from conformance.text.live import Live
from conformance.text.table import Cell, number_cells, table
from conformance.text.target_text_escaping import one_line
from conformance.text.terminal import Terminal
from conformance.vectors.runner.conclusion import Conclusion
from conformance.vectors.runner.judging import Outcome, Result
from conformance.vectors.runner.verifier_comparison import Comparison, Line

STYLES: Final = {
    Outcome.AGREE: "green",
    Outcome.OTHER_REASON: "yellow",
    Outcome.WRONG_VALUE: "red",
    Outcome.ACCEPTS: "bold red",
    Outcome.REFUSES: "red",
    Outcome.UNSUPPORTED: "dim",
    Outcome.CRASH: "bold magenta",
    Outcome.HANG: "bold magenta",
    Outcome.NONSENSE: "bold magenta",
}
MOST_SHOWN: Final = 40
_WIDE: Final = 400


class Progress:
    """The progress of a run, one line on a terminal; nothing elsewhere."""

    def __init__(self, total: int, console: Terminal | None = None) -> None:
        self._total, self._done, self._otherwise = total, 0, 0
        # Progress goes to standard error, so that the standard output contains only the result and can be redirected.
        self._live = Live(console or Terminal(sys.stderr), self._lines, times_a_second=8)
        self._live.start()

    def __call__(self, result: Result) -> None:
        """Count one result."""
        self._done += 1
        self._otherwise += result.disagrees

    def close(self) -> None:
        """Remove the line. This never raises, since a fault of the display must not end the run."""
        with contextlib.suppress(Exception):
            self._live.stop()

    def _lines(self, width: int) -> tuple[str]:
        return (f"{self._done} of {self._total} vectors, {self._otherwise} disagree"[:width],)


def show(conclusion: Conclusion, *, seed: int, console: Terminal | None = None) -> None:
    """Print a run: a table by family, the disagreements, stale explanations, and the run in a sentence."""
    console = console or Terminal()
    _counts(console, conclusion)
    _disagreements(console, conclusion.unexplained_results, "")
    # In a failed run, the disagreements that decide nothing would hide those that fail it.
    if conclusion.exit_code is not Exit.FAILED:
        _disagreements(console, conclusion.only_pinned, "only the profile decides: ")
    for result in conclusion.rotten:
        console.print(("rotten", "bold red"), f"  {result.explanation.subject} = {result.explanation.outcome.value}: ")
        # A verifier's text is printed on one line and without markup: it must not be able to send commands to the
        # terminal.
        console.print(f"        {one_line(result.detail)}")
    for remark in conclusion.remarks:
        console.print(one_line(remark, 1_000))
    style = {Exit.PASSED: "bold green", Exit.FAILED: "bold red"}.get(conclusion.exit_code, "bold magenta")
    name = one_line(conclusion.run.hello.verifier, 80)
    console.print((f"{name}: {conclusion.sentence}", style), f"; seed {seed}")


def _counts(console: Terminal, conclusion: Conclusion) -> None:
    by_family = conclusion.counts
    lines_shown = [outcome for outcome in Outcome if any(counts[outcome] for counts in by_family.values())]
    styles = [STYLES[outcome] for outcome in lines_shown]
    rows = [
        [[(family, "")], *number_cells(styles, [counts[outcome] for outcome in lines_shown])]
        for family, counts in by_family.items()
    ]
    # With one family, the sums would repeat its line.
    if len(by_family) > 1:
        sums = [sum(counts[outcome] for counts in by_family.values()) for outcome in lines_shown]
        rows.append([[("all", "bold")], *number_cells(styles, sums)])
    header = ["family", *(outcome.value for outcome in lines_shown)]
    for line in table(header, rows, console.width, numbers=True):
        console.print(*line)


def _disagreements(console: Terminal, results: Sequence[Result], before: str) -> None:
    for result in results[:MOST_SHOWN]:
        outcome = result.outcome
        console.print(
            (f"{outcome.value:12}  ", STYLES[outcome]), f"{result.vector.id}  {before}{one_line(result.detail)}"
        )
    if len(results) > MOST_SHOWN:
        console.print((f"and {len(results) - MOST_SHOWN} more; --report FILE.json has all", "dim"))


def show_comparison(outcomes: Comparison, *, differences: bool, console: Terminal | None = None) -> None:
    """Print a comparison: a line for each family and kind, and for each vector of a kind with differences.

    Args:
        outcomes: The comparison.
        differences: Leave out the kinds in which all verifiers agree.
        console: The output; standard output by default.
    """
    console = console or Terminal()
    rows = list[Sequence[Cell]]()
    for family in outcomes.families:
        rows.append(_row(family.line, "bold", 0))
        for kind in family.kinds:
            if kind.differs or not differences:
                rows.append(_row(kind.line, "", 2))
            if kind.differs:
                rows += [_row(vector, "dim", 4) for vector in kind.vectors]
    header = ["", *(one_line(label, 60) for label in outcomes.labels)]
    for line in table(header, rows, console.width if console.is_terminal else _WIDE):
        console.print(*line)


def _row(line: Line, style: str, indent: int) -> Sequence[Cell]:
    return [[(" " * indent + line.name, style)], *(_sum_counts(cell) for cell in line.cells)]


def _sum_counts(cell: Sequence[tuple[Outcome, int]]) -> Cell:
    if not cell:
        return [("not run", "dim")]
    parts: list[tuple[str, str]] = []
    for outcome, count in cell:
        parts += [(", ", "")] if parts else []
        parts.append((outcome.value if sum(n for _, n in cell) == 1 else f"{outcome.value} {count}", STYLES[outcome]))
    return parts
