"""Runner of a plan: executes its checks, and decides each row by the judgements of these checks."""

from __future__ import annotations

import asyncio
import datetime as dt
import hashlib
import time
import traceback
from collections import Counter as Tally
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib.metadata import version
from typing import Any, Protocol

from conformance import extras
from conformance.engine import secret_echo
from conformance.engine.check import Case, Check, log_shortened_part
from conformance.engine.check_loading import find_missing_extras, load_checks
from conformance.engine.expected_failures import FAULTS, compare_with_entry
from conformance.engine.quick_selection import QuickSelection
from conformance.engine.schedule import Schedule, name_group
from conformance.engine.session import Session
from conformance.engine.tenant_credentials import list_variables
from conformance.http.client import Client, Counter, JsonFault, Names, Permit, Unreachable
from conformance.http.transport import HttpTransport
from conformance.http.trust import make_context
from conformance.http.workers import Workers
from conformance.lanes.spending import Wallet
from conformance.ledger import Requirement
from conformance.log.events import WHOLE_RUN, Event, EventLog
from conformance.log.thread_ownership import OwnRandom
from conformance.outcome import Exit, Inconclusive, NodeCannotShow, Verdict, exit_code, worst
from conformance.processes.other_runs import claim_addresses, wait_alone
from conformance.target import ExpectedFailure, Profile, receipts_only_exclusions, stock_payer_exclusions
from conformance.vocabulary.lanes.row_applicability import decided_on

# How long an interrupted run waits for the clean-up of its checks, and again for that of its session: the operator gets
# the prompt back after at most twice this time.
_CLEAN_UP_SECONDS = 1.2
_INTERRUPTED_REASON = "the run was interrupted"
_UNJUDGED_REASON = (
    "the check ended without judging this row: what it is judged by was not there, such as a second paid operation; "
    "bind all that the target has, of a rail [rail.services] and [rail.other_bodies]"
)
_OTHER_RUN_ADVICE = "run this one after it, raise [budgets] other_run, or give each run its own stack and funder"
_DISTURBANCE_REASON = "each disturbs what the other judges, so repeat this one alone before you rely on it"


@dataclass(frozen=True, slots=True)
class Plan:
    """The plan of one run.

    Attributes:
        rows: Selected rows, in ledger order.
        checks: Checks that decide at least one of these rows, expanded by lane.
        seed: Seed of everything random.
        workers: How many checks run at the same time.
        fail_fast: Stop after the first row that fails.
        strict: A warning fails the run.
        expected_failures: Known breaches.
        lanes: Only these lanes, when given.
        quick: The selection of a quick run; None in a whole run.
        amount_offset: Micro-units that are added to the amounts of links. Another run with the seed may have left links
            with these amounts unpaid.
        today: The day that is compared with the expiry of expected failures.
    """

    rows: tuple[Requirement, ...]
    checks: tuple[Check, ...]
    seed: int
    workers: int = 8
    fail_fast: bool = False
    strict: bool = False
    expected_failures: tuple[ExpectedFailure, ...] = ()
    lanes: tuple[str, ...] = ()
    quick: QuickSelection | None = None
    amount_offset: int = 0
    today: dt.date = field(default_factory=lambda: dt.datetime.now(dt.UTC).date())


def select_checks(rows: Iterable[Requirement], profile: Profile, lanes: Sequence[str] = ()) -> tuple[Check, ...]:
    """Return the checks that decide one of `rows` on the claimed surfaces, once for each lane if they need one.

    Args:
        rows: The selected rows.
        profile: The target.
        lanes: Only these lanes, when given.
    """
    applicable_rows = {row.id: row for row in rows if explain_absence(row, profile, lanes) is None}
    run_lanes = [lane for lane in profile.claims.lanes if not lanes or lane in lanes]
    selection: list[Check] = []
    for candidate in load_checks():
        decided_rows = [applicable_rows[row] for row in candidate.rows if row in applicable_rows]
        if not decided_rows or not profile.claims_surface(candidate.surface):
            continue
        # A row that names a lane is decided on each of its family; only that lane's offer is on that one alone.
        selection += [
            check
            for check in candidate.expand(run_lanes)
            if check.lane is None or any(decided_on(row, check.lane) for row in decided_rows)
        ]
    return tuple(selection)


def explain_absence(row: Requirement, profile: Profile, lanes: Sequence[str] = ()) -> str | None:
    """Return why `row` does not apply to the claims of the profile; None if it applies."""
    if not profile.claims_surface(row.surface):
        return f"the profile does not claim the surface {row.surface}"
    for surface in (*row.surfaces, *(("webhooks",) if "W" in row.needs else ())):
        if not profile.claims_surface(surface):
            return f"the row needs the surface {surface}, which the profile does not claim"
    if row.option is not None and not profile.claims.includes(row.option):
        return f"the profile does not claim the option {row.option}"
    for left_out in (receipts_only_exclusions.left_out, stock_payer_exclusions.left_out):
        if (reason := left_out(row, profile)) is not None:
            return reason
    if row.lane is None:
        return None
    claimed_lanes = [lane for lane in profile.claims.lanes if decided_on(row, lane)]
    if not claimed_lanes:
        return f"the profile does not claim the lane {row.lane}"
    if lanes and not set(claimed_lanes).intersection(lanes):
        return f"this run leaves out the lane{'s' if len(claimed_lanes) > 1 else ''} {' and '.join(claimed_lanes)}"
    return None


class PostRunStep(Protocol):
    """A step after the checks of a run, while its target can still be called. It judges no row."""

    async def __call__(self, session: Session, client: Client, log: EventLog, *, is_stopped: bool) -> None:
        """Perform the step; `is_stopped` reports that the run stopped at a breach."""


class Run:
    """One run of a plan against a target, recorded in an event log.

    `not_yours` names the part of the suite that is judged if no part of the operator's system is. `permit` refuses
    requests that must not be sent.
    """

    def __init__(
        self,
        plan: Plan,
        profile: Profile,
        log: EventLog,
        post_run_steps: Mapping[str, PostRunStep] | None = None,
        names: Names | None = None,
        wallet: Wallet | None = None,
        not_yours: str | None = None,
        permit: Permit | None = None,
    ) -> None:
        self.plan = plan
        self._permit = permit
        self._not_yours = not_yours
        self._post_run_steps = dict(post_run_steps or {})
        self.profile = profile
        self.log = log
        self.names = names or Names()
        self._wallet = wallet
        self._counter = Counter()
        self._started = time.perf_counter()
        self._interrupted = False
        self._stop = asyncio.Event()
        self._without_extra = find_missing_extras(plan.checks)
        self._runnable_checks = tuple(check for check in plan.checks if check not in self._without_extra)

    async def execute(self, *, options: Mapping[str, Any] | None = None) -> Exit:
        """Run every check, judge every row, and return the exit code."""
        self._open(options or {})
        self._shorten()
        for check, reason in self._without_extra.items():
            for row_id in check.rows:
                self._judge(check, row_id, Verdict.INCONCLUSIVE, reason)
        # Two runs against one address only disturb each other, which a note says. Two runs with one clock file or
        # funding account make payments fail: the second one waits for the first.
        with claim_addresses(self.profile.addresses) as taken:
            if taken:
                self.log.add(
                    "note",
                    check=WHOLE_RUN,
                    text=f"another run is under way against {', '.join(taken)}: {_DISTURBANCE_REASON}",
                )
            wait = self.profile.budgets.other_run
            async with wait_alone(self.profile.shared_resources, wait, self._log_waiting) as busy:
                if busy:
                    self._leave_undecided(busy)
                    return self._close()
                return await self._execute_alone()

    def _log_waiting(self, busy: Sequence[str]) -> None:
        """Log that another run has to end first."""
        self.log.add("run.waiting", shared=list(busy))

    def _leave_undecided(self, busy: Sequence[str]) -> None:
        """Leave every row inconclusive: another run moves the time or spends the money that this run needs."""
        reason = f"another run uses {', '.join(busy)}: {_OTHER_RUN_ADVICE}"
        for check in self._runnable_checks:
            for row_id in check.rows:
                self._judge(check, row_id, Verdict.INCONCLUSIVE, reason)

    async def _execute_alone(self) -> Exit:
        pace = self.profile.pace
        transport = HttpTransport(
            seconds=self.profile.budgets.request,
            requests_per_second=pace.requests_per_second,
            connections=128,
            limits=pace.limits,
            tls=make_context(self.profile.tls),
        )
        async with transport:
            first = self._client(transport, "discovery")
            session = Session(self.profile, first, self.names, self.plan.seed, wallet=self._wallet)
            session.amount_offset = self.plan.amount_offset
            work = asyncio.create_task(self._work(transport, session))
            try:
                await asyncio.wait([work])
                work.result()
            except asyncio.CancelledError:
                self._interrupted = True
                # Checks delete what they created, but only within this bound: the operator wants the run to end.
                work.cancel()
                await finish_within(_CLEAN_UP_SECONDS, work)
            finally:
                close_task = asyncio.create_task(session.close())
                if self._interrupted:
                    await finish_within(_CLEAN_UP_SECONDS, close_task)
                else:
                    await close_task
        return self._close()

    async def _work(self, transport: HttpTransport, session: Session) -> None:
        """Run the checks in the order of the schedule, then the steps after them."""
        await session.open()
        if any(
            "W" in row.needs and explain_absence(row, self.profile, self.plan.lanes) is None for row in self.plan.rows
        ):
            await session.receive()
        run_check = partial(self._run_check, transport=transport, session=session)
        await Schedule(self._runnable_checks, session, self.plan.workers, run_check).execute()
        for name, step in self._post_run_steps.items():
            await step(session, self._client(transport, name), self.log, is_stopped=self._stop.is_set())

    async def execute_whole(self) -> None:
        """Run every check and judge every row, for a caller that cannot use a part of the result.

        Raises:
            asyncio.CancelledError: The run was interrupted.
        """
        await self.execute()
        if self._interrupted:
            raise asyncio.CancelledError

    def _open(self, options: Mapping[str, Any]) -> None:
        self.log.add(
            "run.started",
            run_id=hashlib.sha256(f"{self.plan.seed}:{time.time_ns()}".encode()).hexdigest()[:16],
            suite_version=version("weldproof"),
            seed=self.plan.seed,
            started_at=int(time.time()),
            target={
                "name": self.profile.target.name,
                "surfaces": {name: surface.url for name, surface in self.profile.surfaces.items()},
            },
            chains=self.profile.chains.model_dump(mode="json", exclude_none=True),
            claims=self.profile.claims.model_dump(mode="json", exclude_none=True),
            non_defaults=[{"key": key, "value": value} for key, value in self.profile.non_defaults()],
            rows=[row.id for row in self.plan.rows],
            quick=self.plan.quick is not None,
            not_yours=self._not_yours,
            checks=[(check.id, name_group(check, self.profile)) for check in self._runnable_checks],
            workers=self.plan.workers,
            variables=list_variables(self.profile),
            not_alone={
                check.id: check.replay_obstacle for check in self._runnable_checks if check.replay_obstacle is not None
            },
            options=dict(options),
        )

    def _shorten(self) -> None:
        """Log what a quick run leaves out, before the first check."""
        if self.plan.quick is None:
            return
        for check, reason in self.plan.quick.left_out.items():
            for row_id in check.rows:
                self._judge(check, row_id, Verdict.LEFT_OUT, f"left out by --quick: {reason}")
        for check, lanes in self.plan.quick.lanes.items():
            log_shortened_part(self.log, check, "lanes", 1, lanes)

    async def _run_check(self, check: Check, transport: HttpTransport, session: Session) -> None:
        if self._stop.is_set():
            return
        client = self._client(transport, check.id)
        # Seeded with the check's name, so that a check draws the same values whatever runs before it or at the same
        # time. A replay of one check repeats the requests of the whole run.
        rng = OwnRandom(f"{self.plan.seed}:{check.id}")
        case = Case(check, self.profile, client, self.log, rng, session)
        case.quick = None if self.plan.quick is None else self.plan.seed
        # Whether a chain was stale is known at the end only, and a breach in the log cannot be taken back.
        case.holds_breaches = True
        self.log.add("check.started", check=check.id, rows=list(check.rows))
        start, since = time.perf_counter(), time.monotonic()
        outcome, error = "done", None
        try:
            await check.function(case)
        except NodeCannotShow as reason:
            outcome, error = "lacking", str(reason)
        except (Unreachable, Inconclusive, JsonFault) as reason:
            outcome, error = "unreachable", str(reason)
        except ModuleNotFoundError as fault:
            missing_extra = extras.reason(fault)
            outcome, error = self._fault(check, fault) if missing_extra is None else ("unreachable", missing_extra)
        except asyncio.CancelledError:
            outcome, error = "cancelled", _INTERRUPTED_REASON
            raise
        except Exception as fault:
            if self._interrupted:
                # A program that the check started may end before the check: its end is then no fault of the suite.
                outcome, error = "cancelled", _INTERRUPTED_REASON
                raise asyncio.CancelledError from fault
            outcome, error = self._fault(check, fault)
        finally:
            stale_reason = await self._release(case, since, is_undecided=outcome == "unreachable")
            self._finish(case, outcome, self._sentence(error, stale_reason), start)

    async def _release(self, case: Case, since: float, *, is_undecided: bool) -> str | None:
        """Log the held breaches of a check; they decide nothing if a chain that the check depends on was stale.

        Args:
            case: The check's run.
            since: When it began, in monotonic seconds.
            is_undecided: Whether the check could not be decided, so that the chain may be the reason.

        Returns:
            Why its findings decide nothing; None if they decide.
        """
        reason = None
        try:
            if case.has_held_breaches or is_undecided:
                reason = await case.session.stale_chains.find_reason_for(case.check.surface, case.check.lane, since)
        finally:
            case.release(reason)
        return reason

    def _sentence(self, error: str | None, reason: str | None) -> str | None:
        """Return why a check was not carried out, with the reason why its findings decide nothing; None if it was."""
        if error is None:
            return None
        return self.names.redact_cut(error if reason is None or reason in error else f"{error}; {reason}")

    def _fault(self, check: Check, fault: Exception) -> tuple[str, str]:
        """Log the traceback of a fault in a check; return the outcome and the fault in one line."""
        self.log.add("note", check=check.id, text=self.names.redact(traceback.format_exc()))
        return "fault", "".join(traceback.format_exception_only(fault)).strip()

    def _finish(self, case: Case, outcome: str, error: str | None, start: float) -> None:
        fallback = {"lacking": Verdict.DOCUMENTED, "fault": Verdict.ERROR}.get(outcome, Verdict.INCONCLUSIVE)
        for row_id in case.check.rows:
            # Judgements before the check broke off are not the whole check, so this row cannot pass.
            if outcome != "done" or row_id not in case.judged_rows:
                self._judge(case.check, row_id, fallback, error or _UNJUDGED_REASON)
        case.log_parts()
        seconds = round(time.perf_counter() - start, 4)
        self.log.add("check.finished", check=case.check.id, seconds=seconds, outcome=outcome, error=error)
        if self.plan.fail_fast and any(
            event["verdict"] == Verdict.FAIL for event in self.log.of("judgement") if event["check"] == case.check.id
        ):
            self._stop.set()

    def _judge(self, check: Check, row_id: str, verdict: Verdict, reason: str) -> None:
        """Log a judgement of a row that its check did not judge."""
        self.log.add(
            "judgement",
            check=check.id,
            row=row_id,
            verdict=verdict.value,
            expected=reason,
            found=None,
            exchange=None,
            hint=None,
            where={},
        )

    def _client(self, transport: HttpTransport, check_id: str) -> Client:
        client = Client(transport, self.log, check_id, self.names, self._counter)
        client.permit, client.echo_listener = self._permit, secret_echo.make_echo_listener(self.log, check_id)
        client.workers = Workers(self.plan.seed, self.profile.workers)
        return client

    def _close(self) -> Exit:
        verdicts: list[Verdict] = []
        unexpected_passes = 0
        judgements: dict[str, list[Event]] = defaultdict(list)
        lacking_checks = {event["check"] for event in self.log.of("check.finished") if event["outcome"] == "lacking"}
        for event in self.log.of("judgement"):
            # A part of a check is not a pass, even if this node cannot show the rest.
            if event["check"] not in lacking_checks or event["verdict"] != Verdict.PASS:
                judgements[event["row"]].append(event)
        for row in self.plan.rows:
            verdict, expected = self._record_row(row, judgements[row.id])
            verdicts.append(Verdict.PASS if expected == "expected" else verdict)
            unexpected_passes += expected in FAULTS
        code = exit_code(
            verdicts, unexpected_passes=unexpected_passes, is_interrupted=self._interrupted, is_strict=self.plan.strict
        )
        self.log.add(
            "run.finished",
            seconds=round(time.perf_counter() - self._started, 3),
            exit_code=int(code),
            interrupted=self._interrupted,
            counts=dict(Tally(event["verdict"] for event in self.log.of("row"))),
        )
        return code

    def _record_row(self, row: Requirement, judgements: Sequence[Event]) -> tuple[Verdict, str | None]:
        verdict, reason = self._decide_verdict(row, judgements)
        entry = next((failure for failure in self.plan.expected_failures if failure.id == row.id), None)
        expected = (
            None
            if entry is None or self._is_outside_run(row, verdict)
            else compare_with_entry(entry, verdict, self.plan.today)
        )
        checks = sorted({event["check"] for event in judgements})
        members = {"verdict": verdict.value, "reason": reason, "checks": checks, "expected_failure": expected}
        self.log.add("row", id=row.id, **members)
        return verdict, expected

    def _is_outside_run(self, row: Requirement, verdict: Verdict) -> bool:
        """Return whether this run is the reason for no verdict: its selected lanes, or the abilities of its nodes."""
        is_left_out = (
            explain_absence(row, self.profile) is None
            and explain_absence(row, self.profile, self.plan.lanes) is not None
        )
        # The operator's list covers all lanes and nodes: an entry is not stale because this run did not try its row.
        return is_left_out or (verdict is Verdict.DOCUMENTED and row.documented is None)

    def _decide_verdict(self, row: Requirement, judgements: Sequence[Event]) -> tuple[Verdict, str | None]:
        if row.documented is not None and not judgements:
            return Verdict.DOCUMENTED, row.documented
        reason = explain_absence(row, self.profile, self.plan.lanes)
        if reason is not None:
            return Verdict.NOT_APPLICABLE, reason
        verdict = worst(Verdict(event["verdict"]) for event in judgements)
        if verdict is None:
            has_check = any(row.id in check.rows for check in load_checks())
            text = "its checks did not run" if has_check else "this version of the suite has no check for it yet"
            return Verdict.INCONCLUSIVE, text
        deciding_event = next(event for event in judgements if event["verdict"] == verdict)
        return verdict, _explain_gaps(judgements) if verdict is Verdict.PASS else deciding_event["expected"]


async def finish_within(seconds: float, task: asyncio.Task[None]) -> None:
    """Wait some seconds for a task to end, then cancel it; its result is ignored."""
    finished_tasks, _ = await asyncio.wait([task], timeout=seconds)
    if not finished_tasks:
        task.cancel()
    # Retrieving the exception keeps asyncio from printing it when the task is collected.
    elif not task.cancelled():
        task.exception()


def _explain_gaps(judgements: Sequence[Event]) -> str | None:
    """Return why some checks did not judge a row that passes; None if all of them did."""
    not_whole = {Verdict.DOCUMENTED, Verdict.LEFT_OUT}
    reasons = {(event["check"], event["expected"]) for event in judgements if event["verdict"] in not_whole}
    return "; ".join(f"{check}: {reason}" for check, reason in sorted(reasons)) or None
