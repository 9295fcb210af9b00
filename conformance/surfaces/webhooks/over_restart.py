"""A restart of the gateway between two attempts to deliver an event, and between a link and its payment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from conformance.engine.check import Case
from conformance.engine.concurrency import run_concurrently
from conformance.surfaces.gateway.calls import ANYBODYS
from conformance.surfaces.gateway.orders import Opened, on_first_lane, opened
from conformance.surfaces.restarts import ready_for_restart, restart_command, start_again
from conformance.surfaces.webhooks.own_destinations import Deleted, deleted_destination
from conformance.surfaces.webhooks.sales import Failed, Sale, drawing, failures_on, heard, sold
from conformance.webhook_receiver.inbox import Place
from conformance.webhook_receiver.receiver import SILENCE, Reply

_NAME: Final = "webhooks over a restart"


@dataclass(frozen=True, slots=True)
class OverRestart:
    """What a gateway had before it was started again.

    Attributes:
        place: The destination at which the first delivery of `refused` failed.
        refused: A sale whose first delivery there was answered with 500.
        cut_off: A sale whose first delivery to another destination, where there is one, was under way meanwhile.
        cut_off_at: That destination.
        waiting: A link that nobody has paid.
        deleted: A destination that was deleted before, and one that was not; None where they cannot be had.
        afterwards: Two sales after it whose first delivery failed: what a gateway has in its process alone still counts
            for them.
    """

    place: Place
    refused: Sale
    cut_off: Sale
    cut_off_at: Place
    waiting: Opened
    deleted: Deleted | None
    afterwards: Failed


async def over_restart(case: Case) -> OverRestart | None:
    """Return what the gateway had before it was started again, which it was once in this run; None without a command.

    Raises:
        Inconclusive: Nothing can be paid or received here, or the gateway could not be started again.
    """
    words = restart_command(case, "gateway")
    if words is None:
        return None
    found: OverRestart = await case.session.find_once(_NAME, lambda: _started_again(drawing(case, _NAME), words))
    return found


async def _started_again(case: Case, words: Sequence[str]) -> OverRestart:
    paying = await on_first_lane(case)
    refused, cut_off, waiting = [await opened(paying) for _ in range(3)]
    inbox = case.session.inbox
    # At either end, as a sender may serve the events of one destination one after the other.
    places = inbox.of_tenant(refused.order.tenant.name)
    first, last = places[0], places[-1]
    inbox.script(refused.order.mark, last, [Reply(500)])
    inbox.script(cut_off.order.mark, first, [SILENCE])
    # Before anything is not answered, which may stand before what is told to others.
    deleted = await deleted_destination(paying)
    sale, under_way = await run_concurrently(_heard(paying, link) for link in (refused, cut_off))
    await ready_for_restart(case)
    await start_again(case, words, case.session.gateway + ANYBODYS)
    return OverRestart(last, sale, under_way, first, waiting, deleted, await failures_on(paying))


async def _heard(case: Case, link: Opened) -> Sale:
    return await heard(case, await sold(case, link))
