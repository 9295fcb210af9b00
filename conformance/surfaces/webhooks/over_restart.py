"""A restart of the gateway between two attempts to deliver an event, and between a link and its payment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from conformance.engine.check import Case
from conformance.surfaces.gateway.calls import ANYBODYS
from conformance.surfaces.gateway.orders import Opened, on_first_lane, opened
from conformance.surfaces.restarts import restart_command, start_again
from conformance.surfaces.webhooks.sales import Failed, Sale, drawing, failures_on, heard, sold
from conformance.webhook_receiver.inbox import Place
from conformance.webhook_receiver.receiver import Reply

_NAME: Final = "webhooks over a restart"


@dataclass(frozen=True, slots=True)
class OverRestart:
    """What a gateway had before it was started again.

    Attributes:
        place: The destination at which the first delivery of `refused` failed.
        refused: A sale whose first delivery there was answered with 500.
        waiting: A link that nobody has paid.
        afterwards: Two sales after it whose first delivery failed: what a gateway has in its process alone still counts
            for them.
    """

    place: Place
    refused: Sale
    waiting: Opened
    afterwards: Failed


async def over_restart(case: Case) -> OverRestart | None:
    """Return what the gateway had before it was started again, which it was once in this run; None without a command.

    Raises:
        Inconclusive: Nothing can be paid or received here, or the gateway could not be started again.
    """
    words = restart_command(case, "gateway")
    if words is None:
        return None
    found: OverRestart = await case.session.once(_NAME, lambda: _started_again(drawing(case, _NAME), words))
    return found


async def _started_again(case: Case, words: Sequence[str]) -> OverRestart:
    paying = await on_first_lane(case)
    refused, waiting = await opened(paying), await opened(paying)
    inbox = case.session.inbox
    place = inbox.of_tenant(refused.order.tenant.name)[-1]
    inbox.script(refused.order.mark, place, [Reply(500)])
    sale = await heard(paying, await sold(paying, refused))
    await start_again(case, words, case.session.gateway + ANYBODYS)
    return OverRestart(place, sale, waiting, await failures_on(paying))
