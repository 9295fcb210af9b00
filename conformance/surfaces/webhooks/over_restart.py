"""A restart of the gateway between two attempts to deliver an event, and between a link and its payment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from conformance.engine.check import Case
from conformance.engine.concurrency import run_concurrently
from conformance.surfaces.gateway.calls import OPEN_PATH
from conformance.surfaces.gateway.orders import OpenedLink, on_first_lane, open_link
from conformance.surfaces.restarts import ready_for_restart, restart_command, start_again
from conformance.surfaces.webhooks.own_destinations import DeletedDestination, deleted_destination
from conformance.surfaces.webhooks.sales import (
    FailedDeliveries,
    PaidLink,
    fail_deliveries,
    pay_link,
    wait_for_events,
    with_named_randomness,
)
from conformance.webhook_receiver.inbox import Place
from conformance.webhook_receiver.raw_receiver import SILENCE, Reply

_NAME: Final = "webhooks over a restart"


@dataclass(frozen=True, slots=True)
class RestartedGateway:
    """What a gateway had before it was started again.

    Attributes:
        place: The destination at which the first delivery of `refused_sale` failed.
        refused: A sale whose first delivery there was answered with 500.
        cut_off: A sale whose first delivery to another destination, where there is one, was under way meanwhile.
        cut_off_at: That destination.
        waiting: A link that nobody has paid.
        deleted: A destination that was deleted before, and one that was not; None where they cannot be had.
        afterwards: Two sales after it whose first delivery failed: what a gateway has in its process alone still counts
            for them.
    """

    place: Place
    refused_sale: PaidLink
    unanswered_sale: PaidLink
    unanswered_at: Place
    unpaid_link: OpenedLink
    deleted_destination: DeletedDestination | None
    later_failures: FailedDeliveries


async def restart_once(case: Case) -> RestartedGateway | None:
    """Return what the gateway had before it was started again, which it was once in this run; None without a command.

    Raises:
        Inconclusive: Nothing can be paid or received here, or the gateway could not be started again.
    """
    words = restart_command(case, "gateway")
    if words is None:
        return None
    state: RestartedGateway = await case.session.find_once(
        _NAME, lambda: _restart_gateway(with_named_randomness(case, _NAME), words)
    )
    return state


async def _restart_gateway(case: Case, words: Sequence[str]) -> RestartedGateway:
    lane_case = await on_first_lane(case)
    refused_link, cut_off, unpaid_link = [await open_link(lane_case) for _ in range(3)]
    inbox = case.session.inbox
    # At either end, as a sender may serve the events of one destination one after the other.
    places = inbox.of_tenant(refused_link.order.tenant.name)
    first, last = places[0], places[-1]
    inbox.script(refused_link.order.mark, last, [Reply(500)])
    inbox.script(cut_off.order.mark, first, [SILENCE])
    # Before anything is not answered, which may stand before what is told to others.
    deletion = await deleted_destination(lane_case)
    sale, under_way = await run_concurrently(_sell_and_hear(lane_case, link) for link in (refused_link, cut_off))
    await ready_for_restart(case)
    await start_again(case, words, case.session.gateway + OPEN_PATH)
    return RestartedGateway(last, sale, under_way, first, unpaid_link, deletion, await fail_deliveries(lane_case))


async def _sell_and_hear(case: Case, link: OpenedLink) -> PaidLink:
    return await wait_for_events(case, await pay_link(case, link))
