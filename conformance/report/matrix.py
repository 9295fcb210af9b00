"""Many runs side by side, a column a run: text, Markdown, one HTML page, or data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

from conformance.outcome import Verdict
from conformance.report.comparing import DECIDED_VERDICTS
from conformance.report.conclusion import SURFACES, headline, start_time, words
from conformance.report.markdown import inline
from conformance.report.row_result import RowResult
from conformance.report.summary import Summary
from conformance.text.target_text_escaping import one_line

# What the lines of the table are.
BY: Final[Mapping[str, Callable[[RowResult], str]]] = {
    "surface": lambda row: SURFACES.get(row.requirement.surface, row.requirement.surface),
    "group": lambda row: row.group,
    "row": lambda row: row.id,
}
NOTHING: Final = "-"
_COUNTED_VERDICTS: Final = ((Verdict.FAIL, "fail"), (Verdict.WARN, "warn"), (Verdict.INCONCLUSIVE, "undecided"))


@dataclass(frozen=True, slots=True)
class Cell:
    """The result of one run in one line of the table.

    Attributes:
        text: The result in short: `passed/judged`, a row's verdict, or `-` if nothing was judged.
        beside: Reservations about it, in words; may be empty.
        tone: The verdict whose colour it has, or None if nothing was judged.
    """

    text: str
    beside: str = ""
    tone: Verdict | None = None


@dataclass(frozen=True, slots=True)
class Column:
    """One run of the table."""

    run_id: str
    target: str
    headline: str
    exit_code: int | None
    started: str


@dataclass(frozen=True, slots=True)
class Matrix:
    """A table of lines and runs; `rows` has a cell a run for each line's name, in ledger order of the first run."""

    runs: tuple[Column, ...]
    rows: Mapping[str, tuple[Cell, ...]]

    def as_json(self) -> dict[str, Any]:
        """Return it for programs: `rows` has the cells' texts, `cells` the cells."""
        return {
            "runs": [asdict(summary) for summary in self.runs],
            "rows": {name: [cell.text for cell in cells] for name, cells in self.rows.items()},
            "cells": {name: [asdict(cell) for cell in cells] for name, cells in self.rows.items()},
        }


def matrix(runs: Sequence[Summary], by: str) -> Matrix:
    """Set runs side by side, a line for each `surface`, `group` or `row` that one of them has."""
    parted = [_divide(summary, BY[by]) for summary in runs]
    names = dict.fromkeys(name for found in parted for name in found)
    cell = _verdict_cell if by == "row" else _count_cell
    table = {
        name: tuple(cell(summary, found.get(name, ())) for summary, found in zip(runs, parted, strict=True))
        for name in names
    }
    columns = (
        Column(summary.run_id, summary.target, headline(summary), summary.exit_code, start_time(summary))
        for summary in runs
    )
    return Matrix(tuple(columns), table)


def _divide(summary: Summary, name: Callable[[RowResult], str]) -> dict[str, list[RowResult]]:
    found: dict[str, list[RowResult]] = {}
    for row in summary.rows:
        found.setdefault(name(row), []).append(row)
    return found


def _verdict_cell(summary: Summary, rows: Sequence[RowResult]) -> Cell:
    return Cell(words(summary)[rows[0].verdict], tone=_tone(summary, rows[0].verdict)) if rows else Cell(NOTHING)


def _tone(summary: Summary, verdict: Verdict) -> Verdict | None:
    """Return the colour of a verdict; a quick look that found nothing has no colour."""
    return None if summary.quick and verdict is Verdict.PASS else verdict


def _count_cell(summary: Summary, rows: Sequence[RowResult]) -> Cell:
    counts = Counter(row.verdict for row in rows)
    # Rows without a verdict for or against are left out of the total: 3/3 with 5 undecided rows is shown as such beside
    # it.
    judged = sum(counts[verdict] for verdict in DECIDED_VERDICTS)
    against = [verdict for verdict in (Verdict.ERROR, *(one for one, _ in _COUNTED_VERDICTS)) if counts[verdict]]
    beside = ", ".join(f"{counts[verdict]} {word}" for verdict, word in _COUNTED_VERDICTS if counts[verdict])
    if not judged:
        return Cell(NOTHING, beside, against[0] if against else None)
    return Cell(f"{counts[Verdict.PASS]}/{judged}", beside, against[0] if against else _tone(summary, Verdict.PASS))


def text(table: Matrix, paths: Sequence[str]) -> str:
    """Return the table for a terminal: the runs by number with their outcome, then a line each."""
    width = max(len(summary.headline) for summary in table.runs)
    head = [
        f"{number}  {summary.headline:{width}}  {one_line(summary.target, 60)}  {path}"
        for number, (summary, path) in enumerate(zip(table.runs, paths, strict=True), start=1)
    ]
    names = max((len(name) for name in table.rows), default=0)
    cells = max((len(cell.text) for line in table.rows.values() for cell in line), default=1)
    numbers = [f"{number:>{cells}}" for number in range(1, len(table.runs) + 1)]
    lines = ["  ".join([" " * names, *numbers])]
    lines += [
        "  ".join([f"{name:{names}}", *(f"{cell.text:>{cells}}" for cell in row)]) for name, row in table.rows.items()
    ]
    return "\n".join([*head, "", *lines])


def markdown(table: Matrix) -> str:
    """Return the table as GitHub-flavoured Markdown."""
    lines = [
        f"| | {' | '.join(inline(summary.target) for summary in table.runs)} |",
        f"| --- |{' ---: |' * len(table.runs)}",
    ]
    lines += [f"| **outcome** | {' | '.join(inline(summary.headline) for summary in table.runs)} |"]
    for name, row in table.rows.items():
        cells = (inline(cell.text) + (f" ({inline(cell.beside)})" if cell.beside else "") for cell in row)
        lines.append(f"| {inline(name)} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def html(table: Matrix) -> bytes:
    """Return the table as one page without a network, UTF-8."""
    from conformance.report.html import template  # noqa: PLC0415 - the other forms need no template engine

    return template("matrix.html.j2").render(table=table).encode("utf-8")
