"""GW-CHK-20 as webhooks report it: no `payment.cancelled` is sent for an expired link (P-WH-12)."""

from __future__ import annotations

import asyncio

from conformance.assertions.gateway.link_status import read_final_status
from conformance.engine.check import Case, check
from conformance.engine.clock import pass_time
from conformance.engine.exclusive import Exclusive
from conformance.outcome import Inconclusive
from conformance.surfaces.gateway.calls import CHECKOUT, brief
from conformance.surfaces.gateway.orders import OpenedLink, network_of, on_first_lane, open_link
from conformance.surfaces.webhooks.own_tenant_destinations import (
    explain_unavailability,
    own_destination,
    read_arrival,
)
from conformance.webhook_receiver.raw_receiver import Arrival, Receiver

_LIFETIME, _AFTERWARDS = 120, 5
_SETTLE_SECONDS = 1.0
_CANCELLED_EVENT = "payment.cancelled"
_EVENTS = ("payment.confirmed", _CANCELLED_EVENT)
_OPEN_POINT = "the interface names no event but payment.confirmed"


@check(
    "GW-CHK-20",
    surface="gateway",
    exclusive=Exclusive.CLOCK,
    fix="Send payment.cancelled only for a link that was cancelled or abandoned, not for one whose time is over.",
)
async def an_expired_link_is_not_reported_as_cancelled(case: Case) -> None:
    """No `payment.cancelled` is sent for an expired link, to a destination that subscribes to it (P-WH-12).

    Requires an administrator's key. Creates a tenant with one destination on this machine that subscribes to both types
    of events. Opens a link of two minutes, lets its time pass until its status is `expired`, and cancels another link.
    As a control, `payment.cancelled` of the cancelled link must arrive. Expects no such event of the expired one. A
    breach only warns, except for the reference. If such events are unavailable, other checks decide the row.
    """
    reason = explain_unavailability(case)
    if reason is None:
        try:
            await _judge_expired_link(case)
        except Inconclusive as fault:
            reason = str(fault)
    if reason is not None:
        case.mark_not_applicable("GW-CHK-20", f"no destination could subscribe to events of an expired link: {reason}")


async def _judge_expired_link(case: Case) -> None:
    """Judge the row on a tenant that is created for this check.

    Raises:
        Inconclusive: The tenant could not be created, its link did not expire, or the control event did not arrive.
    """
    lane_case = await on_first_lane(case)
    network = network_of(lane_case)
    async with own_destination(case, "Weldproof expired link", network, {"events": list(_EVENTS)}) as destination:
        tenant, receiver = destination.tenant, destination.receiver
        # Opened for a new tenant, so that no other check's events reach this destination.
        late_link = await open_link(
            lane_case, network=network, tenant=tenant, members={"expires_in_seconds": _LIFETIME}
        )
        await pass_time(lane_case, _LIFETIME + _AFTERWARDS)
        link_url = f"{case.session.gateway}{CHECKOUT}{late_link.order.token}"
        status = await read_final_status(case, lambda: case.client.call("GET", f"{link_url}/status"))
        if status.read_object().get("status") != "expired":
            raise Inconclusive(f"a link whose time is over is not expired, which another check judges: {brief(status)}")
        await _cancel_and_await_event(case, receiver, await open_link(lane_case, network=network, tenant=tenant))
        # The control arrived, so an event of the expired link, which is older, would be here by now. A sender may
        # deliver in parallel, so it gets another second.
        await asyncio.sleep(_SETTLE_SECONDS)
        events = [one for one in receiver.arrivals if _reports_cancellation(one, late_link)]
        beyond = None if case.profile.is_reference else _OPEN_POINT
        requirement, finding = "no payment.cancelled of an expired link", f"{len(events)}"
        case.expect("GW-CHK-20", not events, requirement, finding, exchange=status, beyond=beyond)


async def _cancel_and_await_event(case: Case, receiver: Receiver, link: OpenedLink) -> None:
    """Cancel a link and wait for its event.

    Raises:
        Inconclusive: The cancellation failed, or no event reports it.
    """
    secret = link.order.answer.read_object().get("cancel_secret")
    if not isinstance(secret, str):
        raise Inconclusive("a link was created without a cancel_secret, which GW-LINK-25 judges")
    case.client.names.secret(secret, "CANCEL_SECRET")
    url = f"{case.session.gateway}{CHECKOUT}{link.order.token}/cancel"
    answer = await case.client.call("POST", url, json_body={"cancel_secret": secret})
    if not 200 <= answer.status < 300:
        raise Inconclusive(f"cancelling a link was answered {brief(answer)}, which GW-CHK-22 judges")
    if not await receiver.next(lambda one: _reports_cancellation(one, link), seconds=case.profile.budgets.paid):
        raise Inconclusive("no payment.cancelled of a cancelled link came to a destination that asked for it")


def _reports_cancellation(arrival: Arrival, link: OpenedLink) -> bool:
    """Return whether a delivery reports that a link was cancelled."""
    event = read_arrival(arrival)
    return event.event.get("type") == _CANCELLED_EVENT and event.mentions((link.order.mark, link.order.token))
