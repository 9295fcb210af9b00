"""WH-DELIV-05 to -07 and WH-SIG-07: redelivery of an event after a failed attempt, and one event for each payment.

The first deliveries fail while the other checks run. The clock is moved later, when no other check runs.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from conformance.assertions.webhook_signature_time import is_stale_copy, judge_time
from conformance.engine import clock
from conformance.engine.check import Case, check
from conformance.engine.exclusive import Exclusive
from conformance.outcome import Inconclusive
from conformance.surfaces.gateway.orders import look_again, on_lane
from conformance.surfaces.webhooks.over_restart import restart_once
from conformance.surfaces.webhooks.own_tenant_destinations import DeletedDestination, deleted_destination
from conformance.surfaces.webhooks.paid_links import PaidLink, failed_deliveries, given_up_after, wait_for_late_events
from conformance.surfaces.webhooks.signature_verification import header_of, verify_delivery
from conformance.vocabulary.profile_claims import SPECIFICATION
from conformance.webhook_receiver.inbox import Place, Received

_MARGIN_SECONDS = 2.0
_POLL_SECONDS = 0.05
# A redelivery that the operator's schedule promises is awaited longer than one that the interface merely allows.
_DUE_SECONDS, _AGAIN_SECONDS = 60.0, 10.0
_SETTLE_SECONDS = 1.0
# How far the clock is moved if the profile gives no schedule of redeliveries.
_LONG_PAUSE_SECONDS = 3600
_REDELIVERY_ROWS = ("WH-DELIV-05", "WH-DELIV-06", "WH-SIG-07")


@check(
    "WH-DELIV-02",
    "WH-DELIV-07",
    surface="webhooks",
    fix="Store one event for each payment, with a unique key. Deliver that event however often the payment is seen.",
)
async def one_payment_is_one_event(case: Case) -> None:
    """One confirmed payment gives one event id, at every destination and however often the payment is looked at.

    Pays two links and lets the first delivery to one destination fail. Then loads the pages again and sends the
    transactions to the gateway. Expects an event of each payment, and that all deliveries of a payment have one id.
    """
    failed_sales = await failed_deliveries(case)
    await wait_for_late_events(case, (failed_sales.unanswered_sale, failed_sales.refused_sale))
    _judge_reports(case, (failed_sales.unanswered_sale, failed_sales.refused_sale))
    for sale in (failed_sales.unanswered_sale, failed_sales.refused_sale):
        await look_again(case, sale.link)
        # The interface has no such calls. In a target that has them, a second look at the payment may write a second
        # event.
        url = sale.link.order.url.rstrip("/")
        await case.client.call("POST", f"{url}/verify", json_body={"tx_id": sale.tx_id})
        await case.client.call("GET", f"{url}/status")
        await look_again(case, sale.link)
    await asyncio.sleep(_SETTLE_SECONDS)
    for sale in (failed_sales.unanswered_sale, failed_sales.refused_sale):
        _judge_single_id(case, sale)


def _judge_reports(case: Case, sales: Sequence[PaidLink]) -> None:
    """Judge WH-DELIV-02 on sales that were paid in the same way.

    Raises:
        Inconclusive: No sale was reported, and no page says Paid. Perhaps nothing was paid, which GW-CHK-09 judges.
    """
    inbox, seconds = case.session.inbox, case.profile.budgets.paid + given_up_after(case)
    heard_lanes = {one.lane for one in sales if one.confirmations(inbox)}
    for sale in sales:
        deliveries = sale.confirmations(inbox) or tuple(one for one in sale.deliveries(inbox) if one.fault is not None)
        if not deliveries and not sale.is_shown and sale.lane not in heard_lanes:
            raise Inconclusive("no event came, and the link's page does not say Paid either, which GW-CHK-09 judges")
        page = "its page says Paid" if sale.is_shown else "another link that was paid in the same way was reported"
        finding, sample = ("it arrived", deliveries[0]) if deliveries else (f"none, and {page}", sale.link.page)
        case.expect(
            "WH-DELIV-02", bool(deliveries), f"payment.confirmed within {seconds:g} s", finding, exchange=sample
        )


def _judge_single_id(case: Case, sale: PaidLink) -> None:
    events = sale.confirmations(case.session.inbox)
    if not events:
        return
    # Deliveries to all destinations count: the id is of the event, not of the delivery (P-WH-03).
    ids = sorted({str(one.id) for one in events})
    finding = f"{len(ids)}: {', '.join(ids)}"
    case.expect("WH-DELIV-07", len(ids) == 1, "one id", finding, exchange=events[-1])


@check(
    "WH-DELIV-02",
    "WH-DELIV-05",
    "WH-DELIV-06",
    "WH-DELIV-07",
    "WH-DELIV-10",
    "WH-BODY-15",
    "WH-SIG-06",
    "WH-SIG-07",
    surface="webhooks",
    exclusive=Exclusive.CLOCK,
    fix="Store the event's bytes and send them again after the schedule's pause, even after a restart. Sign each "
    "attempt with its own time. Drop waiting deliveries of a deleted destination.",
)
async def a_failed_delivery_is_made_again(case: Case) -> None:
    """An event whose delivery failed is sent again with the same id, the same data, and a new signature that verifies.

    Pays two links. One destination never answers the first delivery of one, and the last destination answers that of
    the other with 500. If the profile has a command that restarts the gateway, pays two more links: one delivery is
    answered with 500 before the restart, the other is under way during it (P-WH-08). If an administrator can, deletes
    one of a tenant's two destinations after the first delivery failed at both. Then waits for the time-out and lets the
    schedule's pause pass (`[webhook] schedule`). A test clock also lets more time pass than a receiver tolerates in a
    signature.

    Expects an event of each payment, and the first one again. Expects of each redelivery the same id and data, from a
    target that claims the specification also the same bytes, and a signature that verifies and has the new time.
    Expects nothing at the deleted destination if the other gets the event.
    """
    failed_attempts, deleted_destination_scene = await _gather_failed_attempts(case)
    await wait_for_late_events(case, [attempt.sale for attempt in failed_attempts])
    clock_reason = await _let_pause_pass(case, failed_attempts, deleted_destination_scene)
    await _judge_dropped_deliveries(case, deleted_destination_scene)
    _judge_reports(case, [attempt.sale for attempt in failed_attempts])
    # The redelivery rows are decided by any sale that came again. They stay open only if none of them did.
    repeat_count = 0
    for attempt in failed_attempts:
        deliveries = attempt.list_deliveries(case)
        # The event may have reached the other destinations only. WH-DELIV-08 judges that.
        if not deliveries:
            continue
        _judge_single_id(case, attempt.sale)
        _judge_signatures(case, attempt, deliveries, is_over=clock_reason is None)
        if clock_reason is None:
            repeat_count += _judge_redeliveries(case, deliveries, attempt.where)
    reason = clock_reason or "nothing was delivered again, which the interface allows and WH-DELIV-05 judges"
    for row in () if repeat_count else _REDELIVERY_ROWS:
        if row not in case.judged_rows:
            case.mark_inconclusive(row, reason)


@dataclass(frozen=True, slots=True)
class _FailedAttempt:
    """A sale whose first delivery to one destination failed, and how the report names it."""

    place: Place
    sale: PaidLink
    where: Mapping[str, str]

    def list_deliveries(self, case: Case) -> Sequence[Received]:
        """Return the deliveries to that destination. An unreadable one counts, since it may be the event."""
        return [
            one for one in self.sale.deliveries(case.session.inbox, self.place) if one.confirms or one.fault is not None
        ]


async def _gather_failed_attempts(case: Case) -> tuple[Sequence[_FailedAttempt], DeletedDestination | None]:
    """Return the sales and the deleted destination, if any.

    The sale whose delivery was not answered comes first. Sales from before a restart, if any, come last.
    """
    try:
        scene = await restart_once(case)
    except Inconclusive as reason:
        case.note(f"no event was followed over a restart: {reason}")
        scene = None
    failed_sales, refusal_place = (
        await failed_deliveries(case) if scene is None else scene.later_failures,
        {"first attempt": "answered with 500"},
    )
    attempts = [
        _FailedAttempt(failed_sales.unanswered_at, failed_sales.unanswered_sale, {"first attempt": "not answered"}),
        _FailedAttempt(failed_sales.refused_at, failed_sales.refused_sale, refusal_place),
    ]
    if scene is None:
        return attempts, await deleted_destination(on_lane(case, failed_sales.unanswered_sale.lane))
    cut_off = {"first attempt": "not answered", "restart": "during the first attempt"}
    attempts.append(
        _FailedAttempt(scene.place, scene.refused_sale, {**refusal_place, "restart": "after the first attempt"})
    )
    attempts.append(_FailedAttempt(scene.unanswered_at, scene.unanswered_sale, cut_off))
    return attempts, scene.deleted_destination


def _judge_redeliveries(case: Case, deliveries: Sequence[Received], where: Mapping[str, str]) -> int:
    """Judge the deliveries after the first one, and return their number."""
    _judge_repetition(case, deliveries, where)
    for redelivery in deliveries[1:]:
        _judge_sameness(case, deliveries[0], redelivery, where)
    return len(deliveries) - 1


def _judge_signatures(case: Case, attempt: _FailedAttempt, deliveries: Sequence[Received], *, is_over: bool) -> None:
    """Judge WH-SIG-06 on the first delivery and, if the first attempt is over, both rows on the redeliveries.

    If a signature cannot be judged, only the rows of signatures stay undecided.
    """
    try:
        judge_time(case, attempt.sale, deliveries[0])
    except Inconclusive as reason:
        for row in ("WH-SIG-06", "WH-SIG-07"):
            case.mark_inconclusive(row, str(reason), exchange=deliveries[0])
        return
    for redelivery in deliveries[1:] if is_over else ():
        try:
            _judge_new_signature(case, attempt, redelivery)
        except Inconclusive as reason:
            case.mark_inconclusive("WH-SIG-07", str(reason), exchange=redelivery)


def _judge_new_signature(case: Case, attempt: _FailedAttempt, redelivery: Received) -> None:
    """Judge WH-SIG-07 and -06 on a redelivery.

    A stale time of an earlier attempt breaks both. WH-SIG-06 is a SHOULD, but every receiver that refuses replays
    refuses this delivery, and each later one too: the tenant never learns of the payment.

    Raises:
        Inconclusive: It is unknown what v1 covers, or how the key is derived from the secret.
    """
    header = header_of(case, redelivery)
    if header is None or not header.is_usable:
        finding = "no signature header with a time and a v1"
        case.expect("WH-SIG-07", False, "a v1 that verifies", finding, exchange=redelivery, where=attempt.where)
        return
    result, is_stale = verify_delivery(case, redelivery), is_stale_copy(case, redelivery)
    finding = "it verifies" if result.holds else "it does not verify"
    case.expect(
        "WH-SIG-07",
        result.holds and not is_stale,
        "a v1 that verifies, with the time of the attempt",
        f"{finding}, with the stale time of an earlier attempt" if is_stale else finding,
        exchange=redelivery,
        hint=result.hint,
        where=attempt.where,
    )
    judge_time(case, attempt.sale, redelivery)


def _judge_repetition(case: Case, deliveries: Sequence[Received], where: Mapping[str, str]) -> None:
    """Judge WH-DELIV-05. The interface allows redelivery; a schedule in the profile promises it."""
    schedule = case.profile.webhook_bindings.schedule
    # Without a schedule in the profile, an event that came only once breaks nothing. One that came again is judged.
    if len(deliveries) > 1 or schedule:
        expectation = "the event again" + (f" after {schedule[0]:g} s" if schedule else "")
        finding = f"it arrived {len(deliveries)} times" if len(deliveries) > 1 else "it arrived once"
        case.expect("WH-DELIV-05", len(deliveries) > 1, expectation, finding, exchange=deliveries[-1], where=where)
    elif "WH-DELIV-05" not in case.judged_rows:
        case.mark_not_applicable("WH-DELIV-05", "the event did not come again, which the interface allows")


def _judge_sameness(case: Case, first: Received, redelivery: Received, where: Mapping[str, str]) -> None:
    expectation = f"id {first.id} and the same data"
    changes = _list_changes(first.event, redelivery.event)
    finding = f"changed: {', '.join(changes)}" if changes else "the same id and data"
    case.expect("WH-DELIV-06", not changes, expectation, finding, exchange=redelivery, where=where)
    if case.profile.claims.includes(SPECIFICATION):
        is_same, finding = redelivery.arrival.body == first.arrival.body, f"{len(redelivery.arrival.body)} bytes"
        expectation = f"the {len(first.arrival.body)} bytes of the first attempt"
        case.expect("WH-BODY-15", is_same, expectation, finding, exchange=redelivery, where=where)


def _list_changes(first: Mapping[str, Any], later: Mapping[str, Any]) -> list[str]:
    """Return the names of id and of data members that differ."""
    # `data` is compared member by member, so that the report names what changed.
    first_data, later_data = first.get("data"), later.get("data")
    data_changes = (
        [f"data.{name}" for name in sorted({*first_data, *later_data}) if first_data.get(name) != later_data.get(name)]
        if (isinstance(first_data, dict) and isinstance(later_data, dict))
        else ["data"] * (first_data != later_data)
    )
    return ["id"] * (first.get("id") != later.get("id")) + data_changes


async def _judge_dropped_deliveries(case: Case, destination: DeletedDestination | None) -> None:
    """Judge WH-DELIV-10 on the waiting delivery to a destination that was deleted between two attempts."""
    if destination is None:
        case.mark_not_applicable("WH-DELIV-10", "no destination could be made and deleted between two attempts")
    elif not await destination.is_kept_notified(destination.paid_link, seconds=0):
        case.mark_not_applicable("WH-DELIV-10", "the event was not sent again to the other destination either")
    else:
        late_count, where = (
            await destination.count_late_deliveries(destination.paid_link),
            {"first attempt": "answered with 500 before the deletion"},
        )
        case.expect(
            "WH-DELIV-10", late_count == 0, "no delivery to the deleted one", f"{late_count} deliveries", where=where
        )


async def _let_pause_pass(
    case: Case, attempts: Sequence[_FailedAttempt], destination: DeletedDestination | None
) -> str | None:
    """Wait for the end of the first attempts and of the pause; return why time cannot pass for this target, or None."""
    # The pause counts from the end of an attempt (P-WH-08), so the clock must not move before the target gave up.
    await asyncio.gather(*(_await_failure(case, one) for one in attempts))
    # If everything has come again already, the schedule is short and the clock need not be moved.
    is_heard_there = destination is None or await destination.is_kept_notified(destination.paid_link, seconds=0)
    if is_heard_there and all(len(one.list_deliveries(case)) > 1 for one in attempts):
        return None
    try:
        await clock.pass_time(case, _choose_pause(case))
    except Inconclusive as reason:
        return str(reason)
    patience = _DUE_SECONDS if case.profile.webhook_bindings.schedule else _AGAIN_SECONDS
    staying_waits = (
        () if destination is None else (destination.is_kept_notified(destination.paid_link, seconds=patience),)
    )
    await asyncio.gather(*(_await_repetition(case, one, patience) for one in attempts), *staying_waits)
    return None


async def _await_failure(case: Case, attempt: _FailedAttempt) -> None:
    """Wait until the first attempt failed, and its sender had a moment to store that with its current time."""
    patience = given_up_after(case) + _MARGIN_SECONDS
    deadline = time.monotonic() + patience
    for first in attempt.sale.confirmations(case.session.inbox, attempt.place)[:1]:
        while (end_time := first.arrival.left_at or first.arrival.answered_at) is None:
            if time.monotonic() > deadline:
                case.note(f"the target was still waiting for the answer to an attempt after {patience:g} s")
                return
            await asyncio.sleep(_POLL_SECONDS)
        await asyncio.sleep(end_time + _SETTLE_SECONDS - time.monotonic())


async def _await_repetition(case: Case, attempt: _FailedAttempt, seconds: float) -> None:
    place, words = attempt.place, attempt.sale.words
    await case.session.inbox.wait(
        lambda one: one.place == place and (one.confirms or one.fault is not None) and one.mentions(words),
        seconds=seconds,
        count=2,
    )


def _choose_pause(case: Case) -> int:
    """Return the seconds that must pass before a redelivery is due."""
    # With a test clock more than the tolerance passes, so that a copied old signature would be stale (WH-SIG-07).
    bindings = case.profile.webhook_bindings
    first = round(bindings.schedule[0]) if bindings.schedule else None
    # The tolerance is added, because a target may wait longer than its schedule says and must still sign with the new
    # time.
    if case.profile.clock.offset_file is not None:
        return (first or _LONG_PAUSE_SECONDS) + bindings.tolerance + 1
    return (round(case.profile.budgets.wait_for_expiry) or _LONG_PAUSE_SECONDS) if first is None else first + 1
