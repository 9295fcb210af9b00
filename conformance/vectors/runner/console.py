"""A run of a verifier on a terminal: how far it is, then a table by family and every disagreement that counts.

What the verifier said is printed as text on one line, never as markup or terminal commands. Progress goes to standard
error, the result to standard output.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from rich.console import Console
from rich.live import Live
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from conformance.outcome import Exit
from conformance.text.untrusted import one_line
from conformance.vectors.runner.comparison import Comparison, Line
from conformance.vectors.runner.conclusion import Conclusion
from conformance.vectors.runner.judging import Outcome, Result

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
SHOWN: Final = 40
_WIDE: Final = 400


class Progress:
    """One line on a terminal that says how far a run is; elsewhere nothing."""

    def __init__(self, total: int, console: Console | None = None) -> None:
        self._console = console or Console(stderr=True, highlight=False)
        self._total, self._done, self._otherwise = total, 0, 0
        self._spinner = Spinner("dots", text=Text("starting"))
        self._live = Live(self._spinner, console=self._console, transient=True, refresh_per_second=8)
        if self._console.is_terminal:
            self._live.start()

    def __call__(self, result: Result) -> None:
        """Take one result in."""
        self._done += 1
        self._otherwise += result.disagrees
        self._spinner.update(text=Text(f"{self._done} of {self._total} vectors, {self._otherwise} otherwise"))

    def close(self) -> None:
        """Take the line away."""
        self._live.stop()


def show(conclusion: Conclusion, *, seed: int, console: Console | None = None) -> None:
    """Print a run: a table by family, what counts against it, explanations that rot, and the run in a sentence."""
    console = console or Console(highlight=False)
    console.print(_table(conclusion))
    _disagreements(console, conclusion.unexplained, "")
    if conclusion.exit_code is not Exit.FAILED:
        _disagreements(console, conclusion.only_pinned, "only the profile decides: ")
    for one in conclusion.rotten:
        _line(console, ("rotten", "bold red"), f"  {one.explanation.subject} = {one.explanation.outcome.value}: ")
        _line(console, f"        {one_line(one.detail)}")
    for remark in conclusion.remarks:
        _line(console, one_line(remark, 1_000))
    style = {Exit.PASSED: "bold green", Exit.FAILED: "bold red"}.get(conclusion.exit_code, "bold magenta")
    name = one_line(conclusion.run.hello.verifier, 80)
    _line(console, (f"{name}: {conclusion.sentence}", style), f"; seed {seed}")


def _line(console: Console, *parts: str | tuple[str, str]) -> None:
    console.print(Text.assemble(*parts), soft_wrap=True)


def _table(conclusion: Conclusion) -> Table:
    by_family = conclusion.counts
    shown = [outcome for outcome in Outcome if any(counts[outcome] for counts in by_family.values())]
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    table.add_column("family")
    for outcome in shown:
        table.add_column(outcome.value, justify="right")
    for family, counts in by_family.items():
        table.add_row(Text(family), *_cells(shown, [counts[outcome] for outcome in shown]))
    if len(by_family) > 1:
        sums = [sum(counts[outcome] for counts in by_family.values()) for outcome in shown]
        table.add_row(Text("all", style="bold"), *_cells(shown, sums))
    return table


def _cells(outcomes: Iterable[Outcome], counts: Iterable[int]) -> list[Text]:
    pairs = zip(outcomes, counts, strict=True)
    return [Text(str(count), style=STYLES[outcome]) if count else Text("·", style="dim") for outcome, count in pairs]


def _disagreements(console: Console, results: Sequence[Result], before: str) -> None:
    for one in results[:SHOWN]:
        outcome = one.outcome
        _line(console, (f"{outcome.value:12}  ", STYLES[outcome]), f"{one.vector.id}  {before}{one_line(one.detail)}")
    if len(results) > SHOWN:
        _line(console, (f"and {len(results) - SHOWN} more; --report FILE.json has all", "dim"))


def show_comparison(found: Comparison, *, differing: bool, console: Console | None = None) -> None:
    """Print verifiers side by side: a line a family and a kind, and one a vector of a kind on which they differ.

    Args:
        found: The comparison.
        differing: Leave out the kinds in which all verifiers do the same.
        console: Where to; standard output by default.
    """
    console = console or Console(highlight=False)
    if not console.is_terminal:
        console.width = _WIDE
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    table.add_column("", overflow="fold")
    for label in found.labels:
        table.add_column(one_line(label, 60))
    for family in found.families:
        _row(table, family.line, "bold", 0)
        for kind in family.kinds:
            if kind.differs or not differing:
                _row(table, kind.line, "", 2)
            if kind.differs:
                for vector in kind.vectors:
                    _row(table, vector, "dim", 4)
    console.print(table)


def _row(table: Table, line: Line, style: str, indent: int) -> None:
    table.add_row(Text(" " * indent + line.name, style=style), *(_summed(cell) for cell in line.cells))


def _summed(cell: Sequence[tuple[Outcome, int]]) -> Text:
    if not cell:
        return Text("not run", style="dim")
    parts: list[tuple[str, str]] = []
    for outcome, count in cell:
        parts += [(", ", "")] if parts else []
        parts.append((outcome.value if sum(n for _, n in cell) == 1 else f"{outcome.value} {count}", STYLES[outcome]))
    return Text.assemble(*parts)
