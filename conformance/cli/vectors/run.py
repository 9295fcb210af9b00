"""`weldproof vectors run` and `compare`: runs a verifier on the vectors, and compares verifiers."""

from __future__ import annotations

import asyncio
import json
import os
import secrets
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

import click

from conformance import vectors
from conformance.cli.usage import UsageFault
from conformance.cli.vectors.package_loading import open_package
from conformance.outcome import Exit
from conformance.processes.interrupt import make_interruptible
from conformance.text.files import LARGEST_REPORT, TooLarge, read_file, read_text
from conformance.text.json_safe import json_safe
from conformance.text.workflow_command_escaping import escape_commands_in_json
from conformance.vectors.runner import console, document, explanations, html, verifier_comparison
from conformance.vectors.runner.conclusion import Conclusion
from conformance.vectors.runner.running import NothingJudged, Plan, Runner

_FILE = click.Path(path_type=Path, dir_okay=False)


@click.command("run", context_settings={"allow_interspersed_args": False})
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="-- COMMAND...")
@click.option("--family", "families", multiple=True, metavar="NAME", help="Only vectors of this family.")
@click.option("--id", "patterns", multiple=True, metavar="ID", help="Only this vector, or a pattern such as 'jcs/*'.")
@click.option(
    "--explained", type=_FILE, help="TOML file with [[explained]] entries: known disagreements, each with its reason."
)
@click.option("--profile", is_flag=True, help="Also count vectors that only the profile decides.")
@click.option(
    "--timeout", "seconds", type=click.FloatRange(min=0.01), default=10.0, show_default=True, metavar="SECONDS"
)
@click.option(
    "--start-timeout",
    "start_seconds",
    type=click.FloatRange(min=0.01),
    default=30.0,
    show_default=True,
    metavar="SECONDS",
    help="Longest time for the greeting.",
)
@click.option(
    "--seed", type=int, help="Seed of the order of the questions. It is printed, so that a run can be repeated."
)
@click.option("--report", type=_FILE, help="Write the result of every vector as JSON.")
@click.option("--json", "as_json", is_flag=True, help="Print only that JSON on standard output.")
@click.option(
    "--package",
    "folder",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="Folder of another vector package, such as an unpacked archive.",
)
@click.pass_context
def run_command(
    ctx: click.Context,
    words: tuple[str, ...],
    families: tuple[str, ...],
    patterns: tuple[str, ...],
    explained: Path | None,
    profile: bool,
    seconds: float,
    start_seconds: float,
    seed: int | None,
    report: Path | None,
    as_json: bool,
    folder: Path | None,
) -> None:
    """Run a verifier in any language on the vectors.

    COMMAND receives one question per line on its standard input: weldproof vectors run -- python -m
    conformance.vectors.judges

    Exit codes: 0 all agree or are explained, 1 a disagreement or an unused explanation, 2 usage, 3 nothing was judged,
    130 interrupted.
    """
    if not words:
        raise UsageFault("give the verifier's command after --: weldproof vectors run -- node verifier.mjs")
    package = open_package(folder)
    entries = _explanations(explained)
    if report is not None and not report.absolute().parent.is_dir():
        raise UsageFault(f"--report {report}: the folder does not exist")
    # A run may take minutes, so a report that cannot be written is rejected before it.
    if report is not None and not os.access(report if report.exists() else report.absolute().parent, os.W_OK):
        raise UsageFault(f"--report {report}: the file cannot be written")
    if seed is None:
        # The order of the questions is random, since a verifier must not depend on it.
        seed = secrets.randbelow(2**32)
    selected_vectors = _select_vectors(package, families, patterns)
    names = dict.fromkeys(one.family for one in selected_vectors)
    selected_families = {name: package.families[name] for name in names}
    plan = Plan(words, selected_families, selected_vectors, seed, seconds, start_seconds)
    conclusion = _run_verifier(ctx, plan, package, entries, profile=profile, quiet=as_json)
    report_bytes = document.write_document(conclusion, plan, package.version)
    if as_json:
        click.echo(escape_commands_in_json(report_bytes), nl=False)
    else:
        console.show(conclusion, seed=seed)
    # Last, so that the result is shown even if the file cannot be written.
    if report is not None:
        _write(report, report_bytes)
        if not as_json:
            click.secho(f"  {report}", dim=True)
    ctx.exit(conclusion.exit_code)


def _run_verifier(
    ctx: click.Context,
    plan: Plan,
    package: vectors.Package,
    entries: Sequence[explanations.Explanation],
    *,
    profile: bool,
    quiet: bool,
) -> Conclusion:
    progress = None if quiet else console.Progress(len(plan.vectors))
    runner = Runner(plan) if progress is None else Runner(plan, progress)
    try:
        outcome = asyncio.run(make_interruptible(runner.ask_all()))
    except NothingJudged as fault:
        click.echo(f"weldproof vectors run: {fault}", err=True)
        ctx.exit(Exit.NO_VERDICT)
    except asyncio.CancelledError:
        click.echo("weldproof vectors run: interrupted before the first vector", err=True)
        ctx.exit(Exit.INTERRUPTED)
    finally:
        if progress is not None:
            progress.close()
    reasons = explanations.apply_explanations(outcome.results, entries)
    unused_entries = explanations.rotten(entries, outcome.results, package.vectors)
    return Conclusion(outcome, reasons, unused_entries, profile)


def _select_vectors(
    package: vectors.Package, families: Sequence[str], patterns: Sequence[str]
) -> tuple[vectors.Vector, ...]:
    for name in families:
        if name not in package.families:
            raise UsageFault(f"no family {name}; the families are {', '.join(package.families)}")
    for pattern in patterns:
        # A misspelt pattern next to a good one would silently run fewer vectors.
        if not any(fnmatchcase(vector.id, pattern) for vector in package.vectors):
            raise UsageFault(f"no vector {pattern}; `weldproof vectors list --each` shows them all")
    selected_vectors = tuple(
        vector
        for vector in package.vectors
        if (not families or vector.family in families)
        and (not patterns or any(fnmatchcase(vector.id, pattern) for pattern in patterns))
    )
    if not selected_vectors:
        raise UsageFault("no vector of these families has this id")
    return selected_vectors


def _explanations(path: Path | None) -> tuple[explanations.Explanation, ...]:
    if path is None:
        return ()
    try:
        return explanations.read(read_text(path))
    except OSError as fault:
        raise UsageFault(f"--explained {path}: {fault.strerror}") from fault
    except (ValueError, explanations.ExplanationsFault) as fault:
        raise UsageFault(f"--explained {path}: {fault}") from fault


def _write(path: Path, data: bytes) -> None:
    try:
        path.write_bytes(data)
    except OSError as fault:
        raise UsageFault(f"{path}: {fault.strerror}") from fault


@click.command("compare")
@click.argument("results", nargs=-1, required=True, type=_FILE, metavar="RESULT.json...")
@click.option("--html", "page", type=_FILE, help="Write the comparison as one HTML file.")
@click.option("--differing", is_flag=True, help="Omit kinds for which all verifiers give the same result.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def compare_command(results: Sequence[Path], page: Path | None, differing: bool, as_json: bool) -> None:
    """Compare verifiers by the reports of `weldproof vectors run --report`, with one line per kind of vector.

    Exit codes: 0 compared, 2 usage.
    """
    try:
        result = verifier_comparison.compare(_documents(results))
    except verifier_comparison.ComparisonFault as fault:
        raise UsageFault(str(fault)) from fault
    if page is not None:
        _write(page, html.render(result))
    if as_json:
        click.echo(escape_commands_in_json(json.dumps(json_safe(result.as_json), indent=1).encode()))
    else:
        console.show_comparison(result, differences=differing)


def _documents(paths: Sequence[Path]) -> Mapping[str, document.Document]:
    result_documents = {}
    for path in paths:
        try:
            result_documents[str(path)] = document.read(read_file(path, LARGEST_REPORT))
        except OSError as fault:
            raise UsageFault(f"{path}: {fault.strerror}") from fault
        except (document.DocumentFault, TooLarge) as fault:
            raise UsageFault(f"{path}: {fault}") from fault
    return result_documents
