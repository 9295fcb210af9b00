"""`weldproof report`: one run shown again or in another format, and runs compared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

import click
import orjson

from conformance.cli.usage import UsageFault
from conformance.http.recorded import templates
from conformance.ledger import Requirement
from conformance.log import events
from conformance.outcome import Verdict
from conformance.report import console, formats
from conformance.report import json as json_report
from conformance.report.conclusion import WORDS, headline
from conformance.report.row_result import RowResult
from conformance.report.summary import LogFault, Summary, summarise
from conformance.text.json_safe import json_safe
from conformance.text.untrusted import one_line

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
# Letters of a template that are shown.
_SHOWN: Final = 300
# Options of `weldproof run` that choose rows.
_SELECTING: Final = ("ids", "surfaces", "levels", "lanes", "addon")


@click.group("report")
def command() -> None:
    """Show one run, write it in another format, or compare runs.

    A run is a report folder, its events.ndjson.gz or its report.json.
    """


@command.command("show")
@click.argument("run", type=click.Path(path_type=Path, exists=True))
@click.option("--json", "as_json", is_flag=True, help="Print the JSON report.")
@click.option("-v", "--verbose", is_flag=True, help="Show more findings of a row, and the profile's values.")
def show(run: Path, as_json: bool, verbose: bool) -> None:
    """Show one run as it ended."""
    summary = read_run(run)
    if as_json:
        click.echo(json_report.encode(json_report.document(summary)), nl=False)
    else:
        console.show(summary, report=str(run if run.is_dir() else run.parent), verbose=verbose)


@command.command("write")
@click.argument("run", type=click.Path(path_type=Path, exists=True))
@click.option(
    "--report", "kinds", multiple=True, required=True, type=click.Choice(sorted(formats.FORMATS)), help="Format."
)
@click.option("--report-dir", type=click.Path(path_type=Path, file_okay=False), help="Where to; beside the log.")
def write(run: Path, kinds: Sequence[str], report_dir: Path | None) -> None:
    """Write a recorded run in another format. It is read from its event log."""
    log = events.log_in(run) if run.is_dir() else run
    try:
        written = formats.write(events.read(log), report_dir or log.parent, kinds)
    except (OSError, ValueError) as fault:
        raise UsageFault(f"cannot read the event log {log}: {fault}") from fault
    for path in written:
        click.echo(path)


@dataclass(frozen=True, slots=True)
class Change:
    """One row whose verdict differs.

    Attributes:
        id: Its id.
        sentence: Its sentence.
        before: Its verdict in the first run, None where it has none.
        after: Its verdict in the second run likewise.
        unselected: Whether the run that has none was asked for another part of the suite than the other run.
    """

    id: str
    sentence: str
    before: Verdict | None
    after: Verdict | None
    unselected: bool = False

    @property
    def worse(self) -> bool:
        """Whether the second run says less good of the row; a row that is not looked at any more is worse.

        One that the operator did not select is not: what is compared is what both runs were asked for.
        """
        return not self.unselected and _rank(self.after) < _rank(self.before)


@command.command("diff")
@click.argument("before", type=click.Path(path_type=Path, exists=True))
@click.argument("after", type=click.Path(path_type=Path, exists=True))
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_context
def diff(ctx: click.Context, before: Path, after: Path, as_json: bool) -> None:
    """Compare two runs: every row whose verdict differs.

    Where one run is of a part of the suite, the rows of that part are compared, and the others are counted.

    Exit codes: 0 nothing became worse, 1 something did, 2 usage, or no row is in both.
    """
    old, new = read_run(before), read_run(after)
    if not {row.id for row in old.rows} & {row.id for row in new.rows}:
        raise UsageFault("the two runs have no row in common, so there is nothing to compare")
    changes = compare(old, new)
    if as_json:
        shown = [{**asdict(change), "worse": change.worse} for change in changes]
        value = {"before": _named(old), "after": _named(new), "changes": shown}
        click.echo(json_report.encode(json_safe(value)), nl=False)
    else:
        _show_changes(old, new, changes)
    ctx.exit(1 if any(change.worse for change in changes) else 0)


@command.command("requests")
@click.argument("before", type=click.Path(path_type=Path, exists=True))
@click.argument("after", type=click.Path(path_type=Path, exists=True))
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_context
def requests(ctx: click.Context, before: Path, after: Path, as_json: bool) -> None:
    """Compare the requests of two runs, which are the same for the same seed and target.

    A request counts by its template: method, path, names of its header fields and body, with names such as $TOKEN for
    secrets and live values. Both runs are read from their event logs. Exit codes: 0 the same requests, each as often;
    1 not, 2 usage.
    """
    old, new = (templates(read_log(path)) for path in (before, after))
    found = {one: (old[one], new[one]) for one in sorted({*old, *new}) if old[one] != new[one]}
    if as_json:
        differing = [{"template": orjson.loads(one), "before": was, "after": now} for one, (was, now) in found.items()]
        click.echo(orjson.dumps({"before": old.total(), "after": new.total(), "differing": differing}))
    else:
        for one, (was, now) in found.items():
            click.echo(f"{was} → {now}  {one_line(one, _SHOWN)}")
        click.echo(f"{old.total()} and {new.total()} requests, {len(found)} templates differ")
    ctx.exit(1 if found else 0)


@command.command("matrix")
@click.argument("runs", nargs=-1, required=True, type=click.Path(path_type=Path, exists=True))
@click.option("--rows", "as_rows", is_flag=True, help="A line a requirement; by default a line a row group.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def matrix(runs: Sequence[Path], as_rows: bool, as_json: bool) -> None:
    """Set many runs side by side: of each group, how many of the judged rows pass in each run."""
    summaries = [read_run(path) for path in runs]
    rows = tabulated(summaries, by_row=as_rows)
    if as_json:
        value = {"runs": [_named(run) for run in summaries], "rows": rows}
        click.echo(json_report.encode(json_safe(value)), nl=False)
        return
    outcome_width = max(len(headline(run)) for run in summaries)
    for number, run in enumerate(summaries, start=1):
        click.echo(f"{number}  {headline(run):{outcome_width}}  {one_line(run.target, 60)}  {runs[number - 1]}")
    click.echo()
    name_width = max((len(name) for name in rows), default=0)
    width = max((len(cell) for cells in rows.values() for cell in cells), default=1)
    click.echo("  ".join([" " * name_width, *(f"{number:>{width}}" for number in range(1, len(runs) + 1))]).rstrip())
    for name, cells in rows.items():
        click.echo("  ".join([f"{name:{name_width}}", *(f"{cell:>{width}}" for cell in cells)]))


def tabulated(runs: Sequence[Summary], *, by_row: bool) -> dict[str, list[str]]:
    """Return each row's verdict, or each group's `passed/judged`, in each run; `-` where a run has none."""
    if by_row:
        verdicts = [{row.id: WORDS[row.verdict] for row in run.rows} for run in runs]
    else:
        verdicts = [{name: _passed(rows) for name, rows in run.groups.items()} for run in runs]
    names = dict.fromkeys(name for found in verdicts for name in found)
    return {name: [found.get(name, "-") for found in verdicts] for name in names}


def _passed(rows: Sequence[RowResult]) -> str:
    judged = [row for row in rows if row.verdict in {Verdict.PASS, Verdict.FAIL, Verdict.WARN}]
    return f"{sum(row.verdict is Verdict.PASS for row in judged)}/{len(judged)}" if judged else "-"


def read_log(path: Path) -> tuple[events.Event, ...]:
    """Read the event log of a report folder, or the one at `path`.

    Raises:
        UsageFault: There is none.
    """
    log = events.log_in(path) if path.is_dir() else path
    try:
        return events.read(log)
    except (OSError, ValueError) as fault:
        raise UsageFault(f"cannot read the event log {log}: {fault}") from fault


def read_run(path: Path) -> Summary:
    """Read a run from a report folder, an event log or a JSON report.

    Raises:
        UsageFault: There is no such thing at `path`.
    """
    if path.is_dir():
        path = next((one for one in (events.log_in(path), path / "report.json") if one.exists()), path)
    if path.is_dir():
        raise UsageFault(f"{path} holds neither {events.LOG} nor report.json; name a report folder or one of these")
    try:
        if path.suffix != ".json":
            return summarise(events.read(path))
        return json_report.read(orjson.loads(path.read_bytes()))
    except (OSError, ValueError, LogFault) as fault:
        raise UsageFault(f"cannot read {path}: {one_line(str(fault))}") from fault


def compare(before: Summary, after: Summary) -> tuple[Change, ...]:
    """Return the rows whose verdict differs, what became worse first, else in the order of the runs."""
    old, new = ({row.id: row for row in run.rows} for run in (before, after))
    found = []
    for row_id in {**old, **new}:
        requirement: Requirement = (new.get(row_id) or old[row_id]).requirement
        was, now = (run[row_id].verdict if row_id in run else None for run in (old, new))
        if was is not now:
            part = None in (was, now) and _selection(before) != _selection(after)
            found.append(Change(row_id, requirement.sentence, was, now, unselected=part))
    return tuple(sorted(found, key=lambda change: not change.worse))


def _rank(verdict: Verdict | None) -> int:
    return len(_WORST_FIRST) - 2 if verdict is None else _WORST_FIRST.index(verdict)


def _selection(run: Summary) -> dict[str, object]:
    """Return what of the suite a run was asked for."""
    return {name: run.options[name] for name in _SELECTING if run.options.get(name)} | {"quick": run.quick}


def _named(run: Summary) -> dict[str, object]:
    return {"run_id": run.run_id, "target": run.target, "exit_code": run.exit_code, "headline": headline(run)}


def _show_changes(old: Summary, new: Summary, changes: Sequence[Change]) -> None:
    for name, run in (("before", old), ("after", new)):
        code = "none" if run.exit_code is None else run.exit_code
        click.echo(f"{name:7} {headline(run)} (exit code {code}): {one_line(run.target, 100)}")
    click.echo()
    apart = [change for change in changes if change.unselected]
    for change in changes:
        if change.unselected:
            continue
        words = [WORDS[verdict] if verdict is not None else "not selected" for verdict in (change.before, change.after)]
        mark = click.style("worse", fg="red") if change.worse else "     "
        click.echo(f"{mark}  {change.id}  {words[0]} → {words[1]}  {change.sentence}")
    worse, differing = sum(change.worse for change in changes), len(changes) - len(apart)
    for name, count in (("before", _lacking(apart, "before")), ("after", _lacking(apart, "after"))):
        if count:
            click.echo(f"{count} rows were not selected in the run {name}, and are not compared")
    click.echo(f"{differing} verdicts differ, {worse} of them worse" if differing else "no verdict differs")


def _lacking(changes: Sequence[Change], run: str) -> int:
    return sum(getattr(change, run) is None for change in changes)
