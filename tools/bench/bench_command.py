"""`weldproof bench`: what the reference costs, beside floors and peers that were measured in the same run."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path

import click
import orjson

from conformance.cli.usage import UsageFault
from conformance.log import events
from conformance.outcome import Exit, Inconclusive
from conformance.processes.interrupt import make_interruptible
from conformance.processes.own_stack import StackFault
from tools.bench import document, goals, http_contest, in_process, peer_home, suite, table, turns
from tools.bench.in_process import BenchFault
from tools.bench.load import LoadFault
from tools.bench.ratios import MARGIN, Job, join_parts, slowdowns
from tools.bench.record import (
    QUICK_RECORDS,
    RECORD,
    Figures,
    Machine,
    QuickRecord,
    keep_quick,
    quick_records,
    standing_as_json,
    today,
)
from tools.bench.turns import TurnFault

_DOCUMENT = Path("docs/performance.md")
_QUICK_SECONDS = 0.03
# How often a job that seems slower is measured again.
_AGAIN = 4
_PAYMENTS = 8


@dataclass(frozen=True, slots=True)
class _Asked:
    names: tuple[str, ...]
    rounds: int
    seconds: float
    lanes: bool


def bench(
    ctx: click.Context,
    only: Sequence[str],
    rounds: int,
    seconds: float,
    quick: bool,
    record: bool,
    against: Path | None,
    log: Path | None,
    as_json: bool,
) -> None:
    """Do what `weldproof bench` says of itself; its options are declared beside its help."""
    suite_seconds = None if log is None else _read_suite_seconds(log)
    if suite_seconds is not None and not record:
        if as_json:
            click.echo(orjson.dumps(suite_seconds.as_json(), option=orjson.OPT_INDENT_2))
        else:
            table.show_suite(suite_seconds)
        return
    if record and only:
        raise UsageFault("a record needs every job: leave --only out")
    if record and not _DOCUMENT.parent.is_dir():
        raise UsageFault("--record writes docs/performance.md: run it in the source tree")
    try:
        if quick:
            ctx.exit(_record_quick(rounds) if record else _quick(tuple(only), rounds, against, as_json=as_json))
        figures = _measure_all(
            _Asked(tuple(only) or (*goals.JOBS, "lanes"), rounds, seconds, not only or "lanes" in only)
        )
    except (BenchFault, LoadFault, TurnFault, StackFault, Inconclusive) as fault:
        click.echo(f"weldproof bench: {fault}", err=True)
        ctx.exit(Exit.SUITE_FAULT)
    except (asyncio.CancelledError, KeyboardInterrupt):
        ctx.exit(Exit.INTERRUPTED)
    if as_json:
        click.echo(orjson.dumps(figures.as_json(), option=orjson.OPT_INDENT_2))
    else:
        table.show(figures)
    if record:
        suite = None if suite_seconds is None else suite_seconds.as_json()
        _write(replace(figures, suite=suite, profiles=in_process.profiles(goals.IN_PROCESS)))


def _write(figures: Figures) -> None:
    before = _DOCUMENT.read_text("utf-8") if _DOCUMENT.exists() else ""
    RECORD.write_bytes(orjson.dumps(figures.as_json(), option=orjson.OPT_INDENT_2) + b"\n")
    _DOCUMENT.write_text(document.document(figures, handwritten_part=document.kept_part(before)), "utf-8")
    _say(f"written: {_DOCUMENT}, {RECORD}")


def _say(text: str) -> None:
    click.echo(text, err=True)


def _measure_all(request: _Asked) -> Figures:
    inside = [name for name in goals.IN_PROCESS if name in request.names]
    jobs: list[Job] = []
    versions: dict[str, str] = {"weldproof": version("weldproof")}
    if inside:
        job_figures, their_versions = in_process.measure(inside, rounds=request.rounds, seconds=0.1)
        jobs += job_figures
        versions |= their_versions
    lanes: dict[str, float] = {}
    with tempfile.TemporaryDirectory(prefix="weldproof-bench-") as folder:
        for name in request.names:
            if name in goals.IN_TURNS:
                jobs.append(turns.contest(name, rounds=request.rounds, seconds=0.1, folder=Path(folder), say=_say))
            elif name.endswith("-http"):
                plan = http_contest.Plan(request.rounds, request.seconds, Path(folder) / name, _say)
                jobs.append(http_contest.contest(name, plan))
    if request.lanes:
        from tools.bench import paid_call_cost  # noqa: PLC0415 - the wallets' SDKs take a second to import

        lanes = asyncio.run(make_interruptible(paid_call_cost.measure(_PAYMENTS, _say)))
    return Figures(today(), Machine.of_this_machine(), versions | peer_home.versions(), tuple(jobs), lanes)


def _quick(only: tuple[str, ...], rounds: int, against: Path | None, *, as_json: bool) -> Exit:
    names = [name for name in goals.QUICK if not only or name in only]
    if not names:
        raise UsageFault(f"--quick measures {', '.join(goals.QUICK)} only")
    machine = Machine.of_this_machine()
    try:
        before = quick_records().get(machine.processor) if against is None else Figures.read(against).quick
    except ValueError as fault:
        raise UsageFault(f"{fault}; `weldproof bench --record` writes them") from fault
    jobs, _ = in_process.measure(names, rounds=rounds, seconds=_QUICK_SECONDS)
    recorded_jobs = () if before is None else before.jobs
    slower = slowdowns(recorded_jobs, jobs)
    for _ in range(_AGAIN):
        if not slower:
            break
        # Further rounds, in processes of their own: what is slower stays slower, what was hindered does not.
        again = {one.job for one in slower}
        _say(f"once more: {', '.join(sorted(again))}")
        jobs = _with_more(jobs, [name for name in names if name in again], rounds)
        slower = slowdowns(recorded_jobs, jobs)
    verdict = Exit.FAILED if slower else Exit.PASSED if before is not None else Exit.NO_VERDICT
    if as_json:
        slower_jobs = [{"job": one.job, "beside": one.beside, "sentence": one.sentence} for one in slower]
        standings = [standing_as_json(one) for one in goals.standings(jobs)]
        recorded_on = None if before is None else before.taken
        click.echo(orjson.dumps({"recorded": recorded_on, "slower": slower_jobs, "goals": standings}))
        return verdict
    for slowdown in slower:
        click.echo(f"{click.style('slower', fg='red')}  {slowdown.sentence}")
    if before is None:
        click.echo(
            f"measured, and compared with nothing: no record is of this processor ({machine.processor}). "
            "Add one by `weldproof bench --quick --record`."
        )
    elif not slower:
        click.echo(f"nothing is more than {MARGIN:.0%} slower than recorded on {before.taken}: {', '.join(names)}")
    if before is not None and machine.processor != before.machine.processor:
        click.echo(f"the record is of another machine ({before.machine.processor}); its ratios may differ here")
    return verdict


def _record_quick(rounds: int) -> Exit:
    """Keep what `--quick` measures on this kind of processor, as often as it would measure what seems slower."""
    jobs, _ = in_process.measure(goals.QUICK, rounds=rounds, seconds=_QUICK_SECONDS)
    for _ in range(_AGAIN):
        jobs = _with_more(jobs, goals.QUICK, rounds)
    keep_quick(QuickRecord(today(), Machine.of_this_machine(), tuple(jobs)))
    _say(f"written: {QUICK_RECORDS}")
    return Exit.PASSED


def _with_more(jobs: Sequence[Job], names: Sequence[str], rounds: int) -> tuple[Job, ...]:
    """Return jobs with the further rounds of those that are named."""
    more, _ = in_process.measure(names, rounds=rounds, seconds=_QUICK_SECONDS)
    further = {job.name: job for job in more}
    return tuple(join_parts([job, further[job.name]]) if job.name in further else job for job in jobs)


def _read_suite_seconds(log: Path) -> suite.Spent:
    path = events.log_in(log) if log.is_dir() else log
    try:
        return suite.sum_seconds(events.read_log(path))
    except (OSError, ValueError, KeyError, TypeError) as fault:
        raise UsageFault(f"cannot read the event log {path}: {fault}") from fault
