"""WH-DELIV: a confirmed payment is reported to every destination, by POST, as JSON, and with one id."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping

from conformance.engine.check import Case, check
from conformance.engine.concurrency import run_concurrently
from conformance.engine.exclusive import Exclusive
from conformance.engine.quick_policy import OWN_PROCESSES, WAITS
from conformance.outcome import Inconclusive
from conformance.surfaces.gateway.orders import on_lane, opened, payer, way
from conformance.surfaces.restarts import leave_without_restart
from conformance.surfaces.webhooks.over_restart import over_restart
from conformance.surfaces.webhooks.own_destinations import Deleted
from conformance.surfaces.webhooks.sales import (
    Sale,
    deliveries,
    failures,
    given_up_after,
    heard,
    heard_late,
    sales,
    sold,
)
from conformance.surfaces.webhooks.signatures import verification
from conformance.surfaces.webhooks.silence import Unpaid, judge_silence
from conformance.webhook_receiver.inbox import Place

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
    for sale in await sales(case):
        _emitted(case, sale, {"transaction": "named to the gateway at once"} if sale.named else {})
        _arrived(case, sale)
    _need_two(case, sale)


def _need_two(case: Case, sale: Sale) -> None:
    if len(sale.places) == 1:
        case.mark_inconclusive(
            "WH-DELIV-08",
            f"only one destination of the tenant {sale.link.order.tenant.name} is known: configure another one at the "
            "target and give [webhook.destinations.NAME]",
        )


def _emitted(case: Case, sale: Sale, where: Mapping[str, str]) -> None:
    inbox = case.session.inbox
    delivered, confirmed = sale.deliveries(inbox), sale.confirmed(inbox)
    unreadable = [one for one in delivered if one.fault is not None]
    # Without an event and without Paid on the page it is unknown whether the payment confirmed at all.
    if not confirmed and not unreadable and not sale.shown:
        raise Inconclusive("no event came, and the link's page does not say Paid either, which GW-CHK-09 judges")
    budget = case.profile.budgets.paid
    types = sorted({str(one.event.get("type")) for one in delivered})
    found = f"events of the types {', '.join(types)}" if delivered else "none, and its page says Paid"
    shown = next(iter((*confirmed, *delivered)), None)
    # A delivery that cannot be read still shows that the payment was reported. Its form breaks other rows.
    expected, held, exchange = f"payment.confirmed within {budget:g} s", bool(confirmed or unreadable), shown
    case.expect("WH-DELIV-02", held, expected, found, exchange=exchange or sale.link.page, where=where)


def _arrived(case: Case, sale: Sale) -> None:
    inbox, tenant = case.session.inbox, sale.link.order.tenant.name
    for one in sale.deliveries(inbox):
        arrival = one.arrival
        here = one.place is not None and one.place.destination.tenant == tenant and one.at_its_url
        case.expect(
            "WH-DELIV-01",
            arrival.method == "POST" and here,
            f"POST to a URL that the tenant {tenant} configured",
            f"{arrival.method} {arrival.target}, {'no destination' if one.place is None else one.place.name}",
            exchange=one,
        )
        case.expect("WH-DELIV-04", one.fault is None, "a body that is a JSON object", one.fault, exchange=one)
    for place in sale.places:
        came = sale.deliveries(inbox, place)
        where = {"destination": place.name}
        # If no destination got anything, the event was never sent. That breaks WH-DELIV-02 alone, not every
        # destination's row.
        if any(sale.deliveries(inbox, other) for other in sale.places):
            case.expect(
                "WH-DELIV-08",
                bool(came),
                "the event",
                f"{len(came)} deliveries",
                where=where,
                exchange=came[0] if came else None,
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
    made = await failures(case)
    for sale, failing, more in (
        (made.slow, made.slow_at, given_up_after(case)),
        (made.refused, made.refused_at, 0.0),
    ):
        _need_two(case, sale)
        for place in sale.places:
            if place != failing:
                await _not_held_up(case, sale, (failing, place), case.profile.budgets.paid + more)


async def _not_held_up(case: Case, sale: Sale, places: tuple[Place, Place], seconds: float) -> None:
    """Judge that an event reached the second of two places in time, counted from its arrival at the first, if any."""
    inbox, (failing, place) = case.session.inbox, places
    began = sale.deliveries(inbox, failing)
    # Each destination already had its budget. This waits longer for a sender that is still in its first attempt.
    left = began[0].arrival.at + seconds - time.time() if began else 0.0
    came = await inbox.wait(lambda one: one.place == place and one.tells_of(sale.words), seconds=max(left, 0.0))
    if not began:
        return
    late = came[0].arrival.at - began[0].arrival.at if came else None
    found = "nothing" if late is None else f"it after {late:.0f} s"
    where = {"destination": place.name, "failing": failing.name}
    held = late is not None and late <= seconds
    case.expect("WH-DELIV-08", held, f"the event within {seconds:g} s", found, exchange=[*came, *began][0], where=where)


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
    scene = await over_restart(case)
    if scene is None:
        leave_without_restart(case, "gateway")
        return
    paying = on_lane(case, scene.refused.lane)
    sale = await heard(paying, await sold(paying, scene.waiting))
    # The destination is not answering the first delivery of another sale just now, and a sender may deliver in order.
    await heard_late(paying, (sale,))
    where = {"restart": "before the payment"}
    await _deleted_stays_so(paying, scene.deleted)
    _emitted(paying, sale, where)
    heard_of = sale.confirmed(case.session.inbox)
    if not heard_of:
        case.mark_inconclusive("WH-SIG-04", "no event of the payment came, which WH-DELIV-02 judges")
    for one in heard_of:
        try:
            done = verification(case, one)
        except Inconclusive as reason:
            case.mark_inconclusive("WH-SIG-04", str(reason), exchange=one)
            continue
        expected = f"v1 over {done.string!r} with the destination's secret, as before"
        case.expect("WH-SIG-04", done.holds, expected, None, exchange=one, hint=done.hint, where=where)


async def _deleted_stays_so(case: Case, deleted: Deleted | None) -> None:
    """Judge WH-DELIV-10 on a destination that was deleted before a restart."""
    if deleted is None:
        case.mark_not_applicable("WH-DELIV-10", "no destination could be made and deleted before the restart")
        return
    try:
        await (await payer(case)).settle(deleted.waiting.bill, way(case))
        came = await deleted.kept_hears(deleted.waiting, seconds=case.profile.budgets.paid)
    except Inconclusive as reason:
        case.mark_inconclusive("WH-DELIV-10", str(reason))
        return
    if not came:
        untold = "after the restart no event reached the destination that was not deleted, which WH-DELIV-02 judges"
        case.mark_inconclusive("WH-DELIV-10", untold)
        return
    late, where = await deleted.late(deleted.waiting), {"restart": "after the deletion"}
    case.expect("WH-DELIV-10", late == 0, "no delivery to the deleted one", f"{late} deliveries", where=where)


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
    control = (await failures(case)).refused
    idle, ended = await run_concurrently(opened(on_lane(case, control.lane)) for _ in range(2))
    # The interface has no such call. A target without it refuses, and its link stays unpaid just the same.
    await case.client.call("POST", f"{ended.order.url.rstrip('/')}/abandon", json_body={})
    await asyncio.sleep(_SETTLE_SECONDS)
    await judge_silence(case, control.link, [Unpaid(idle, "none"), Unpaid(ended, "none; it was to be cancelled")])


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
    first, second = [{str(one.id): one for one in deliveries(case, sale)} for sale in await sales(case)]
    shared = sorted(first.keys() & second.keys())
    case.expect(
        "WH-BODY-14",
        not shared,
        "ids that differ",
        f"both have {', '.join(shared)}" if shared else "ids that differ",
        exchange=next(iter(second.values())),
    )
