"""Gateway restart between two attempts to deliver an event, and between a link and its payment."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from conformance.engine.check import Case
from conformance.engine.concurrent_check_steps import run_concurrently
from conformance.outcome import Inconclusive
from conformance.surfaces.gateway.calls import OPEN_PATH
from conformance.surfaces.gateway.orders import OpenedLink, on_first_lane, open_link
from conformance.surfaces.restarts import ready_for_restart, restart_command, start_again
from conformance.surfaces.webhooks.own_tenant_destinations import DeletedDestination, deleted_destination
from conformance.surfaces.webhooks.paid_links import (
    FailedDeliveries,
    PaidLink,
    fail_deliveries,
    pay_link,
    wait_for_events,
    with_named_randomness,
)
from conformance.surfaces.webhooks.scheduled_failures import has_schedule, scheduled_failures
from conformance.webhook_receiver.inbox import Place
from conformance.webhook_receiver.raw_receiver import SILENCE, Reply

_NAME: Final = "webhooks over a restart"


@dataclass(frozen=True, slots=True)
class RestartedGateway:
    """The state of a gateway before its restart.

    Attributes:
        place: The destination at which the first delivery of `refused_sale` failed.
        refused_sale: A paid link whose first delivery there was answered with 500.
        unanswered_sale: A paid link whose first delivery to another destination, if any, was under way at the restart.
        unanswered_at: That destination.
        unpaid_link: A link that has not been paid.
        deleted_destination: A destination deleted before, and one that was not; None if they cannot be created.
        later_failures: Two paid links after the restart whose first delivery failed. State that a gateway has only in
            its process still counts for them.
    """

    place: Place
    refused_sale: PaidLink
    unanswered_sale: PaidLink
    unanswered_at: Place
    unpaid_link: OpenedLink
    deleted_destination: DeletedDestination | None
    later_failures: FailedDeliveries


async def restart_once(case: Case) -> RestartedGateway | None:
    """Return the state of the gateway before its one restart in this run; None if the profile has no restart command.

    Raises:
        Inconclusive: Nothing can be paid or received, or the restart failed.
    """
    words = restart_command(case, "gateway")
    if words is None:
        return None
    state: RestartedGateway = await case.session.find_once(
        _NAME, lambda: _restart_gateway(with_named_randomness(case, _NAME), words)
    )
    return state


async def _restart_gateway(case: Case, words: Sequence[str]) -> RestartedGateway:
    # One lane is enough: events are stored in the same way for every lane.
    lane_case = await on_first_lane(case)
    refused_link, cut_off, unpaid_link = [await open_link(lane_case) for _ in range(3)]
    inbox = case.session.inbox
    # The first and the last destination, because a sender may serve destinations one after the other.
    places = inbox.of_tenant(refused_link.order.tenant.name)
    first, last = places[0], places[-1]
    inbox.script(refused_link.order.mark, last, [Reply(500)])
    inbox.script(cut_off.order.mark, first, [SILENCE])
    # The deletion comes before the unanswered delivery, which may block later deliveries of a sequential sender.
    deletion = await deleted_destination(lane_case)
    sale, under_way = await run_concurrently(_sell_and_hear(lane_case, link) for link in (refused_link, cut_off))
    # One restart serves all checks of the run that need one, because each costs seconds and
    # cuts off other requests.
    await ready_for_restart(case)
    await start_again(case, words, case.session.gateway + OPEN_PATH)
    async with asyncio.TaskGroup() as group:
        group.create_task(_begin_schedule(lane_case))
        failures = await fail_deliveries(lane_case)
    return RestartedGateway(last, sale, under_way, first, unpaid_link, deletion, failures)


async def _begin_schedule(case: Case) -> None:
    """Let the first attempts of the schedule fail now, so that its check need not wait for their end."""
    # Paid after the restart, which cuts off attempts. Without these links, that check pays its own.
    with suppress(Inconclusive):
        if has_schedule(case):
            await scheduled_failures(case)


async def _sell_and_hear(case: Case, link: OpenedLink) -> PaidLink:
    return await wait_for_events(case, await pay_link(case, link))
