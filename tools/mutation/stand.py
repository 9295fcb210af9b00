"""A stack that stays warm: its chains go on while its services are started again for each mutant."""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from conformance import target
from conformance.engine.check import Check
from conformance.engine.runner import Plan as RunPlan
from conformance.engine.runner import Run, select_checks
from conformance.ledger import Requirement, load
from conformance.log.events import EventLog
from conformance.outcome import Verdict, worst
from conformance.processes.process_cleanup import temporary_folder
from conformance.selftest.shortened_budgets import with_short_budgets
from conformance.target import Profile
from localnet.hub import ADDONS
from localnet.plan import Plan
from localnet.processes import ChildFault
from localnet.profile import profile_text
from localnet.stack import Stack, run_stack
from localnet.surfaces import TITLES

RUNNER = "tools.mutation.service"
# A service that starts takes a second or two; one that is not there by then never will be.
_START_SECONDS = 15.0
# On chains with a block each fraction of a second; what a broken service never does is waited for many times.
_WAITS: Final = {"confirmation": 10.0, "request": 12.0, "paid": 8.0}
# How often it is asked whether a row has failed, where that is the end.
_LOOK_SECONDS = 0.1


class NoStart(Exception):
    """The services did not come up; the text says why."""


@dataclass(frozen=True, slots=True)
class Judged:
    """What some checks found.

    Attributes:
        rows: Verdict of each row that was judged.
        reasons: What was expected and found, of each row that is not sound.
        checks: The checks that ran to their end or broke off, and for how many seconds.
        seconds: How long they took side by side.
    """

    rows: dict[str, Verdict]
    reasons: dict[str, str]
    checks: Mapping[str, float]
    seconds: float


class Stand:
    """A warm stack and the suite over it."""

    def __init__(self, stack: Stack, folder: Path, surfaces: Sequence[str]) -> None:
        self._stack = stack
        self._folder = folder
        self._rows = rows_of(surfaces)
        self._started = True
        self._restarts = asyncio.create_task(self._follow_restarts())

    @property
    def fresh(self) -> bool:
        """Whether services can be started again here: time goes on, and chains whose clock was moved keep theirs."""
        return self._started and self._stack.facts.clock_file.read_text("ascii").strip() in {"", "0"}

    @property
    def profile(self) -> Profile:
        """The target profile that fits the stack as it runs now."""
        path = self._folder / "weldproof.toml"
        path.write_text(profile_text(self._stack.facts), "utf-8")
        profile = with_short_budgets(target.load(path))
        return profile.model_copy(update={"budgets": profile.budgets.model_copy(update=_WAITS)})

    def checks(self) -> tuple[Check, ...]:
        """Return every check of the stand's surfaces and lanes."""
        return select_checks(self._rows, self.profile)

    async def renew(self, before: Sequence[str]) -> None:
        """Start the services again, by a program that runs each in its own way.

        Raises:
            NoStart: They did not come up.
        """
        self._started = False
        await self.end()
        try:
            async with asyncio.timeout(_START_SECONDS):
                await self._stack.renew(before)
            self._started = True
        except (ChildFault, TimeoutError, OSError, ValueError, KeyError) as fault:
            raise NoStart(str(fault) or type(fault).__name__) from fault
        self._restarts = asyncio.create_task(self._follow_restarts())

    async def end(self) -> None:
        """Start no surface again that asks for it."""
        self._restarts.cancel()
        await asyncio.gather(self._restarts, return_exceptions=True)

    async def _follow_restarts(self) -> None:
        """Start surfaces again whenever a row asks; if one does not come back, rows find that it does not answer."""
        with suppress(ChildFault):
            await self._stack.follow_restarts()

    async def judge(self, checks: Sequence[Check], seed: int, *, whole: bool = True, seconds: float = 900.0) -> Judged:
        """Run some checks; unless it is to be the whole of them, stop at the first row that fails."""
        start_time = time.perf_counter()
        log = await self.run_checks(checks, seed, whole=whole, seconds=seconds)
        verdicts_by_row: dict[str, list[Verdict]] = {}
        reasons: dict[str, str] = {}
        for event in log.of("judgement"):
            verdict = Verdict(event["verdict"])
            verdicts_by_row.setdefault(event["row"], []).append(verdict)
            if verdict in {Verdict.FAIL, Verdict.WARN, Verdict.ERROR, Verdict.INCONCLUSIVE}:
                reasons.setdefault(event["row"], f"{verdict.value}: {event['expected']}; found {event['found']}")
        rows = {row: worst(verdicts) or Verdict.INCONCLUSIVE for row, verdicts in verdicts_by_row.items()}
        seconds_by_check = {event["check"]: event["seconds"] for event in log.of("check.finished")}
        return Judged(rows, reasons, seconds_by_check, round(time.perf_counter() - start_time, 1))

    async def run_checks(
        self, checks: Sequence[Check], seed: int, *, whole: bool = True, seconds: float = 900.0
    ) -> EventLog:
        """Run some checks in the same way and return the log, which ends early if they take longer than `seconds`."""
        log, profile = EventLog(), self.profile
        plan = RunPlan(self._rows, tuple(checks), seed=seed, workers=profile.pace.workers, fail_fast=not whole)
        run_task = asyncio.create_task(Run(plan, profile, log).execute_whole())
        try:
            async with asyncio.timeout(seconds):
                while not run_task.done() and (whole or not _has_failed(log)):
                    await asyncio.wait([run_task], timeout=None if whole else _LOOK_SECONDS)
        except TimeoutError:
            pass
        finally:
            await _end_run(run_task)
        return log

    @property
    def services(self) -> tuple[int, ...]:
        """Processes of the surfaces and of their companions."""
        return tuple(child.pid for child in self._stack.children if child.name in TITLES.values())


def _has_failed(log: EventLog) -> bool:
    return any(event["verdict"] == Verdict.FAIL for event in log.of("judgement"))


async def _end_run(run_task: asyncio.Task[None]) -> None:
    """End a run that goes on; what a run breaks at that came to its end is raised."""
    if run_task.done():
        run_task.result()
        return
    run_task.cancel()
    with suppress(asyncio.CancelledError):
        await run_task


def rows_of(surfaces: Sequence[str]) -> tuple[Requirement, ...]:
    """Return the rows of some surfaces, those that all share among them."""
    return tuple(row for row in load().select([]) if row.surface in {*surfaces, "shared"})


@asynccontextmanager
async def start_stand(
    surfaces: Sequence[str], lanes: Sequence[str], *, companions: bool = True
) -> AsyncIterator[Stand]:
    """Bring a stack up and end it on leaving; addons come along with a control plane.

    Args:
        surfaces: Surfaces whose rows are run; webhooks come with the gateway.
        lanes: Lanes to offer.
        companions: Whether the services that only some rows need come along.

    Raises:
        NoStart: It did not come up.
    """
    services = tuple(one for one in surfaces if one != "webhooks")
    with temporary_folder() as folder:
        addons = ADDONS if "control_plane" in services else ()
        plan = Plan(folder, 0, lanes=tuple(lanes), surfaces=services, companions=companions, addons=addons)
        async with run_stack(plan, progress=lambda _: None) as stack:
            clock = asyncio.create_task(stack.follow_clock())
            stand = Stand(stack, folder, surfaces)
            try:
                yield stand
            finally:
                clock.cancel()
                await asyncio.gather(clock, stand.end(), return_exceptions=True)


@contextmanager
def write_module(source: str) -> Iterator[Path]:
    """Have the source of a changed module in a file for a while."""
    with tempfile.TemporaryDirectory(prefix="weldproof-mutant-") as folder:
        path = Path(folder) / "module.py"
        path.write_text(source, "utf-8")
        yield path
