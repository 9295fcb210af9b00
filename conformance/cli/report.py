"""`weldproof report`: shows one run again, writes it in another format, and compares runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Final

import click
import orjson

from conformance.cli.json_output import print_json
from conformance.cli.suggestion import SuggestingGroup
from conformance.cli.usage import UsageFault
from conformance.http.curl_and_templates import count_templates
from conformance.log import events
from conformance.report import console, formats
from conformance.report import json as json_report
from conformance.report import matrix as matrix_report
from conformance.report.comparing import Change, compare, judged_by_both, judged_only
from conformance.report.conclusion import WORDS, headline
from conformance.report.har import archive
from conformance.report.matrix import BY
from conformance.report.matrix import matrix as side_by_side
from conformance.report.merging import MergeFault, merge_parts
from conformance.report.summary import LogFault, Summary, summarise
from conformance.text.files import LARGEST_REPORT, read_file, refuse_link
from conformance.text.json_safe import json_safe
from conformance.text.target_text_escaping import one_line

# Characters of a request template that are shown.
_TEMPLATE_CHARACTERS: Final = 300


@click.group("report", cls=SuggestingGroup)
def command() -> None:
    """Show one run, write it in another format, or compare runs.

    A run is a report folder, its events.ndjson.gz or its report.json.
    """


@command.command("show")
@click.argument("run", type=click.Path(path_type=Path, exists=True))
@click.option("--json", "as_json", is_flag=True, help="Print only the JSON report.")
@click.option(
    "-v", "--verbose", is_flag=True, help="Show more findings per requirement, and the values of the profile."
)
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
    "--report",
    "kinds",
    multiple=True,
    required=True,
    type=click.Choice(sorted(formats.FORMATS)),
    help="Format to write.",
)
@click.option(
    "--report-dir",
    type=click.Path(path_type=Path, file_okay=False),
    help="File to write (default: in the folder of the log).",
)
def write(run: Path, kinds: Sequence[str], report_dir: Path | None) -> None:
    """Write a recorded run in another format. It is read from its event log."""
    event_log = read_log(run)
    try:
        paths = formats.write(event_log, report_dir or (run if run.is_dir() else run.parent), kinds)
    except (OSError, ValueError) as fault:
        raise UsageFault(f"cannot write the report of {run}: {one_line(str(fault))}") from fault
    for path in paths:
        click.echo(path)


@command.command("diff")
@click.argument("before", type=click.Path(path_type=Path, exists=True))
@click.argument("after", type=click.Path(path_type=Path, exists=True))
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_context
def diff(ctx: click.Context, before: Path, after: Path, as_json: bool) -> None:
    """Compare two runs: requirements with different verdicts, and requirements that only one run judged.

    A requirement is judged if it passed, failed or warned. If one run tested a part of the suite, the requirements of
    that part are compared and the others are counted. A requirement that the second run does not judge any more is
    worse.

    Exit codes: 0 no requirement is worse, 1 at least one is worse, 2 usage, or no requirement in common.
    """
    old, new = read_run(before), read_run(after)
    if not {row.id for row in old.rows} & {row.id for row in new.rows}:
        raise UsageFault("the two runs have no requirement in common, so there is nothing to compare")
    changes = compare(old, new)
    if as_json:
        change_members = [{**asdict(change), "worse": change.worse} for change in changes]
        value: dict[str, object] = {"before": _run_members(old), "after": _run_members(new), "changes": change_members}
        value |= {"judged_by_both": judged_by_both(old, new), "judged_only": judged_only(changes)}
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
    secrets and live values. Both runs are read from their event logs. Exit codes: 0 the same requests, each equally
    often, 1 different requests, 2 usage.
    """
    # Bodies and live values differ between runs. Their templates must not, for one seed and target.
    old, new = (_templates(path) for path in (before, after))
    differences = {
        template: (old[template], new[template]) for template in sorted({*old, *new}) if old[template] != new[template]
    }
    if as_json:
        listed_differences = [
            {"template": orjson.loads(template), "before": was, "after": now}
            for template, (was, now) in differences.items()
        ]
        print_json({"before": old.total(), "after": new.total(), "differing": listed_differences}, indent=False)
    else:
        for template, (was, now) in differences.items():
            click.echo(f"{was} → {now}  {one_line(template, _TEMPLATE_CHARACTERS)}")
        click.echo(f"{old.total()} and {new.total()} requests, {len(differences)} templates differ")
    ctx.exit(1 if differences else 0)


@command.command("har")
@click.argument("run", type=click.Path(path_type=Path, exists=True))
@click.option("--check", help="Write only exchanges of this check.")
@click.option(
    "--output", "-o", type=click.Path(path_type=Path, dir_okay=False), help="File to write (default: standard output)."
)
def har(run: Path, check: str | None, output: Path | None) -> None:
    """Write a run's exchanges as an HTTP Archive (HAR 1.2), read from its event log; secrets stay names."""
    try:
        value = archive(read_log(run), check)
    except LogFault as fault:
        raise UsageFault(f"cannot read {run}: {fault}") from fault
    if check is not None and not value["log"]["entries"]:
        raise UsageFault(f"--check {check}: no exchange of this run is of that check")
    if output is None:
        print_json(value, indent=False)
    else:
        output.write_bytes(orjson.dumps(value))


@command.command("matrix")
@click.argument("runs", nargs=-1, required=True, type=click.Path(path_type=Path, exists=True))
@click.option("--by", type=click.Choice(sorted(BY)), default="group", show_default=True, help="Content of a line.")
@click.option("--rows", "as_rows", is_flag=True, help="One line per requirement, as --by row.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "markdown", "html", "json"]),
    default="text",
    show_default=True,
    help="Format of the table. Without --by, html and markdown have one line per surface.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON, as --format json.")
@click.pass_context
def matrix(ctx: click.Context, runs: Sequence[Path], by: str, as_rows: bool, form: str, as_json: bool) -> None:
    """Compare several runs: each line shows how many of the judged requirements pass in each run."""
    summaries = [read_run(path) for path in runs]
    # The default of --by depends on the format: a page has room for one line per surface, and a
    # terminal shows families.
    is_by_given = ctx.get_parameter_source("by") is not click.core.ParameterSource.DEFAULT
    line = "row" if as_rows else "surface" if form in {"html", "markdown"} and not is_by_given else by
    table = side_by_side(summaries, line)
    if as_json or form == "json":
        click.echo(json_report.encode(json_safe(table.as_json())), nl=False)
    elif form == "html":
        click.echo(matrix_report.html(table), nl=False)
    elif form == "markdown":
        click.echo(matrix_report.markdown(table), nl=False)
    else:
        click.echo(matrix_report.text(table, [str(path) for path in runs]))


@command.command("merge")
@click.argument("runs", nargs=-1, required=True, type=click.Path(path_type=Path, exists=True))
@click.option(
    "--report",
    "kinds",
    multiple=True,
    type=click.Choice(sorted(formats.FORMATS)),
    help="Format of a report to write (default: html and json).",
)
@click.option(
    "--report-dir", type=click.Path(path_type=Path, file_okay=False), default=Path("report"), show_default=True
)
@click.option(
    "-v", "--verbose", is_flag=True, help="Show more findings per requirement, and the values of the profile."
)
@click.pass_context
def merge(ctx: click.Context, runs: Sequence[Path], kinds: Sequence[str], report_dir: Path, verbose: bool) -> None:
    """Merge the parts of a run that `weldproof run --shard I/N` wrote: all N parts, each once.

    The result is the report of the whole run, with its exit code.
    """
    parts = {str(path): read_log(path) for path in runs}
    # The merged log would replace the log of that part while it is needed.
    if report_dir.resolve() in {(path if path.is_dir() else path.parent).resolve() for path in runs}:
        raise UsageFault(f"--report-dir: {report_dir} is the folder of one of the parts; give another folder")
    try:
        whole = merge_parts(parts)
        summary = summarise(whole)
        log = events.EventLog(report_dir / events.LOG)
        for event in whole:
            log.add(**event)
        log.close()
        paths = formats.write(whole, report_dir, kinds or ("html", "json"))
    # The parts come from other machines. A log that lacks a member fails somewhere in the merge, so
    # every such exception is a fault of the input.
    except (KeyError, TypeError, ValueError, AttributeError, OSError) as fault:
        words = str(fault) if isinstance(fault, MergeFault | LogFault) else f"{type(fault).__name__}: {fault}"
        raise UsageFault(f"cannot merge: {one_line(words)}") from fault
    console.show(summary, report_files=[report_dir / events.LOG, *paths], verbose=verbose)
    ctx.exit(summary.exit_code or 0)


def _templates(path: Path) -> Counter[str]:
    """Return the templates of a run's requests, each with its number of requests.

    Raises:
        UsageFault: The log is missing, or its exchanges cannot be read.
    """
    event_log = read_log(path)
    try:
        return count_templates(event_log)
    except (KeyError, TypeError, ValueError, AttributeError) as fault:
        raise UsageFault(
            f"cannot read the event log of {path}: {type(fault).__name__}: {one_line(str(fault))}"
        ) from fault


def read_log(path: Path) -> tuple[events.Event, ...]:
    """Read the event log of a report folder, or the one at `path`.

    Raises:
        UsageFault: There is no log, or it cannot be read.
    """
    try:
        return events.read_log(events.log_in(path) if path.is_dir() else path)
    except (OSError, ValueError) as fault:
        raise UsageFault(f"cannot read the event log of {path}: {one_line(str(fault))}") from fault


def read_run(path: Path) -> Summary:
    """Read a run from a report folder, an event log or a JSON report.

    Raises:
        UsageFault: There is no run at `path`, or it cannot be read.
    """
    try:
        if path.is_dir():
            path = _find_log(path)
        if path.suffix != ".json":
            return summarise(events.read_log(path))
        return json_report.read(orjson.loads(read_file(path, LARGEST_REPORT)))
    except (OSError, ValueError, LogFault) as fault:
        raise UsageFault(f"cannot read {path}: {one_line(str(fault))}") from fault


def _find_log(folder: Path) -> Path:
    """Return the event log of a report folder, or its JSON report if it has no log.

    Raises:
        UsageFault: The folder contains neither.
        OSError: The file is a symbolic link.
    """
    log_path = next((one for one in (events.log_in(folder), folder / "report.json") if one.exists()), None)
    if log_path is None:
        raise UsageFault(
            f"{folder} contains neither {events.LOG} nor report.json; give a report folder or one of these files"
        )
    refuse_link(log_path)
    return log_path


def _run_members(summary: Summary) -> dict[str, object]:
    return {
        "run_id": summary.run_id,
        "target": summary.target,
        "exit_code": summary.exit_code,
        "headline": headline(summary),
    }


def _show_changes(old: Summary, new: Summary, changes: Sequence[Change]) -> None:
    for name, summary in (("before", old), ("after", new)):
        code = "none" if summary.exit_code is None else summary.exit_code
        click.echo(f"{name:7} {headline(summary)} (exit code {code}): {one_line(summary.target, 100)}")
    click.echo()
    unselected_changes = [change for change in changes if change.unselected]
    for change in changes:
        if change.is_compared:
            _show_change(change)
    for name, ids in judged_only(changes).items():
        if ids:
            click.echo(f"judged in the run {name} only:")
        for change in changes:
            if change.id in ids:
                _show_change(change)
    worse, differing_count = sum(change.worse for change in changes), sum(change.is_compared for change in changes)
    for name, count in (
        ("before", _count_missing(unselected_changes, "before")),
        ("after", _count_missing(unselected_changes, "after")),
    ):
        if count:
            click.echo(f"{count} requirements were not selected in the run {name} and are not compared")
    click.echo(f"{judged_by_both(old, new)} requirements were judged in both runs")
    lost_count = sum(change.worse and not change.is_compared for change in changes)
    also = f"; {lost_count} worse because they are not judged any more" if lost_count else ""
    click.echo(
        (
            f"{differing_count} verdicts differ, {worse - lost_count} of them worse"
            if differing_count
            else "no verdict differs"
        )
        + also
    )


def _show_change(change: Change) -> None:
    words = [WORDS[verdict] if verdict is not None else "not selected" for verdict in (change.before, change.after)]
    mark = click.style("worse", fg="red") if change.worse else "     "
    click.echo(f"{mark}  {one_line(change.id, 80)}  {words[0]} → {words[1]}  {one_line(change.sentence, 600)}")


def _count_missing(changes: Sequence[Change], side: str) -> int:
    return sum(getattr(change, side) is None for change in changes)
