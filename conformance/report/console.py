"""A finished run on a terminal: the verdicts, and for each failure everything that its repair needs.

Text of the target is printed as text, never as markup or terminal commands. The result goes to standard output.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from conformance.log.events import WHOLE_RUN
from conformance.outcome import Exit, Verdict
from conformance.report.causes import Cause
from conformance.report.conclusion import (
    WORDS,
    describe_standing,
    duration,
    expectation,
    headline,
    nothing_of_yours,
    rests_on,
    sentence,
    start_time,
    words,
)
from conformance.report.detail import finding_text, place
from conformance.report.receipt_comparison import EXPECTED, MATTERS, SAME
from conformance.report.replay_line import Replays
from conformance.report.row_result import RowResult
from conformance.report.summary import Summary
from conformance.text.table import number_cells, table
from conformance.text.target_text_escaping import one_line
from conformance.text.terminal import Terminal

STYLES: Final = {
    Verdict.PASS: "green",
    Verdict.FAIL: "bold red",
    Verdict.WARN: "yellow",
    Verdict.INCONCLUSIVE: "magenta",
    Verdict.NOT_APPLICABLE: "dim",
    Verdict.ERROR: "bold white on red",
    Verdict.DOCUMENTED: "dim",
    Verdict.LEFT_OUT: "dim",
}
_GRADE_STYLES: Final = {SAME: "green", EXPECTED: "green", MATTERS: "yellow"}
# Number of findings per row: the first by default, the second with `verbose`.
SHOWN_FINDINGS: Final = (1, 10)
# More ids of one reason would push the breaches off the screen.
SHOWN_IDS: Final = 12


def show(
    summary: Summary,
    *,
    report_files: Sequence[Path] = (),
    report: str | None = None,
    own_run: bool = False,
    console: Terminal | None = None,
    verbose: bool = False,
) -> None:
    """Print a run: the counts of each group, every breach, the basis of the verdict, and last the verdict.

    Args:
        summary: The run.
        report_files: Report files, which are listed at the end.
        report: The report folder in replay ids; by default the folder of the first report file.
        own_run: Whether this process made the run, so that its replay lines contain the options of the user.
        console: The terminal; standard output by default.
        verbose: Print several findings per row, the rows that do not apply with reasons, and each value of the profile
            that is not the default.

    Raises:
        BrokenPipeError: The reader of the output closed it before its end.
    """
    console = console or Terminal()
    # Without a report folder there is nothing to replay. The placeholder says what to put into the command.
    report = report or (str(report_files[0].parent) if report_files else "REPORT")
    if summary.not_yours is not None:
        console.print((nothing_of_yours(summary.not_yours), "bold yellow"))
    _groups(console, summary, verbose=verbose)
    # The most important cause comes last, next to the verdict: a terminal shows the end of the
    # output.
    elsewhere = _where_all_findings_are(report_files, report)
    for cause in reversed(summary.causes):
        _show_cause(console, summary, cause, Replays(report, own_run), SHOWN_FINDINGS[verbose], elsewhere)
    _inconclusive(console, summary)
    _absent(console, summary, verbose=verbose)
    _slowest(console, summary)
    _comparisons(console, summary)
    for note in summary.notes:
        if note.check == WHOLE_RUN:
            console.print((f"\n{one_line(note.text, 600)}", "yellow"))
    _basis(console, summary, verbose=verbose)
    for path in report_files:
        console.print((f"  {path}", "dim"))
    _verdict(console, summary)


def _heading(console: Terminal, text: str) -> None:
    console.print((f"\n{text}", "bold"))


def _groups(console: Terminal, summary: Summary, *, verbose: bool) -> None:
    """Print a line of counts for each group; without `verbose`, groups without an applicable row are omitted."""
    shown_verdicts = [verdict for verdict, count in summary.counts.items() if count]
    styles = {**STYLES, Verdict.PASS: ""} if summary.quick else STYLES
    column_styles = [styles[verdict] for verdict in shown_verdicts]
    rows = []
    for name, group in summary.groups.items():
        # At a target with one surface most groups do not apply, and their lines would hide the few that do.
        if not verbose and all(row.verdict is Verdict.NOT_APPLICABLE for row in group):
            continue
        counts = [sum(row.verdict is verdict for row in group) for verdict in shown_verdicts]
        rows.append([[(name, "")], *number_cells(column_styles, counts)])
    rows.append(
        [[("all", "bold")], *number_cells(column_styles, [summary.counts[verdict] for verdict in shown_verdicts])]
    )
    header = ["group", *(words(summary)[verdict] for verdict in shown_verdicts)]
    for line in table(header, rows, console.width, numbers=True):
        console.print(*line)


def _where_all_findings_are(report_files: Sequence[Path], report: str) -> str:
    """Return where a reader finds the findings that the console omits."""
    formats = {".html": "HTML", ".json": "JSON"}
    written = [formats[path.suffix] for path in report_files if path.suffix in formats]
    if not written:
        return f"`weldproof report write {report} --report html` shows all"
    return f"in the {' and '.join(written)} report{'s' if len(written) > 1 else ''}"


def _show_cause(console: Terminal, summary: Summary, cause: Cause, replays: Replays, most: int, elsewhere: str) -> None:
    """Print the breaches of one cause: the first in full, the others in one line each, and the undecided rows."""
    # A cause with undecided rows only is listed later, under "Could not be decided".
    breaches = [row for row in cause.rows if row.verdict is not Verdict.INCONCLUSIVE]
    if not breaches:
        return
    if len(cause.rows) > 1:
        _heading(console, f"{len(cause.rows)} requirements of one cause: {cause.text}")
    _breach(console, summary, breaches[0], replays, most, elsewhere)
    for row in breaches[1:]:
        word = (WORDS[row.verdict], STYLES[row.verdict])
        tried = place(row.against[0]) if row.against else ""
        headline = (one_line(f": {row.headline}{f' ({tried})' if tried else ''}", 400), "dim")
        console.print(word, "  ", (row.id, "bold"), f"  {row.requirement.sentence}", headline)
    undecided_ids = [row.id for row in cause.rows if row.verdict is Verdict.INCONCLUSIVE]
    if undecided_ids:
        ids = (_ids(undecided_ids), STYLES[Verdict.INCONCLUSIVE])
        console.print("undecided for this cause: ", ids)


def _breach(console: Terminal, summary: Summary, row: RowResult, replays: Replays, most: int, elsewhere: str) -> None:
    console.print("\n", (WORDS[row.verdict], STYLES[row.verdict]), "  ", (row.id, "bold"))
    console.print(f"  {row.requirement.sentence}")
    console.print((f"  {describe_standing(row)}", "dim"))
    expectation_text = expectation(row)
    if expectation_text is not None:
        console.print((f"  {expectation_text}", "yellow"))
    findings = row.against
    for finding in findings[:most]:
        text = finding_text(finding, summary, replays)
        console.print("\n" + "\n".join(f"    {line}" if line else "" for line in text.split("\n")))
    if len(findings) > most:
        count = len(findings) - most
        more = f"    and {count} more finding{'s' if count > 1 else ''} for this requirement, {elsewhere}"
        console.print(("\n" + more, "dim"))


def _inconclusive(console: Terminal, summary: Summary) -> None:
    alone = [one for one in summary.causes if all(row.verdict is Verdict.INCONCLUSIVE for row in one.rows)]
    if not alone:
        return
    _heading(console, "Could not be decided")
    for cause in alone:
        ids = (_ids([row.id for row in cause.rows]), STYLES[Verdict.INCONCLUSIVE])
        console.print("  ", ids, f"  {cause.text}")


def _absent(console: Terminal, summary: Summary, *, verbose: bool) -> None:
    if not summary.absent:
        return
    count = summary.counts[Verdict.NOT_APPLICABLE]
    text = f"{count} requirement{'s do' if count != 1 else ' does'} not apply to this target or are claimed absent"
    if not verbose:
        console.print((f"\n{text}; -v shows why.", "dim"))
        return
    _heading(console, text)
    for reason, ids in summary.absent.items():
        console.print((f"  {len(ids):4}  {one_line(reason, 400)}", "dim"))


def _slowest(console: Terminal, summary: Summary) -> None:
    # Faster checks are not worth a line.
    slow = [timing for timing in summary.slowest[:5] if timing.seconds >= 1]
    if slow:
        _heading(console, "Slowest checks")
    for timing in slow:
        console.print((f"  {timing.seconds:7.1f} s  {one_line(timing.check, 100)}", "dim"))


def _comparisons(console: Terminal, summary: Summary) -> None:
    """Print a line for each comparison, and a warning for each receipt that does not verify."""
    if not summary.comparisons:
        return
    names = " and ".join(
        one_line(side.name, 60) for side in (summary.comparisons[0].left, summary.comparisons[0].right)
    )
    _heading(console, f"Receipts of {names}, compared; this changes no verdict")
    rows = []
    for pair in summary.comparisons:
        style = "bold red" if pair.unverified_sides else _GRADE_STYLES.get(pair.grade or "", "magenta")
        detail = one_line(pair.missing, 400) if pair.missing is not None else ", ".join(pair.mattering_names)
        plain = [
            (one_line(pair.call, 80), ""),
            (pair.lane or "", ""),
            (pair.verdict, style),
            (one_line(detail, 400), ""),
        ]
        rows.append([[cell] for cell in plain])
    for line in table(("call", "lane", "verdict", "differences that matter"), rows, console.width):
        console.print(*line)
    for pair in summary.comparisons:
        for side in pair.unverified_sides:
            where = f"{pair.call} on {pair.lane}" if pair.lane else pair.call
            text = f"  NOT VERIFIED: the receipt of {side.name} for {where}, by its own keys: {side.fault}"
            console.print((one_line(text, 600), "bold red"))


def _basis(console: Terminal, summary: Summary, *, verbose: bool) -> None:
    _heading(console, "What the verdict rests on")
    for line in rests_on(summary):
        console.print(f"  {line}")
    if verbose:
        for key, value in summary.non_defaults:
            console.print((f"    {one_line(key, 200)} = {one_line(value, 200)}", "dim"))
    elif summary.non_defaults:
        console.print(("  -v shows these values.", "dim"))
    code = "none" if summary.exit_code is None else str(summary.exit_code)
    about = f"  {one_line(summary.target, 100)}, seed {summary.seed}, {start_time(summary)}, {duration(summary)}"
    console.print((f"{about}, exit code {code}", "dim"))


def _verdict(console: Terminal, summary: Summary) -> None:
    style = "bold green" if summary.is_clean else "bold red"
    if summary.exit_code == Exit.PASSED and not summary.is_clean:
        style = "bold magenta" if summary.quick else "bold yellow"
    console.print("\n", (headline(summary), style), ": ", sentence(summary))


def _ids(ids: Sequence[str]) -> str:
    id_list = ", ".join(ids[:SHOWN_IDS])
    return id_list if len(ids) <= SHOWN_IDS else f"{id_list} and {len(ids) - SHOWN_IDS} more"
