"""WH-DELIV: a confirmed payment is reported to every destination, by POST, as JSON, and with one id."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping

from conformance.engine.check import Case, check
from conformance.engine.concurrent_check_steps import run_concurrently
from conformance.engine.exclusive import Exclusive
from conformance.engine.quick_policy import OWN_PROCESSES, WAITS
from conformance.outcome import Inconclusive
from conformance.surfaces.gateway.orders import memo_carrier, on_lane, open_link, payer
from conformance.surfaces.restarts import leave_without_restart
from conformance.surfaces.webhooks.over_restart import restart_once
from conformance.surfaces.webhooks.own_tenant_destinations import DeletedDestination
from conformance.surfaces.webhooks.paid_links import (
    PaidLink,
    deliveries,
    failed_deliveries,
    given_up_after,
    paid_links,
    pay_link,
    wait_for_events,
    wait_for_late_events,
)
from conformance.surfaces.webhooks.signature_verification import verify_delivery
from conformance.surfaces.webhooks.unwanted_events import UnpaidLink, judge_unwanted_events
from conformance.webhook_receiver.inbox import Place

# An event is sent within a second of the payment (P-WH-08), so one that is sent by mistake has arrived by then.
_SETTLE_SECONDS = 1.5


@check(
    "WH-DELIV-01",
    "WH-DELIV-02",
    "WH-DELIV-04",
    "WH-DELIV-08",
    surface="webhooks",
    lane="each",
    fix="When a payment confirms, write its event and one delivery for each of the tenant's destinations, and POST the "
    "event's JSON to the destination's own URL.",
)
async def a_confirmed_payment_is_delivered(case: Case) -> None:
    """A confirmed payment is reported by payment.confirmed, a JSON object, POSTed to each of the tenant's destinations.

    Pays two links as their pages say, while the suite receives at every destination that the profile names. If the
    target claims such a call, sends the transaction of one payment to the gateway at once. Expects an event of each
    payment within the budget (`[budgets] paid`) at every destination of the link's tenant: by POST, at the configured
    URL, with a JSON object as the body. Expects none at another tenant's destination.
    """
    for sale in await paid_links(case):
        _judge_emission(case, sale, {"transaction": "named to the gateway at once"} if sale.is_named else {})
        _judge_arrivals(case, sale)
    _need_two_destinations(case, sale)


def _need_two_destinations(case: Case, sale: PaidLink) -> None:
    # With one destination a correct sender and one that knows only a single destination look the same.
    if len(sale.places) == 1:
        case.mark_inconclusive(
            "WH-DELIV-08",
            f"only one destination of the tenant {sale.link.order.tenant.name} is known: configure another one at the "
            "target and give [webhook.destinations.NAME]",
        )


def _judge_emission(case: Case, sale: PaidLink, where: Mapping[str, str]) -> None:
    inbox = case.session.inbox
    deliveries, events = sale.deliveries(inbox), sale.confirmations(inbox)
    unreadable = [one for one in deliveries if one.fault is not None]
    # Without an event and without Paid on the page it is unknown whether the payment confirmed at all.
    if not events and not unreadable and not sale.is_shown:
        raise Inconclusive("no event came, and the link's page does not say Paid either, which GW-CHK-09 judges")
    budget = case.profile.budgets.paid
    # The found types help an operator who sends another event type, such as payment.completed.
    types = sorted({str(one.event.get("type")) for one in deliveries})
    finding = f"events of the types {', '.join(types)}" if deliveries else "none, and its page says Paid"
    sample = next(iter((*events, *deliveries)), None)
    # A delivery that cannot be read still shows that the payment was reported. Its form breaks other rows.
    expectation, is_emitted, exchange = f"payment.confirmed within {budget:g} s", bool(events or unreadable), sample
    case.expect("WH-DELIV-02", is_emitted, expectation, finding, exchange=exchange or sale.link.page, where=where)


def _judge_arrivals(case: Case, sale: PaidLink) -> None:
    inbox, tenant = case.session.inbox, sale.link.order.tenant.name
    for delivery in sale.deliveries(inbox):
        arrival = delivery.arrival
        is_at_destination = (
            delivery.place is not None and delivery.place.destination.tenant == tenant and delivery.at_its_url
        )
        case.expect(
            "WH-DELIV-01",
            arrival.method == "POST" and is_at_destination,
            f"POST to a URL that the tenant {tenant} configured",
            f"{arrival.method} {arrival.target}, {'no destination' if delivery.place is None else delivery.place.name}",
            exchange=delivery,
        )
        case.expect(
            "WH-DELIV-04", delivery.fault is None, "a body that is a JSON object", delivery.fault, exchange=delivery
        )
    for place in sale.places:
        place_deliveries = sale.deliveries(inbox, place)
        where = {"destination": place.name}
        # If no destination got anything, the event was never sent. That breaks WH-DELIV-02 alone, not every
        # destination's row.
        if any(sale.deliveries(inbox, other_place) for other_place in sale.places):
            case.expect(
                "WH-DELIV-08",
                bool(place_deliveries),
                "the event",
                f"{len(place_deliveries)} deliveries",
                where=where,
                exchange=place_deliveries[0] if place_deliveries else None,
            )


@check(
    "WH-DELIV-08",
    surface="webhooks",
    fix="Deliver to each destination separately, with a task or a queue for each. An attempt or a pause for one "
    "destination must not delay another.",
)
async def a_failing_destination_holds_nobody_up(case: Case) -> None:
    """A destination that fails or does not answer keeps no other one from its event.

    Pays two links. The tenant's first destination does not answer the delivery of one, and the last answers that of the
    other with 500. Expects the event at each other destination within the budget (`[budgets] paid`), counted from its
    arrival at the failing one. If that one does not answer, the time-out of an attempt (`[webhook] timeout`) is added.
    """
    failed_sales = await failed_deliveries(case)
    # The two ways to fail differ: a refusal ends at once, while silence holds a connection until the time-out.
    for sale, failing_place, extra_seconds in (
        (failed_sales.unanswered_sale, failed_sales.unanswered_at, given_up_after(case)),
        (failed_sales.refused_sale, failed_sales.refused_at, 0.0),
    ):
        _need_two_destinations(case, sale)
        for place in sale.places:
            if place != failing_place:
                await _judge_delay(case, sale, (failing_place, place), case.profile.budgets.paid + extra_seconds)


async def _judge_delay(case: Case, sale: PaidLink, places: tuple[Place, Place], seconds: float) -> None:
    """Judge that an event reached the second of two places in time, counted from its arrival at the first, if any."""
    inbox, (failing_place, place) = case.session.inbox, places
    failing_deliveries = sale.deliveries(inbox, failing_place)
    # Each destination already had its budget. This waits longer for a sender that is still in its first attempt.
    remaining_seconds = failing_deliveries[0].arrival.at + seconds - time.time() if failing_deliveries else 0.0
    place_deliveries = await inbox.wait(
        lambda one: one.place == place and one.mentions(sale.words), seconds=max(remaining_seconds, 0.0)
    )
    if not failing_deliveries:
        return
    delay = place_deliveries[0].arrival.at - failing_deliveries[0].arrival.at if place_deliveries else None
    finding = "nothing" if delay is None else f"it after {delay:.0f} s"
    where = {"destination": place.name, "failing": failing_place.name}
    is_in_time = delay is not None and delay <= seconds
    case.expect(
        "WH-DELIV-08",
        is_in_time,
        f"the event within {seconds:g} s",
        finding,
        exchange=[*place_deliveries, *failing_deliveries][0],
        where=where,
    )


@check(
    "WH-DELIV-02",
    "WH-DELIV-10",
    "WH-SIG-04",
    surface="webhooks",
    exclusive=Exclusive.RESTART,
    fix="Keep links, destinations, their deletions and secrets, and events on the disk, and watch every active link "
    "after a start.",
    quick=OWN_PROCESSES,
)
async def a_restart_silences_no_payment(case: Case) -> None:
    """A payment after a restart, for a link created before it, is reported by payment.confirmed, signed as before.

    Opens a link, restarts the gateway by the profile's command, and pays the link. Expects an event of the payment
    within the budget (`[budgets] paid`). Expects that the signature of each delivery verifies with the secret that its
    destination had before the restart. If an administrator can, deletes one of a tenant's two destinations before the
    restart, and pays a link of that tenant after it. Expects the event at the other destination only.
    """
    scene = await restart_once(case)
    if scene is None:
        leave_without_restart(case, "gateway")
        return
    lane_case = on_lane(case, scene.refused_sale.lane)
    sale = await wait_for_events(lane_case, await pay_link(lane_case, scene.unpaid_link))
    # The destination is not answering the first delivery of another sale just now, and a sender may deliver in order.
    await wait_for_late_events(lane_case, (sale,))
    where = {"restart": "before the payment"}
    await _judge_deleted_destination(lane_case, scene.deleted_destination)
    _judge_emission(lane_case, sale, where)
    events = sale.confirmations(case.session.inbox)
    if not events:
        case.mark_inconclusive("WH-SIG-04", "no event of the payment came, which WH-DELIV-02 judges")
    for event in events:
        try:
            result = verify_delivery(case, event)
        except Inconclusive as reason:
            case.mark_inconclusive("WH-SIG-04", str(reason), exchange=event)
            continue
        expectation = f"v1 over {result.string!r} with the destination's secret, as before"
        case.expect("WH-SIG-04", result.holds, expectation, None, exchange=event, hint=result.hint, where=where)


async def _judge_deleted_destination(case: Case, destination: DeletedDestination | None) -> None:
    """Judge WH-DELIV-10 on a destination that was deleted before a restart."""
    if destination is None:
        case.mark_not_applicable("WH-DELIV-10", "no destination could be made and deleted before the restart")
        return
    try:
        # Paid after the restart: a gateway that keeps deletions in memory only would deliver to the deleted
        # destination again.
        await (await payer(case)).settle(destination.unpaid_link.bill, memo_carrier(case))
        is_heard = await destination.is_kept_notified(destination.unpaid_link, seconds=case.profile.budgets.paid)
    except Inconclusive as reason:
        case.mark_inconclusive("WH-DELIV-10", str(reason))
        return
    if not is_heard:
        reason_without_event = (
            "after the restart no event reached the destination that was not deleted, which WH-DELIV-02 judges"
        )
        case.mark_inconclusive("WH-DELIV-10", reason_without_event)
        return
    late_count, where = (
        await destination.count_late_deliveries(destination.unpaid_link),
        {"restart": "after the deletion"},
    )
    case.expect(
        "WH-DELIV-10", late_count == 0, "no delivery to the deleted one", f"{late_count} deliveries", where=where
    )


@check(
    "WH-DELIV-03",
    surface="webhooks",
    fix="Write the event only in the transaction that sets the link to Paid.",
    quick=WAITS,
)
async def an_unpaid_link_is_told_of_nowhere(case: Case) -> None:
    """No payment.confirmed is sent for an unpaid link.

    Creates two links, loads their pages, and asks the target to cancel one of them, if it has such a call. Expects no
    payment.confirmed of either, while the event of another link, which is paid, arrives.
    """
    control = (await failed_deliveries(case)).refused_sale
    untouched_link, cancelled_link = await run_concurrently(open_link(on_lane(case, control.lane)) for _ in range(2))
    # The interface has no such call. A target without it refuses, and its link stays unpaid just the same.
    await case.client.call("POST", f"{cancelled_link.order.url.rstrip('/')}/abandon", json_body={})
    await asyncio.sleep(_SETTLE_SECONDS)
    await judge_unwanted_events(
        case,
        control.link,
        [UnpaidLink(untouched_link, "none"), UnpaidLink(cancelled_link, "none; it was to be cancelled")],
    )


@check(
    "WH-BODY-14",
    surface="webhooks",
    lane="each",
    fix="Draw a fresh UUID for each event when it is written.",
)
async def payments_have_ids_of_their_own(case: Case) -> None:
    """Two different payments give two different ids.

    Reads the events of two payments. Expects that they share no id.
    """
    first, second = [
        {str(delivery.id): delivery for delivery in deliveries(case, sale)} for sale in await paid_links(case)
    ]
    common_ids = sorted(first.keys() & second.keys())
    case.expect(
        "WH-BODY-14",
        not common_ids,
        "ids that differ",
        f"both have {', '.join(common_ids)}" if common_ids else "ids that differ",
        exchange=next(iter(second.values())),
    )
