"""WH-DELIV-12 and -13: attempts after failures of every kind, by the schedule of the specification."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from conformance.engine import clock
from conformance.engine.check import Case, check
from conformance.engine.concurrent_check_steps import run_concurrently
from conformance.engine.exclusive import Exclusive
from conformance.outcome import Inconclusive
from conformance.surfaces.gateway.administration import Administrator, administrator
from conformance.surfaces.gateway.orders import on_first_lane
from conformance.surfaces.webhooks.scheduled_failures import (
    LONG_BODY_BYTES,
    SILENT,
    PlannedDelivery,
    ScheduledFailures,
    fail_on_schedule,
    scheduled_failures,
)
from conformance.surfaces.webhooks.signature_verification import header_of
from conformance.webhook_receiver.inbox import Received
from conformance.webhook_receiver.raw_receiver import SILENCE

# Theory of the schedule
#
# A pause is counted from the end of the attempt before (P-WH-08). After a time-out, begin and end of an attempt differ
# by seconds, so the first attempt of one event is never answered. For each pause the test clock stops a moment before
# it is over, when nothing may arrive, and right after, when the next attempt is due.
#
# No verdict rests on the speed of the machine:
#
# 1. Too early: the end of an attempt is not before the target's own time in its signature, plus the seconds for which
#    the suite held it. A slow machine delays the next attempt, and never lets it come earlier.
# 2. Too late, too few, too many, a late first attempt and the time-out are breaches that a busy machine can imitate:
#    a sender that records the end of an attempt only after the clock was moved adds the pause to the later time. So
#    after such a breach everything is played again with new links and long waits, and the second play decides.

_SCHEDULE_ROW, _ANSWER_ROW = "WH-DELIV-12", "WH-DELIV-13"
_POLL_SECONDS: Final = 0.05
# Half of the longest body is far more than the 4 KiB of P-WH-09 and all buffers on the way.
_MOST_READ_BYTES: Final = LONG_BODY_BYTES // 2
# The specification says 1 s, and `created` is in whole seconds. The fastest of all first attempts of the run counts.
_FIRST_SECONDS: Final = 4.0
# A time-out may end this much later than twice the bound one.
_LATE_SECONDS: Final = 4.0
# Parts of a pause: how long before its end the clock stops, and how early an attempt may come.
_PAUSE_LEAD, _PAUSE_TOLERANCE = 0.1, 0.05
# Part of the time-out before the end of a pause at which the clock stops after an attempt that was not answered.
_TIMEOUT_LEAD: Final = 0.5
# The time of a signature is in whole seconds.
_STEP_SECONDS: Final = 1.0
# The end of an attempt may have been this much later than computed, as times of signatures are cut.
_AFTER_SECONDS: Final = 1.5
# A clock that differs by more is no evidence of the beginning of an attempt.
_CLOCK_SECONDS: Final = 60.0


@dataclass(frozen=True, slots=True)
class Patience:
    """Seconds at the stops of the clock.

    Attributes:
        settle: For the sender to record the end of an attempt, before the clock is moved.
        quiet: For what must not come.
        due: For an attempt that is due.
    """

    settle: float
    quiet: float
    due: float


QUICK: Final = Patience(0.3, 0.5, 4.0)
PATIENT: Final = Patience(4.0, 1.0, 20.0)


@dataclass(frozen=True, slots=True)
class _Finding:
    """One judgement of a play.

    Attributes:
        row: The row.
        holds: Whether it holds.
        expectation: What was expected.
        finding: What was found.
        exchange: A delivery that shows it.
        where: What was tried.
        is_certain: Whether a busy machine cannot cause the breach.
    """

    row: str
    holds: bool
    expectation: str
    finding: str
    exchange: Received | None = None
    where: Mapping[str, str] = field(default_factory=dict)
    is_certain: bool = False


@dataclass(slots=True)
class _Series:
    """The attempts of one event at one destination.

    Attributes:
        plan: The planned answers.
        end: The target's time at which the last judged attempt ended, or earlier, in unix seconds.
        count: The number of attempts that were judged.
        is_over: Whether nothing more can be judged.
    """

    plan: PlannedDelivery
    end: float = 0.0
    count: int = 0
    is_over: bool = False

    def attempts(self, case: Case) -> Sequence[Received]:
        """Return the attempts so far."""
        return self.plan.sale.confirmations(case.session.inbox, self.plan.place)

    @property
    def is_due(self) -> bool:
        """Whether a further attempt is expected."""
        return not self.is_over and self.count < len(self.plan.answers)


@check(
    _SCHEDULE_ROW,
    _ANSWER_ROW,
    surface="webhooks",
    exclusive=Exclusive.CLOCK,
    fix="Take only a 2xx for a delivery. Store the end of each failed attempt, and make the next one after the pause "
    "of the schedule until the schedule ends. Follow no redirect, and read no more than 4 KiB of an answer.",
)
async def failed_attempts_follow_the_schedule(case: Case) -> None:
    """After each failed attempt the next one follows when the pause since its end is over, and none follows the last.

    Pays two links. Each destination of the tenant fails every attempt for one of them: the first is not answered, and
    the others are answered by redirects, client errors, server errors, a closed connection and a body of 32 MiB, in an
    order drawn from the seed. The event of the other link fails twice and is then answered with a 2xx, also with a long
    body. The clock stops before and after the end of each pause. If an administrator can, sends the dead letters again.

    Expects the fastest first attempt of the run within 4 s of its event's `created`, and the end of an unanswered
    attempt at about the time-out. Expects each further attempt after its pause and not before, and none after the last
    or after a 2xx. Expects an attempt of a dead letter that is sent again. Expects no request to the address of a
    redirect, and that at most half of a long body is read. A breach that a busy machine can imitate is tried again with
    new links and longer waits.
    """
    bindings = case.profile.webhook_bindings
    if not bindings.schedule or bindings.timeout is None:
        raise Inconclusive("needs [webhook] schedule and timeout")
    lane_case = await on_first_lane(case)
    findings = await _play(case, await scheduled_failures(lane_case), QUICK)
    breaches = [one for one in findings if not one.holds]
    if breaches and not any(one.is_certain for one in breaches):
        case.note(f"tried again with longer waits: {breaches[0].expectation}: {breaches[0].finding}")
        findings = await _play(case, await fail_on_schedule(lane_case), PATIENT)
    for one in findings:
        case.expect(one.row, one.holds, one.expectation, one.finding, exchange=one.exchange, where=one.where)


async def _play(case: Case, scene: ScheduledFailures, patience: Patience) -> Sequence[_Finding]:
    """Let all pauses of the schedule pass, and return the findings.

    Raises:
        Inconclusive: No event arrived, or time cannot pass.
    """
    all_series = [_Series(plan) for plan in scene.deliveries]
    # A late first attempt is judged, so it is awaited longer than events are elsewhere.
    await _await_attempts(case, all_series, PATIENT.due)
    findings = [*_judge_first_attempts(case), *await _await_time_outs(case, all_series)]
    for series in all_series:
        attempts = series.attempts(case)
        series.is_over = not attempts or (series.plan.answers[0] == SILENT and attempts[0].arrival.left_at is None)
        if not series.is_over:
            _end_attempt(case, series, attempts[0])
    if not any(series.is_due for series in all_series):
        if findings and not all(one.holds for one in findings):
            return findings
        raise Inconclusive("no event reached a destination, which WH-DELIV-02 and -08 judge")
    for pause in case.profile.webhook_bindings.schedule or ():
        findings += await _pass_pause(case, [one for one in all_series if one.is_due], pause, patience)
    findings += await _judge_counts(case, all_series, patience)
    findings += await _send_dead_letters_again(case, all_series, patience)
    return [*findings, *_judge_answers(case, scene)]


def _judge_first_attempts(case: Case) -> Sequence[_Finding]:
    """Judge the delay of the fastest first attempt of the run: what delays all of them is no busy machine."""
    delays = [
        (delivery.now - created, delivery)
        for delivery in case.session.inbox.deliveries
        if delivery.confirms and isinstance(created := delivery.event.get("created"), int)
    ]
    if not delays:
        return ()
    delay, delivery = min(delays, key=lambda one: one[0])
    expectation, finding = f"a first attempt within {_FIRST_SECONDS:g} s of created", f"after {delay:.1f} s"
    return (_Finding(_SCHEDULE_ROW, delay <= _FIRST_SECONDS, expectation, finding, delivery),)


async def _await_time_outs(case: Case, all_series: Sequence[_Series]) -> Sequence[_Finding]:
    """Wait for the end of the attempts that are not answered, and judge how long they took."""
    limit = case.profile.webhook_bindings.timeout or 0.0
    firsts = [attempts[0] for one in all_series if one.plan.answers[0] == SILENT and (attempts := one.attempts(case))]
    # Sleeps are counted, so that a machine that stands still for a while adds nothing to the sender's time.
    for _ in range(round((2 * limit + _LATE_SECONDS) / _POLL_SECONDS)):
        if all(first.arrival.left_at is not None for first in firsts):
            break
        await asyncio.sleep(_POLL_SECONDS)
    expectation = f"an attempt without an answer ends after {limit:g} s"
    findings = [
        _Finding(_SCHEDULE_ROW, False, expectation, f"it had not ended {2 * limit + _LATE_SECONDS:g} s later", first)
        for first in firsts
        if first.arrival.left_at is None
    ]
    # A connection may take a moment before its request arrives. So the longest of the run counts.
    lasting = [
        (one.arrival.left_at - one.arrival.monotonic, one)
        for one in case.session.inbox.deliveries
        if one.arrival.reply == SILENCE and one.arrival.left_at is not None
    ]
    if lasting:
        seconds, longest = max(lasting, key=lambda one: one[0])
        is_right = seconds >= limit / 2
        findings.append(_Finding(_SCHEDULE_ROW, is_right, expectation, f"the longest took {seconds:.1f} s", longest))
    return findings


def _end_attempt(case: Case, series: _Series, attempt: Received) -> None:
    """Count an attempt, and compute the earliest time at which it may have ended."""
    arrival, header = attempt.arrival, header_of(case, attempt)
    began = attempt.now
    if header is not None and header.t is not None and attempt.now - _CLOCK_SECONDS < header.t <= attempt.now:
        began = header.t
    ended_at = arrival.answered_at or arrival.left_at or arrival.monotonic
    seconds = max(0.0, ended_at - arrival.monotonic)
    if arrival.reply == SILENCE:
        # The sender's time-out may have begun before the request arrived.
        seconds = min(seconds, case.profile.webhook_bindings.timeout or seconds)
    series.end, series.count = began + seconds, series.count + 1


async def _pass_pause(
    case: Case, all_series: Sequence[_Series], pause: float, patience: Patience
) -> Sequence[_Finding]:
    """Stop the clock before and after the end of a pause of each series, and judge the attempts."""
    if not all_series:
        return ()
    await asyncio.sleep(patience.settle)
    findings, pending = list[_Finding](), list(all_series)
    for moment in _list_stops(case, pending, pause):
        if not pending:
            break
        await clock.reach(case, moment)
        expected = [one for one in pending if one.end + pause < moment]
        await _await_attempts(case, expected, patience.due)
        if len(expected) < len(pending):
            await asyncio.sleep(patience.quiet)
        for series in list(pending):
            if len(series.attempts(case)) > series.count:
                findings += _judge_attempt(case, series, pause)
                pending.remove(series)
    late = [one for one in pending if not one.is_over]
    if late:
        # A sender whose pause is longer makes the attempt after another one.
        await clock.reach(case, max(one.end for one in late) + 2 * pause + _AFTER_SECONDS)
        await _await_attempts(case, late, patience.due)
        findings += [_describe_absence(case, one, pause) for one in late]
    return findings


def _list_stops(case: Case, all_series: Sequence[_Series], pause: float) -> Sequence[float]:
    """Return the times at which the clock stops: before a pause is over, and after it is, for all series."""
    stops = list[float]()
    for series in all_series:
        due, lead = series.end + pause, pause * _PAUSE_LEAD
        if series.plan.answers[series.count - 1] == SILENT:
            lead = min(lead, (case.profile.webhook_bindings.timeout or 0.0) * _TIMEOUT_LEAD)
        stops += [due - lead, due + _AFTER_SECONDS]
    # The attempts of all series end together, but for those that were not answered. Stops that are near each other are
    # made once: at the earliest time before an attempt is due, and at the latest after it.
    stops.sort()
    first, *others = stops
    merged = [first]
    for stop in others:
        if stop - merged[-1] > _STEP_SECONDS:
            merged.append(stop)
        elif any(abs(stop - _AFTER_SECONDS - one.end - pause) < _POLL_SECONDS for one in all_series):
            merged[-1] = stop
    return merged


async def _await_attempts(case: Case, all_series: Sequence[_Series], seconds: float) -> None:
    """Wait for the next attempt of each series."""

    async def wait_for_attempt(one: _Series) -> None:
        await case.session.inbox.wait(
            lambda delivery: (
                delivery.place == one.plan.place and delivery.confirms and delivery.mentions(one.plan.sale.words)
            ),
            seconds=seconds,
            count=one.count + 1,
        )

    await run_concurrently(map(wait_for_attempt, all_series))


def _describe_series(series: _Series) -> Mapping[str, str]:
    last_answer = series.plan.answers[series.count - 1]
    return {"destination": series.plan.place.name, "attempt": f"{series.count + 1}, after {last_answer}"}


def _judge_attempt(case: Case, series: _Series, pause: float) -> Sequence[_Finding]:
    """Judge that an attempt did not come before its pause was over."""
    attempt, where = series.attempts(case)[series.count], _describe_series(series)
    seconds, tolerance = attempt.now - series.end, max(_STEP_SECONDS, pause * _PAUSE_TOLERANCE)
    if series.plan.answers[series.count - 1] == SILENT:
        tolerance = _STEP_SECONDS
    expectation = f"the event again {pause:g} s after the end of attempt {series.count}"
    is_right = seconds >= pause - tolerance
    series.is_over = not is_right
    _end_attempt(case, series, attempt)
    return (_Finding(_SCHEDULE_ROW, is_right, expectation, f"after {seconds:.1f} s", attempt, where, is_certain=True),)


def _describe_absence(case: Case, series: _Series, pause: float) -> _Finding:
    """Return the breach of an attempt that did not come when it was due."""
    attempts, where = series.attempts(case), _describe_series(series)
    expectation = f"the event again {pause:g} s after the end of attempt {series.count}"
    came_later = len(attempts) > series.count
    finding = f"after {attempts[series.count].now - series.end:.0f} s" if came_later else "nothing"
    series.is_over = True
    return _Finding(_SCHEDULE_ROW, False, expectation, finding, attempts[-1], where)


async def _judge_counts(case: Case, all_series: Sequence[_Series], patience: Patience) -> Sequence[_Finding]:
    """Judge that no attempt follows the last one, or one that was answered with a 2xx."""
    whole = [one for one in all_series if not one.is_over]
    if not whole:
        return ()
    longest = max(case.profile.webhook_bindings.schedule or (0.0,))
    await asyncio.sleep(patience.settle)
    await clock.reach(case, max(one.end for one in whole) + longest * (1 + _PAUSE_LEAD))
    await asyncio.sleep(2 * patience.quiet)
    findings = []
    for series in whole:
        count, wanted = len(series.attempts(case)), len(series.plan.answers)
        where = {"destination": series.plan.place.name, "last answer": series.plan.answers[-1]}
        finding = _Finding(
            _SCHEDULE_ROW, count == wanted, f"{wanted} attempts", f"{count}", series.attempts(case)[-1], where
        )
        findings.append(finding)
    return findings


async def _send_dead_letters_again(case: Case, all_series: Sequence[_Series], patience: Patience) -> Sequence[_Finding]:
    """Send the events that failed at all attempts again, and judge that they are."""
    dead = [one for one in all_series if not one.is_over and not one.plan.is_taken]
    try:
        admin = administrator(case)
    except Inconclusive as reason:
        case.note(f"no dead letter is sent again: {reason}")
        return ()
    if not dead:
        return ()
    sale, event_id = dead[0].plan.sale, dead[0].attempts(case)[-1].id
    ids = await _list_deliveries_of_event(admin, sale.link.order.tenant.id, event_id)
    if not ids:
        case.note("no dead letter is sent again: no delivery in the list contains the id of its event")
        return ()
    for one in dead:
        one.count = len(one.attempts(case))
    answers = [await admin.call("POST", sale.link.order.tenant.id, "deliveries", one, "retry") for one in ids]
    await _await_attempts(case, dead, patience.due)
    statuses = ", ".join(str(answer.status) for answer in answers)
    expectation = "one attempt of a dead letter that is sent again"
    findings = []
    for one in dead:
        count, where = len(one.attempts(case)) - one.count, {"destination": one.plan.place.name}
        finding = f"{count} attempts, and the calls were answered {statuses}"
        findings.append(_Finding(_SCHEDULE_ROW, count == 1, expectation, finding, one.attempts(case)[-1], where))
    return findings


async def _list_deliveries_of_event(admin: Administrator, tenant: str, event_id: object) -> Sequence[str]:
    """Return the ids of the deliveries whose row contains the id of an event."""
    answer = await admin.call("GET", tenant, "deliveries")
    body = answer.parse_json() if 200 <= answer.status < 300 else None
    rows = body.get("deliveries") if isinstance(body, dict) else body
    return [
        row["delivery_id"]
        for row in (rows if isinstance(rows, list) else [])
        if isinstance(row, dict) and isinstance(row.get("delivery_id"), str) and event_id in row.values()
    ]


def _judge_answers(case: Case, scene: ScheduledFailures) -> Sequence[_Finding]:
    """Judge that no redirect was followed, and that no long body was read."""
    deliveries = case.session.inbox.deliveries
    followers = [one for one in deliveries if scene.elsewhere in one.arrival.target]
    finding, sample = f"{len(followers)} requests", followers[0] if followers else None
    expectation = "no request to a redirect's address"
    findings = [_Finding(_ANSWER_ROW, not followers, expectation, finding, sample, is_certain=True)]
    for delivery in deliveries:
        reply = delivery.arrival.reply
        if reply is not None and reply.filler_bytes:
            sent, where = delivery.arrival.filler_sent, {"status": str(reply.status)}
            expectation = f"at most {_MOST_READ_BYTES} bytes taken of the {LONG_BODY_BYTES} of an answer"
            is_right = sent <= _MOST_READ_BYTES
            findings.append(
                _Finding(_ANSWER_ROW, is_right, expectation, f"{sent} bytes", delivery, where, is_certain=True)
            )
    return findings
