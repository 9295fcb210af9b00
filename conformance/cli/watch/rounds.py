"""`weldproof watch`: runs failed checks again after each restart of the target."""

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

from conformance.cli.connection import apply_connection_options
from conformance.cli.run.execution import NO_TARGET, with_fuzz
from conformance.cli.run.row_selection import drop_foreign_documents, select_ids
from conformance.cli.suggestion import describe_unknown, prefixes
from conformance.cli.targets import check_nodes, load_named_profile
from conformance.cli.usage import UsageFault
from conformance.engine.check import Check
from conformance.engine.check_loading import import_meanwhile
from conformance.engine.quick_policy import FUZZ_SECONDS
from conformance.engine.quick_selection import QuickSelection, select_quick_checks
from conformance.engine.runner import Plan, Run, select_checks
from conformance.ledger import Requirement, load
from conformance.live.page_messages import MessageFeed
from conformance.live.server import serve_page
from conformance.live.target_restart_detection import read_server_states, wait_until_restarted
from conformance.log.events import LOG, EventLog
from conformance.outcome import Exit, Verdict
from conformance.processes import interrupt
from conformance.report import formats
from conformance.report.conclusion import sentence
from conformance.report.progress import Progress
from conformance.report.summary import Summary, summarise
from conformance.target import Profile
from conformance.text.target_text_escaping import one_line

# Verdicts that are tried again. If the target gave no answer at all, undecided rows are tried again, too.
_TRY_AGAIN: Final = frozenset({Verdict.FAIL, Verdict.WARN, Verdict.ERROR})
# More ids would fill the screen.
_SHOWN_IDS: Final = 12


@dataclass(frozen=True, slots=True)
class RoundPlan:
    """The rows and checks of one round, and the samples of its checks if it is quick."""

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
    """The rounds of one `weldproof watch`.

    Attributes:
        profile: The target.
        full_plan: Plan of the first round, and of each round after one without a failure.
        seed: Seed of the random choices.
        lanes: Only these lanes; empty means all.
        report_dir: Folder of the reports.
        feed: The event stream of the local page.
        number: Number of rounds that were started.
    """

    profile: Profile
    full_plan: RoundPlan
    seed: int
    lanes: tuple[str, ...]
    report_dir: Path
    feed: MessageFeed
    number: int = 0
    _current_plan: RoundPlan = field(init=False)

    def __post_init__(self) -> None:
        self._current_plan = self.full_plan

    async def run_next(self) -> Exit:
        """Run a round, write its reports, print its result, and return its exit code."""
        self.number += 1
        plan_now = self._current_plan
        rows, checks = _number(len(plan_now.rows), "requirement"), _number(len(plan_now.checks), "check")
        click.secho(f"\nRound {self.number}: {rows}, {checks}", bold=True)
        log = EventLog(self.report_dir / LOG)
        progress = Progress()
        log.listen(progress)
        log.listen(self.feed.process)
        plan = Plan(plan_now.rows, plan_now.checks, seed=self.seed, lanes=self.lanes, quick=plan_now.quick)
        try:
            code = await Run(plan, self.profile, log).execute()
        finally:
            progress.close()
            log.close()
        # An interrupted round judged only some rows. Its report would look like that of a whole round.
        if code is Exit.INTERRUPTED:
            return code
        formats.write(log.events, self.report_dir, ("html", "json"))
        self._announce(summarise(log.events))
        return code

    def _announce(self, summary: Summary) -> None:
        failed_ids = {row.id for row in summary.rows if row.verdict in _TRY_AGAIN or summary.unanswered}
        text = _describe_round(summary)
        if failed_ids:
            rows = tuple(row for row in self._current_plan.rows if row.id in failed_ids)
            # The same samples again: another draw could miss the failure and look like a repair.
            checks = tuple(one for one in self._current_plan.checks if failed_ids.intersection(one.rows))
            self._current_plan = RoundPlan(
                rows, checks, None if self._current_plan.quick is None else QuickSelection(checks)
            )
            ids = [row.id for row in rows]
            more = f" and {len(ids) - _SHOWN_IDS} more" if len(ids) > _SHOWN_IDS else ""
            next_text = f"Next: {', '.join(ids[:_SHOWN_IDS])}{more}."
        else:
            part = "all requirements, because no failure is left" if self._current_plan is not self.full_plan else "all"
            self._current_plan = self.full_plan
            next_text = f"Next: {part}."
        click.secho(text, fg="red" if failed_ids else "green")
        after = f"Waiting for {_describe_places(self.profile)} to restart. {next_text}"
        click.echo(f"{after} Enter starts at once, Ctrl-C ends.")
        self.feed.publish({"kind": "said", "text": f"Round {self.number}: {one_line(text, 600)}", "next": after})


def watch(ctx: click.Context, options: WatchOptions) -> None:
    """Run rounds until Ctrl-C, and end the command with the exit code of the last one."""
    profile = load_named_profile(options.config, options.addresses, is_reference=False)
    if profile is None:
        raise UsageFault(NO_TARGET.partition(", or --reference")[0])
    profile = apply_connection_options(
        profile, cacert=options.cacert, insecure=options.insecure, timeout=options.timeout
    )
    check_nodes(profile, main_network=False)
    try:
        rows = tuple(row for row in select_ids(options.ids) if not options.levels or row.level in options.levels)
    except LookupError as prefix:
        raise UsageFault(describe_unknown(str(prefix), prefixes(load()), "requirement")) from prefix
    try:
        options.report_dir.mkdir(parents=True, exist_ok=True)
        code = interrupt.run_interruptible(_run_rounds(profile, rows, options))
    except asyncio.CancelledError:
        code = Exit.INTERRUPTED
    # The page's port is taken, or the folder cannot be written.
    except OSError as closed:
        click.echo(f"weldproof watch: {one_line(str(closed), 300)}; give another --port or --report-dir", err=True)
        code = Exit.NO_VERDICT
    ctx.exit(code)


async def _run_rounds(profile: Profile, rows: tuple[Requirement, ...], options: WatchOptions) -> Exit:
    feed = MessageFeed()
    async with serve_page(feed, options.port) as address:
        click.echo(f"{address} shows each round; the reports are in {options.report_dir}")
        async with import_meanwhile():
            full_plan, round_profile = await asyncio.to_thread(_plan_first_round, profile, rows, options)
        rounds = Rounds(round_profile, full_plan, options.seed, options.lanes, options.report_dir, feed)
        while True:
            code = await rounds.run_next()
            if code is Exit.INTERRUPTED or rounds.number == options.rounds:
                return code
            await _restart_or_enter(profile)


def _plan_first_round(
    profile: Profile, rows: tuple[Requirement, ...], options: WatchOptions
) -> tuple[RoundPlan, Profile]:
    """Return the plan of the first round, and the profile with the time limits of a quick look."""
    round_profile = profile if options.whole else with_fuzz(profile, FUZZ_SECONDS)
    checks = drop_foreign_documents(select_checks(rows, round_profile, options.lanes), options.ids)
    look = None if options.whole else select_quick_checks(checks, options.seed)
    return RoundPlan(rows, checks if look is None else look.checks, look), round_profile


async def _restart_or_enter(profile: Profile) -> None:
    """Wait until the target has restarted, or Enter is pressed at the terminal."""
    async with _watch_enter_key() as entered:
        # Read before waiting: a restart is a difference from this state.
        states = await read_server_states(dict.fromkeys(task.url for task in profile.surfaces.values()))
        restart_task = asyncio.ensure_future(wait_until_restarted(states))
        enter_task = asyncio.ensure_future(entered.wait())
        try:
            await asyncio.wait([restart_task, enter_task], return_when=asyncio.FIRST_COMPLETED)
            if restart_task.done():
                click.echo(f"{one_line(restart_task.result())} has restarted")
        finally:
            for task in (restart_task, enter_task):
                task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.gather(restart_task, enter_task, return_exceptions=True)


@asynccontextmanager
async def _watch_enter_key() -> AsyncIterator[asyncio.Event]:
    """Yield an event that is set when a line is typed; without a terminal it is never set."""
    event = asyncio.Event()
    if not sys.stdin.isatty():
        yield event
        return
    loop, number = asyncio.get_running_loop(), sys.stdin.fileno()

    def read_line() -> None:
        os.read(number, 4096)
        event.set()

    # The loop watches the terminal itself. A thread that blocks in `read` could not be cancelled.
    loop.add_reader(number, read_line)
    try:
        yield event
    finally:
        loop.remove_reader(number)


def _describe_round(summary: Summary) -> str:
    """Return the result of a round in words; a quick look says "without a breach" instead of "pass"."""
    if summary.unanswered:
        return sentence(summary)
    counts = summary.counts
    tried_count = counts[Verdict.PASS] + counts[Verdict.FAIL] + counts[Verdict.WARN]
    pass_words = "without a breach" if summary.quick else "pass"
    verdict_words = ((Verdict.FAIL, "fail"), (Verdict.WARN, "warn"), (Verdict.ERROR, "met a fault of the suite"))
    parts = [
        f"{counts[one]} {word}" for one, word in (*verdict_words, (Verdict.INCONCLUSIVE, "undecided")) if counts[one]
    ]
    return ", ".join([f"{counts[Verdict.PASS]} of {tried_count} tried {pass_words}", *parts])


def _number(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def _describe_places(profile: Profile) -> str:
    urls: Sequence[str] = [*dict.fromkeys(one.url for one in profile.surfaces.values())]
    return one_line(" or ".join(urls), 300)
