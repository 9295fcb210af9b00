"""WH-DELIV-12 and -13: attempts after failures of every kind, by the schedule of the specification."""

from __future__ import annotations

import asyncio
import itertools
import random
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from conformance.engine import clock
from conformance.engine.check import Case, check
from conformance.engine.concurrency import run_concurrently
from conformance.engine.exclusive import Exclusive
from conformance.outcome import Inconclusive
from conformance.surfaces.gateway.calls import new_text
from conformance.surfaces.gateway.orders import on_first_lane, open_link
from conformance.surfaces.webhooks.over_restart import restart_once
from conformance.surfaces.webhooks.paid_links import PaidLink, pay_link, wait_for_events
from conformance.webhook_receiver.inbox import Place, Received
from conformance.webhook_receiver.raw_receiver import HANG_UP, SILENCE, Reply, redirect

# Theory of the schedule
#
# A pause is counted from the end of the attempt before (P-WH-08). After a time-out, begin and end of an attempt differ
# by seconds, so the first attempt is never answered. The test clock stops twice for each pause: a moment before it is
# over, when nothing may arrive, and right after. The early stop after the time-out lies between the pause from the
# beginning and the pause from the end. An attempt is judged by its arrival and not by the stop in which it came: a
# machine may be so slow that a stop takes seconds, in which the pause ends honestly.

_SCHEDULE_ROW, _ANSWER_ROW = "WH-DELIV-12", "WH-DELIV-13"
# Seconds at a stop of the clock: for what must not come, for an attempt that is due, and for one that may be late.
_LEAST_QUIET_SECONDS, _MOST_QUIET_SECONDS, _SOON_SECONDS, _DUE_SECONDS = 0.8, 5.0, 5.0, 60.0
_LAST_QUIET_SECONDS = 2.0
# The specification says 1 s. A busy machine gets more.
_FIRST_SECONDS = 15.0
# A time-out may end this much later than bound.
_LATE_SECONDS = 4.0
# Parts of the time-out: before the end of the first pause at which the clock stops, for how long, and how early an
# attempt may come, because the end of the attempt before was seen late.
_TIMEOUT_LEAD, _TIMEOUT_QUIET, _TIMEOUT_TOLERANCE = 0.9, 0.5, 0.4
# Part of a pause before its end at which the clock stops; half of it is the tolerance.
_PAUSE_LEAD = 0.2
_AFTER_DUE_SECONDS = 1.0
# More than the buffers of a connection on this machine hold.
_LONG_BODY_BYTES, _MOST_READ_BYTES = 32 * 2**20, 16 * 2**20
# Ways in which an attempt fails; `elsewhere` is the address of a redirect.
FAILURES: Final[Mapping[str, Callable[[str], Reply]]] = {
    "302": lambda elsewhere: redirect(elsewhere, 302),
    "404": lambda _: Reply(404),
    "a closed connection": lambda _: HANG_UP,
    "410": lambda _: Reply(410),
    "500 with a long body": lambda _: Reply(500, filler_bytes=_LONG_BODY_BYTES),
    "307": redirect,
    "400": lambda _: Reply(400),
    "304": lambda _: Reply(304),
    "308": lambda elsewhere: redirect(elsewhere, 308),
    "503 with Retry-After": lambda _: Reply(503, (("Retry-After", "1"),)),
}
_SILENT = "no answer"
DELIVERIES: Final[Mapping[str, Reply]] = {
    "202": Reply(202),
    "200 with a long body": Reply(200, filler_bytes=_LONG_BODY_BYTES),
    "206": Reply(206, body=b"[]"),
}


@dataclass(slots=True)
class _Series:
    """The attempts of one event at one destination, and how each of them fails.

    Attributes:
        place: The destination.
        sale: The paid link.
        failures: The failure of each attempt, in order.
        end: The target's time at the end of the last attempt, in unix seconds.
        count: The number of attempts that were judged.
        is_over: Whether a breach makes further attempts meaningless.
    """

    place: Place
    sale: PaidLink
    failures: Sequence[str]
    end: float = 0.0
    count: int = 1
    is_over: bool = False

    def attempts(self, case: Case) -> Sequence[Received]:
        """Return the attempts so far."""
        return self.sale.confirmations(case.session.inbox, self.place)


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
    order drawn from the seed. The event of the other link is answered with a 2xx, also with a long body. The clock
    stops before and after the end of each pause.

    Expects the first attempt within 15 s of the event's `created`, and the end of an unanswered attempt at about the
    time-out. Expects each further attempt after its pause and not before, and none after the last. Expects a single
    attempt of what was answered with a 2xx, no request to the address of a redirect, and that at most half of a long
    body is read.
    """
    schedule, timeout = case.profile.webhook_bindings.schedule, case.profile.webhook_bindings.timeout
    if not schedule or timeout is None:
        raise Inconclusive("needs [webhook] schedule and timeout")
    # Another check of webhooks restarts the gateway once in a run, which would cut off the first attempts.
    with suppress(Inconclusive):
        await restart_once(case)
    lane_case = await on_first_lane(case)
    elsewhere = new_text(case, "moved")
    failing_link, taken_link = [await open_link(lane_case) for _ in range(2)]
    places = case.session.inbox.of_tenant(failing_link.order.tenant.name)
    plans = [[_SILENT, *_draw_failures(case.rng, number, len(places), len(schedule))] for number in range(len(places))]
    for number, place in enumerate(places):
        address = f"{place.destination.url.rstrip('/')}/{elsewhere}"
        replies = [SILENCE, *(FAILURES[failure](address) for failure in plans[number][1:])]
        case.session.inbox.script(failing_link.order.mark, place, replies)
        taking = list(DELIVERIES.values())[number % len(DELIVERIES)]
        case.session.inbox.script(taken_link.order.mark, place, [taking])
    sales = await run_concurrently(pay_link(lane_case, link) for link in (failing_link, taken_link))
    failing_sale, taken_sale = await run_concurrently(wait_for_events(lane_case, sale) for sale in sales)
    series = [_Series(place, failing_sale, plans[number]) for number, place in enumerate(places)]
    for one in series:
        await _judge_first_attempt(case, one, timeout)
    series = [one for one in series if not one.is_over]
    if not series:
        raise Inconclusive("no event reached a destination, which WH-DELIV-02 and -08 judge")
    await _follow(case, series, schedule, timeout)
    _judge_taken(case, taken_sale)
    _judge_answers(case, elsewhere)


async def _follow(case: Case, all_series: Sequence[_Series], schedule: Sequence[float], attempt_seconds: float) -> None:
    """Let each pause of the schedule pass, and judge the attempt after it, and that the last one is the last."""
    series, quiet_seconds = list(all_series), attempt_seconds * _TIMEOUT_QUIET
    for number, pause in enumerate(schedule, start=1):
        lead, tolerance = pause * _PAUSE_LEAD, pause * _PAUSE_LEAD / 2
        if number == 1:
            lead, tolerance = (
                min(attempt_seconds * _TIMEOUT_LEAD, lead * 2),
                min(attempt_seconds * _TIMEOUT_TOLERANCE, lead),
            )
        latency = await _pass_pause(case, series, (pause, lead), quiet_seconds)
        # What came late when it was due would also be late at the early stop.
        quiet_seconds = min(max(_LEAST_QUIET_SECONDS, 2 * latency), _MOST_QUIET_SECONDS)
        for one in series:
            _judge_attempt(case, one, number, (pause, tolerance))
        series = [one for one in series if not one.is_over]
        if not series:
            break
    if series:
        await clock.reach(case, max(one.end for one in series) + 2 * schedule[-1])
        await asyncio.sleep(max(quiet_seconds, _LAST_QUIET_SECONDS))
    for one in series:
        count, expectation = len(one.attempts(case)), f"{len(schedule) + 1} attempts"
        where = {"destination": one.place.name}
        is_right = count == len(schedule) + 1
        case.expect(_SCHEDULE_ROW, is_right, expectation, f"{count}", exchange=one.attempts(case)[-1], where=where)


def _draw_failures(rng: random.Random, number: int, place_count: int, count: int) -> Sequence[str]:
    """Draw the failures of one destination, so that all destinations together have as many kinds as possible."""
    names = list(FAILURES)
    own_names = [name for place, name in enumerate(names) if place % place_count == number % place_count]
    rng.shuffle(own_names)
    # A 3xx comes to every destination, also to one that has few attempts.
    own_names.sort(key=lambda name: name not in {"302", "307", "308"})
    picked = own_names[:count]
    rng.shuffle(picked)
    return list(itertools.islice(itertools.cycle(picked), count))


async def _judge_first_attempt(case: Case, series: _Series, attempt_seconds: float) -> None:
    """Wait for the end of an attempt that is not answered, and judge when it began and how long it took."""
    where = {"destination": series.place.name, "attempt": "1, not answered"}
    attempts = series.attempts(case)
    if not attempts:
        series.is_over = True
        return
    first = attempts[0]
    created = first.event.get("created")
    if isinstance(created, int):
        case.expect(
            _SCHEDULE_ROW,
            first.now - created <= _FIRST_SECONDS,
            f"the first attempt within {_FIRST_SECONDS:g} s of created",
            f"after {first.now - created:.0f} s",
            exchange=first,
            where=where,
        )
    deadline, most = first.arrival.monotonic + 2 * attempt_seconds + _LATE_SECONDS, 2 * attempt_seconds + _LATE_SECONDS
    while first.arrival.left_at is None and time.monotonic() < deadline:  # noqa: ASYNC110 - the arrival has no event
        await asyncio.sleep(0.05)
    seconds = (first.arrival.left_at or deadline) - first.arrival.monotonic
    # A connection may take a moment before the request arrives, so only much less than the time-out is too short.
    is_right = first.arrival.left_at is not None and attempt_seconds / 2 <= seconds <= most
    case.expect(
        _SCHEDULE_ROW,
        is_right,
        f"the attempt ends after {attempt_seconds:g} s",
        f"{'it ended' if first.arrival.left_at is not None else 'it had not ended'} after {seconds:.1f} s",
        exchange=first,
        where=where,
    )
    series.is_over, series.end = not is_right, first.now + min(seconds, attempt_seconds)


async def _pass_pause(
    case: Case, series: Sequence[_Series], pause_and_lead: tuple[float, float], quiet_seconds: float
) -> float:
    """Stop the clock before the first series is due, and after the last one is; then wait for the attempts.

    Returns:
        Seconds from the moment when all were due to their arrival.
    """
    pause, lead = pause_and_lead
    # The sender needs a moment to store the end of the attempt before the clock moves.
    await asyncio.sleep(_LEAST_QUIET_SECONDS)
    await clock.reach(case, min(one.end for one in series) + pause - lead)
    await asyncio.sleep(quiet_seconds)
    due = max(one.end for one in series) + pause + _AFTER_DUE_SECONDS
    await clock.reach(case, due)
    start = time.monotonic()
    if await _await_attempts(case, series, _SOON_SECONDS):
        return time.monotonic() - start
    # A busy sender may have stored the end with the time of the early stop. Then it is due this much later.
    await clock.reach(case, due + pause)
    await _await_attempts(case, series, _DUE_SECONDS)
    return _SOON_SECONDS


async def _await_attempts(case: Case, series: Sequence[_Series], seconds: float) -> bool:
    """Wait for the next attempt of each series, and return whether all of them came."""

    async def comes(one: _Series) -> bool:
        deliveries = await case.session.inbox.wait(
            lambda delivery: delivery.place == one.place and delivery.confirms and delivery.mentions(one.sale.words),
            seconds=seconds,
            count=one.count + 1,
        )
        return len(deliveries) > one.count

    return all(await run_concurrently(map(comes, series)))


def _judge_attempt(case: Case, series: _Series, number: int, pause_and_tolerance: tuple[float, float]) -> None:
    """Judge the attempt after the failure of attempt `number`."""
    (pause, tolerance), attempts = pause_and_tolerance, series.attempts(case)
    where = {"destination": series.place.name, "attempt": f"{number + 1}, after {series.failures[number - 1]}"}
    expectation = f"the event again {pause:g} s after the end of attempt {number}"
    if len(attempts) <= number:
        series.is_over = True
        case.expect(_SCHEDULE_ROW, False, expectation, "nothing", exchange=attempts[-1], where=where)
        return
    attempt = attempts[number]
    seconds = attempt.now - series.end
    is_right, series.count = seconds >= pause - tolerance, number + 1
    case.expect(_SCHEDULE_ROW, is_right, expectation, f"after {seconds:.1f} s", exchange=attempt, where=where)
    series.is_over = not is_right
    arrival = attempt.arrival
    series.end = attempt.now + max(0.0, (arrival.answered_at or arrival.monotonic) - arrival.monotonic)


def _judge_taken(case: Case, sale: PaidLink) -> None:
    for place in sale.places:
        attempts = sale.confirmations(case.session.inbox, place)
        if not attempts:
            continue
        reply = attempts[0].arrival.reply
        where = {"destination": place.name, "first attempt": "" if reply is None else f"answered {reply.description}"}
        finding = f"{len(attempts)} attempts"
        case.expect(_SCHEDULE_ROW, len(attempts) == 1, "one attempt", finding, exchange=attempts[-1], where=where)


def _judge_answers(case: Case, elsewhere: str) -> None:
    deliveries = case.session.inbox.deliveries
    followers = [one for one in deliveries if elsewhere in one.arrival.target]
    finding = f"{len(followers)} requests"
    sample = followers[0] if followers else None
    case.expect(_ANSWER_ROW, not followers, "no request to a redirect's address", finding, exchange=sample)
    for delivery in deliveries:
        reply = delivery.arrival.reply
        if reply is not None and reply.filler_bytes:
            sent = delivery.arrival.filler_sent
            expectation = f"at most {_MOST_READ_BYTES} bytes taken of the {_LONG_BODY_BYTES} of an answer"
            where = {"status": str(reply.status)}
            case.expect(
                _ANSWER_ROW, sent <= _MOST_READ_BYTES, expectation, f"{sent} bytes", exchange=delivery, where=where
            )
