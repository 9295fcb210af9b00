"""Recording an example breach of each requirement: a mutant that a row catches, and the exchange that shows it.

The chains of a stack stay warm while its services are started again as one mutant after the other; only the checks of
the rows to be recorded are run. A recording stays until the next one replaces it, so it may be stopped at any time.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from conformance.engine.runner import Plan, Run, select_checks
from conformance.ledger import load
from conformance.ledger.example_breaches import Example
from conformance.log.events import Event, EventLog
from conformance.processes.own_stack import SURFACES, StackFault, list_surface_options, start_own_stack
from conformance.report.exchange import Exchange
from conformance.selftest.kill_lists import BREACHES, KillList, load_kill_lists
from reference.variants.mutants.catalog import CATALOG
from tools.examples.stable import Stable
from tools.mutation.stand import NoStart, Stand, start_stand

LAUNCHER: Final = "reference.variants.mutants"
_SEED: Final = 1
_LONGEST_SECONDS: Final = 90.0
# Characters of a body that are shown, and of what was found.
_BODY: Final = 700
_TEXT_LENGTH: Final = 300


@dataclass(frozen=True, slots=True)
class Job:
    """A mutant, and the rows of which it gives the example.

    Attributes:
        kill: The mutant with its kill list.
        rows: Ids of the rows.
        surfaces: Surfaces to bring up.
        apart: Whether it needs a stack of its own: addons and hubs that checks start themselves.
    """

    kill: KillList
    rows: tuple[str, ...]
    surfaces: tuple[str, ...]
    apart: bool

    @property
    def stand(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Surfaces and lanes of the stack that it needs."""
        return self.surfaces, self.kill.lanes


def choose_mutants() -> Mapping[str, KillList]:
    """Return the mutant of each row's example: one that the row was named for, else one that it sees too.

    Of several the one that the fewest other rows see.
    """
    kill_lists: dict[str, KillList] = {}
    for kill in sorted(load_kill_lists(), key=lambda one: (len(one.also), len(one.lanes), one.lanes != ("algorand",))):
        kill_lists.setdefault(kill.caught_by, kill)
    for kill in sorted(load_kill_lists(), key=lambda one: len(one.also)):
        for row in kill.also:
            kill_lists.setdefault(row, kill)
    return kill_lists


def jobs(wanted: Iterable[str], *, apart: bool) -> list[Job]:
    """Return what is to be run for the examples of some rows, those of one stack together.

    Args:
        wanted: Ids of rows; those that no mutant breaks are passed over.
        apart: Whether every mutant gets a stack of its own.
    """
    mutants, rows = choose_mutants(), dict[str, list[str]]()
    for row in wanted:
        if row in mutants:
            rows.setdefault(mutants[row].mutant, []).append(row)
    kills = {one.mutant: one for one in load_kill_lists()}
    planned_jobs = [
        Job(kills[name], tuple(ids), _surfaces(ids), apart or "addons" in CATALOG[name].surface)
        for name, ids in rows.items()
    ]
    return sorted(planned_jobs, key=lambda one: (one.apart, one.surfaces, one.kill.lanes))


def _surfaces(ids: Sequence[str]) -> tuple[str, ...]:
    words = list_surface_options(load().select(ids))
    surfaces = {word for word in words if word in SURFACES}
    webhooks = {"webhooks"} if "gateway" in surfaces else set[str]()
    return tuple(sorted(surfaces | webhooks))


@dataclass
class Recording:
    """Examples recorded one after the other until the time is over.

    `add` takes each; `tell` a line about each mutant; `misses` are the rows that a mutant did not show.
    """

    add: Callable[[Example], None]
    tell: Callable[[str], None]
    ends: float
    misses: list[str] = field(default_factory=list)

    @property
    def _over(self) -> bool:
        return time.monotonic() >= self.ends

    async def whole(self, planned_jobs: Sequence[Job]) -> None:
        """Record the examples of these jobs, in their order."""
        queue = list(planned_jobs)
        while queue and not self._over:
            if queue[0].apart:
                await self._apart(queue.pop(0))
                continue
            surfaces, lanes = queue[0].stand
            async with start_stand(surfaces, lanes, companions="gateway" in surfaces) as stand:
                while queue and queue[0].stand == (surfaces, lanes) and not queue[0].apart and not self._over:
                    if not stand.fresh:
                        break
                    await self._warm(stand, queue.pop(0))

    async def _warm(self, stand: Stand, job: Job) -> None:
        try:
            await stand.renew([LAUNCHER, job.kill.mutant])
        except NoStart as fault:
            self.tell(f"{job.kill.mutant}: {fault}")
            return
        checks = [one for one in stand.checks() if set(one.rows) & set(job.rows)]
        self._keep(job, await stand.run_checks(checks, _SEED, seconds=_LONGEST_SECONDS))

    async def _apart(self, job: Job) -> None:
        rows, log = load().select(job.rows), EventLog()
        lanes = [word for lane in job.kill.lanes for word in ("--lane", lane)]
        try:
            async with asyncio.timeout(_LONGEST_SECONDS):
                async with start_own_stack([*lanes, "--mutant", job.kill.mutant, *list_surface_options(rows)]) as stack:
                    plan = Plan(
                        rows, select_checks(rows, stack.profile), seed=_SEED, workers=stack.profile.pace.workers
                    )
                    await Run(plan, stack.profile, log).execute_whole()
        except (StackFault, TimeoutError) as fault:
            self.tell(f"{job.kill.mutant}: {fault or 'took too long'}")
        self._keep(job, log)

    def _keep(self, job: Job, log: EventLog) -> None:
        examples_by_row = {example.row: example for example in examples(job, log.events)}
        for example in examples_by_row.values():
            self.add(example)
        missing_rows = [row for row in job.rows if row not in examples_by_row]
        self.misses += missing_rows
        self.tell(
            f"{job.kill.mutant}: {', '.join(examples_by_row) or 'nothing'}"
            f"{f'; not {missing_rows}' if missing_rows else ''}"
        )


def examples(job: Job, events: Sequence[Event]) -> Iterator[Example]:
    """Return the first breach of each row of a job for which the log has an exchange."""
    exchanges = {event["n"]: event for event in events if event["event"] in {"exchange", "arrival"}}
    start_time = next((int(event["started_at"]) for event in events if event["event"] == "run.started"), 0)
    breaches = {verdict.value for verdict in BREACHES}
    seen_rows: set[str] = set()
    for event in events:
        if event["event"] != "judgement" or event["verdict"] not in breaches or event["row"] in seen_rows:
            continue
        exchange = exchanges.get(event["exchange"])
        if event["row"] in job.rows and exchange is not None:
            seen_rows.add(event["row"])
            yield _example(job, event, Exchange.of(exchange), Stable(event["row"], start_time))


def _example(job: Job, event: Event, exchange: Exchange, stable: Stable) -> Example:
    request_text, answer_text = (
        stable.text(text) for text in (exchange.request_text(_BODY), exchange.response_text(_BODY))
    )
    headings = exchange.headings
    return Example(
        row=event["row"],
        mutant=job.kill.mutant,
        check=event["check"],
        verdict=event["verdict"],
        expected=stable.text(event["expected"]),
        found=None if event["found"] is None else stable.text(event["found"])[:_TEXT_LENGTH],
        exchange=((headings[0], request_text), (headings[1], answer_text)),
        where={name: stable.text(str(value)) for name, value in event["where"].items()},
    )
