"""`weldproof watch`: runs again what failed whenever the target was restarted."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import click

from conformance.cli.connection import connected
from conformance.cli.run.execution import NO_TARGET, with_fuzz
from conformance.cli.run.row_selection import chosen, wanted
from conformance.cli.suggestion import prefixes, unknown
from conformance.cli.targets import checked_nodes, named_profile
from conformance.cli.usage import UsageFault
from conformance.engine.check import Check
from conformance.engine.quick import FUZZ_SECONDS
from conformance.engine.quick_look import QuickSelection, select_quick_checks
from conformance.engine.registration import import_meanwhile
from conformance.engine.runner import Plan, Run, select_checks
from conformance.ledger import Requirement, load
from conformance.live.following import Following
from conformance.live.restart_detection import server_states, until_restarted
from conformance.live.server import serving
from conformance.log.events import LOG, EventLog
from conformance.outcome import Exit, Verdict
from conformance.processes import interrupt
from conformance.report import formats
from conformance.report.conclusion import sentence
from conformance.report.progress import Progress
from conformance.report.summary import Summary, summarise
from conformance.target import Profile
from conformance.text.untrusted import one_line

# What is tried again; what could not be decided is, too, where the target gave no answer at all.
_BROKEN: Final = frozenset({Verdict.FAIL, Verdict.WARN, Verdict.ERROR})
_SHOWN_IDS: Final = 12


@dataclass(frozen=True, slots=True)
class Again:
    """What a round tries: rows, and the checks that decide them, each as in the round before where there was one."""

    rows: tuple[Requirement, ...]
    checks: tuple[Check, ...]
    quick: QuickSelection | None


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchOptions:
    """Options of `weldproof watch`; `conformance/cli/watch/__init__.py` has the help of each."""

    ids: tuple[str, ...]
    config: Path | None
    addresses: tuple[str, ...]
    cacert: Path | None
    insecure: bool
    timeout: float | None
    lanes: tuple[str, ...]
    levels: tuple[str, ...]
    whole: bool
    seed: int
    rounds: int | None
    port: int
    report_dir: Path


@dataclass(slots=True)
class Rounds:
    """All rounds of one watch.

    Attributes:
        profile: The target.
        whole: What the first round tries, and each after one in which nothing failed.
        seed: Seed of everything random.
        lanes: Only these lanes, when given.
        report_dir: Where the reports go.
        following: Who is told of it.
        number: How many were begun.
    """

    profile: Profile
    whole: Again
    seed: int
    lanes: tuple[str, ...]
    report_dir: Path
    following: Following
    number: int = 0
    _now: Again = field(init=False)

    def __post_init__(self) -> None:
        self._now = self.whole

    async def next(self) -> Exit:
        """Run a round, write its reports, say what came of it, and return its exit code."""
        self.number += 1
        now = self._now
        rows, checks = _number(len(now.rows), "requirement"), _number(len(now.checks), "check")
        click.secho(f"\nRound {self.number}: {rows}, {checks}", bold=True)
        log = EventLog(self.report_dir / LOG)
        progress = Progress()
        log.listen(progress)
        log.listen(self.following.take)
        plan = Plan(now.rows, now.checks, seed=self.seed, lanes=self.lanes, quick=now.quick)
        try:
            code = await Run(plan, self.profile, log).execute()
        finally:
            progress.close()
            log.close()
        if code is Exit.INTERRUPTED:
            return code
        formats.write(log.events, self.report_dir, ("html", "json"))
        self._tell(summarise(log.events))
        return code

    def _tell(self, summary: Summary) -> None:
        failed = {row.id for row in summary.rows if row.verdict in _BROKEN or summary.unanswered}
        text = _outcome(summary)
        if failed:
            rows = tuple(row for row in self._now.rows if row.id in failed)
            checks = tuple(one for one in self._now.checks if failed.intersection(one.rows))
            self._now = Again(rows, checks, None if self._now.quick is None else QuickSelection(checks))
            ids = [row.id for row in rows]
            more = f" and {len(ids) - _SHOWN_IDS} more" if len(ids) > _SHOWN_IDS else ""
            following = f"Next: {', '.join(ids[:_SHOWN_IDS])}{more}."
        else:
            part = "all requirements, since no failure is left" if self._now is not self.whole else "all"
            self._now = self.whole
            following = f"Next: {part}."
        click.secho(text, fg="red" if failed else "green")
        after = f"Waiting for {_places(self.profile)} to restart. {following}"
        click.echo(f"{after} Enter starts at once, Ctrl-C ends.")
        self.following.tell({"kind": "said", "text": f"Round {self.number}: {one_line(text, 600)}", "next": after})


def watch(ctx: click.Context, options: WatchOptions) -> None:
    """Run rounds until Ctrl-C, and end the command with the exit code of the last one."""
    profile = named_profile(options.config, options.addresses, ours=False)
    if profile is None:
        raise UsageFault(NO_TARGET.partition(", or --reference")[0])
    profile = connected(profile, cacert=options.cacert, insecure=options.insecure, timeout=options.timeout)
    checked_nodes(profile, main_network=False)
    try:
        rows = tuple(row for row in chosen(options.ids) if not options.levels or row.level in options.levels)
    except LookupError as prefix:
        raise UsageFault(unknown(str(prefix), prefixes(load()), "requirement")) from prefix
    try:
        options.report_dir.mkdir(parents=True, exist_ok=True)
        code = interrupt.run(_watched(profile, rows, options))
    except asyncio.CancelledError:
        code = Exit.INTERRUPTED
    except OSError as closed:
        click.echo(f"weldproof watch: {one_line(str(closed), 300)}; give another --port or --report-dir", err=True)
        code = Exit.NO_VERDICT
    ctx.exit(code)


async def _watched(profile: Profile, rows: tuple[Requirement, ...], options: WatchOptions) -> Exit:
    following = Following()
    async with serving(following, options.port) as address:
        click.echo(f"{address} shows each round; the reports are in {options.report_dir}")
        async with import_meanwhile():
            whole, found = await asyncio.to_thread(_planned, profile, rows, options)
        rounds = Rounds(found, whole, options.seed, options.lanes, options.report_dir, following)
        while True:
            code = await rounds.next()
            if code is Exit.INTERRUPTED or rounds.number == options.rounds:
                return code
            await _restart_or_enter(profile)


def _planned(profile: Profile, rows: tuple[Requirement, ...], options: WatchOptions) -> tuple[Again, Profile]:
    """Return what the first round tries, and the profile with what a quick look may take."""
    found = profile if options.whole else with_fuzz(profile, FUZZ_SECONDS)
    checks = wanted(select_checks(rows, found, options.lanes), options.ids)
    look = None if options.whole else select_quick_checks(checks, options.seed)
    return Again(rows, checks if look is None else look.checks, look), found


async def _restart_or_enter(profile: Profile) -> None:
    """Wait until the target was restarted, or Enter is pressed at the terminal."""
    async with _entered() as entered:
        states = await server_states(dict.fromkeys(one.url for one in profile.surfaces.values()))
        restarted = asyncio.ensure_future(until_restarted(states))
        typed = asyncio.ensure_future(entered.wait())
        try:
            await asyncio.wait([restarted, typed], return_when=asyncio.FIRST_COMPLETED)
            if restarted.done():
                click.echo(f"{one_line(restarted.result())} has restarted")
        finally:
            for one in (restarted, typed):
                one.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.gather(restarted, typed, return_exceptions=True)


@asynccontextmanager
async def _entered() -> AsyncIterator[asyncio.Event]:
    """Yield an event that is set once a line is typed; without a terminal it is never set."""
    event = asyncio.Event()
    if not sys.stdin.isatty():
        yield event
        return
    loop, number = asyncio.get_running_loop(), sys.stdin.fileno()

    def typed() -> None:
        os.read(number, 4096)
        event.set()

    loop.add_reader(number, typed)
    try:
        yield event
    finally:
        loop.remove_reader(number)


def _outcome(summary: Summary) -> str:
    """Return what a round came to; a quick look is no verdict, and says so by its words."""
    if summary.unanswered:
        return sentence(summary)
    counts = summary.counts
    tried = counts[Verdict.PASS] + counts[Verdict.FAIL] + counts[Verdict.WARN]
    kept = "without a breach" if summary.quick else "pass"
    said = ((Verdict.FAIL, "fail"), (Verdict.WARN, "warn"), (Verdict.ERROR, "met a fault of the suite"))
    parts = [f"{counts[one]} {word}" for one, word in (*said, (Verdict.INCONCLUSIVE, "undecided")) if counts[one]]
    return ", ".join([f"{counts[Verdict.PASS]} of {tried} tried {kept}", *parts])


def _number(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"


def _places(profile: Profile) -> str:
    urls: Sequence[str] = [*dict.fromkeys(one.url for one in profile.surfaces.values())]
    return one_line(" or ".join(urls), 300)
