"""Unwanted events (WH-DELIV-03): a wrong payment that leaves its page unpaid must cause no `payment.confirmed`."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass

from conformance.engine.check import Case
from conformance.outcome import Inconclusive
from conformance.surfaces.gateway.orders import OpenedLink
from conformance.webhook_receiver.inbox import Inbox, Received

ROW = "WH-DELIV-03"
_LOOK_SECONDS = 0.2


@dataclass(frozen=True, slots=True)
class UnpaidLink:
    """A link that no event may call paid.

    Attributes:
        link: The link.
        description: The wrong payment in words.
        tx_id: The transaction that pays no link, if it belongs only to this one.
    """

    link: OpenedLink
    description: str
    tx_id: str | None = None

    @property
    def words(self) -> tuple[str, ...]:
        """Words that identify an event about it."""
        order = self.link.order
        return (order.mark, order.token, *(() if self.tx_id is None else (self.tx_id,)))


async def judge_unwanted_events(case: Case, honest: OpenedLink, unpaid: Iterable[UnpaidLink]) -> None:
    """Judge that no event confirms unpaid links, after the event of an honest payment has arrived.

    It raises nothing, so that the check continues with its other rows.
    """
    if not case.profile.claims_surface("webhooks"):
        case.mark_not_applicable(ROW, "the profile does not claim the surface webhooks")
        return
    try:
        inbox = case.session.inbox
        inbox.of_tenant(honest.order.tenant.name)
    except Inconclusive as reason:
        case.mark_inconclusive(ROW, str(reason))
        return
    words = (honest.order.mark, honest.order.token)
    # The wrong payments were made before the honest one. When its event is there, theirs would be
    # there too.
    control_events = await inbox.wait(
        lambda link: link.confirms and link.mentions(words), seconds=case.profile.budgets.paid
    )
    if not control_events:
        case.mark_inconclusive(
            ROW, "the event of the control, an honest payment, did not come, which WH-DELIV-02 judges"
        )
        return
    for link in unpaid:
        spurious = await _false_confirmations(case, inbox, link)
        case.expect(
            ROW,
            not spurious,
            "no payment.confirmed",
            f"{len(spurious)} of them",
            exchange=spurious[0] if spurious else control_events[0],
            where={"payment": link.description},
            hint="Write the event in the same transaction that turns the link to Paid, and nowhere else.",
        )


async def _false_confirmations(case: Case, inbox: Inbox, unpaid: UnpaidLink) -> list[Received]:
    """Return the events that call a link paid, except those caused by another check, which judges them itself."""
    # Another check may pay the same link wrongly on purpose. Its own judgement covers those
    # events.
    strays = case.session.stray_payments
    # Another check registers its wrong payment only when its outcome is certain, which may be after
    # its event.
    while True:
        events = [one for one in inbox.deliveries if one.confirms and one.mentions(unpaid.words)]
        spurious = [one for one in events if not one.mentions(strays.list_of_others(case.check.id))]
        if not (spurious and strays.may_come_from_others(case.check.id)):
            return spurious
        await asyncio.sleep(_LOOK_SECONDS)
