"""The files of a run: its log, its reports, and after a fault of the suite a file for the maintainers."""

from __future__ import annotations

import asyncio
import contextlib
import sys
import traceback
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any

import click

from conformance import extras
from conformance.cli.closed_stdout import discard_output
from conformance.cli.usage import UsageFault
from conformance.engine.expected_failures import FILE, list_faults, propose_list
from conformance.http.client import Names
from conformance.log.events import LOG, EventLog
from conformance.outcome import Exit
from conformance.processes import interrupt
from conformance.processes.own_stack import StackFault
from conformance.report import console, formats, suite_fault_report
from conformance.report.progress import Progress
from conformance.report.summary import summarise
from conformance.target import ExpectedFailure, ProfileError
from conformance.text.files import replace_file


def run_and_report(
    body: Callable[[EventLog], Coroutine[Any, Any, Exit]],
    directory: Path,
    kinds: Sequence[str],
    names: Names,
    expected_failures: Sequence[ExpectedFailure] = (),
    *,
    as_json: bool = False,
    verbose: bool = False,
) -> int:
    """Run `body` with a log in `directory`, progress on the console and handling of Ctrl-C; then write the reports.

    After a fault of the suite, the folder also contains a file for the maintainers, without the secrets of `names`.

    Returns:
        The exit code.

    Raises:
        UsageFault: `directory` cannot be written.
    """
    try:
        log = EventLog(directory / LOG)
    except OSError as closed:
        raise UsageFault(f"--report-dir: cannot write {directory / LOG}: {closed.strerror}") from closed
    progress = None if as_json else Progress()
    if progress is not None:
        log.listen(progress)
    try:
        code = interrupt.run_interruptible(body(log))
    except (StackFault, ProfileError) as trouble:
        click.echo(f"weldproof run: {trouble}", err=True)
        return int(Exit.NO_VERDICT if isinstance(trouble, StackFault) else Exit.USAGE)
    except asyncio.CancelledError:
        click.echo("weldproof run: interrupted before the first check", err=True)
        return int(Exit.INTERRUPTED)
    # Errors of usage that are found late; the command group turns them into exit code 2.
    except (click.ClickException, extras.MissingExtra):
        raise
    except Exception as escaped:  # noqa: BLE001 - an exception of the suite is not a breach
        return _report_broken_run(log, directory, kinds, names, escaped)
    finally:
        if progress is not None:
            progress.close()
        log.close()
    try:
        paths = _write(log, directory, kinds, names, expected_failures, code)
        _show(log, directory, paths, code, as_json=as_json, verbose=verbose)
    except Exception as escaped:  # noqa: BLE001 - as above
        return _report_broken_run(log, directory, (), names, escaped)
    return int(code)


def _write(
    log: EventLog,
    directory: Path,
    kinds: Sequence[str],
    names: Names,
    expected_failures: Sequence[ExpectedFailure],
    code: Exit,
) -> list[Path]:
    """Write the reports of a run and return their paths."""
    paths = formats.write(log.events, directory, kinds)
    if code == Exit.SUITE_FAULT:
        paths.append(_write_fault_file(log, directory, names))
    _propose_xfail_list(log, directory, expected_failures)
    return paths


def _propose_xfail_list(log: EventLog, directory: Path, expected_failures: Sequence[ExpectedFailure]) -> None:
    """Write the list of expected failures without its stale entries, and print why each of them is stale."""
    path, text = directory / FILE, propose_list(expected_failures, log.events)
    if text is None:
        return
    # The list is written next to the reports and not over the operator's file, who decides about
    # it.
    replace_file(path, text.encode("utf-8", "backslashreplace"))
    for trouble in list_faults(expected_failures, log.events):
        click.echo(f"weldproof run: xfail: {trouble}", err=True)
    click.echo(f"weldproof run: a list without these entries: {path}", err=True)


def _show(log: EventLog, directory: Path, paths: Sequence[Path], code: Exit, *, as_json: bool, verbose: bool) -> None:
    """Print the result of the run and the paths of its files."""
    try:
        if as_json:
            click.echo(formats.FORMATS["json"].render(log.events))
        else:
            _summary(log, directory, [directory / LOG, *paths], verbose=verbose)
        if code == Exit.SUITE_FAULT:
            click.echo(f"weldproof run: {suite_fault_report.hint(str(directory))}", err=True)
    except BrokenPipeError:
        # The exit code is that of the verdict even if the reader closes the output early.
        discard_output()


def _summary(log: EventLog, directory: Path, paths: Sequence[Path], *, verbose: bool) -> None:
    """Print the summary; if that fails, print where the reports are, since the verdict does not change."""
    try:
        console.show(summarise(log.events), report_files=paths, own_run=True, verbose=verbose)
    except BrokenPipeError:
        raise
    except Exception as escaped:  # noqa: BLE001 - a display does not decide the exit code
        fault_type = type(escaped).__name__
        click.echo(
            f"weldproof run: the summary could not be shown ({fault_type}); the reports are in {directory}", err=True
        )


def _report_broken_run(
    log: EventLog, directory: Path, kinds: Sequence[str], names: Names, fault_raised: Exception
) -> int:
    """Write what exists of a run that ended by a fault of the suite, print where, and return the exit code."""
    _write_fault_file(log, directory, names, fault_raised)
    with contextlib.suppress(Exception):  # what broke the run may break its reports
        formats.write(log.events, directory, kinds)
    words = names.redact("".join(traceback.format_exception_only(fault_raised)).strip())
    click.echo(f"weldproof run: {words}\n{suite_fault_report.hint(str(directory))}", err=True)
    return int(Exit.SUITE_FAULT)


def _write_fault_file(log: EventLog, directory: Path, names: Names, fault_raised: Exception | None = None) -> Path:
    path = directory / suite_fault_report.FILE
    words = suite_fault_report.text(log.events, sys.argv[1:], names, fault_raised)
    replace_file(path, words.encode("utf-8", "backslashreplace"))
    return path
