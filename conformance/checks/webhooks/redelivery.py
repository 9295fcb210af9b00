"""WH-DELIV-05 to -07 and WH-SIG-07: redelivery of an event after a failed attempt, and one event for each payment.

The first deliveries fail while the other checks run. The clock is moved later, when no other check runs.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from conformance.engine import clock
from conformance.engine.check import Case, check
from conformance.engine.exclusive import Exclusive
from conformance.judging.webhook_times import judge_time
from conformance.outcome import Inconclusive
from conformance.surfaces.gateway.orders import again, on_lane
from conformance.surfaces.webhooks.over_restart import over_restart
from conformance.surfaces.webhooks.own_destinations import Deleted, deleted_destination
from conformance.surfaces.webhooks.sales import Sale, failures, given_up_after, heard_late
from conformance.surfaces.webhooks.signatures import header_of, verification
from conformance.webhook_receiver.inbox import Place, Received

_MARGIN = 2.0
_LOOK_SECONDS = 0.05
# A redelivery that the operator's schedule promises is awaited longer than one that the interface merely allows.
_DUE_SECONDS, _AGAIN_SECONDS = 60.0, 10.0
_SETTLE_SECONDS = 1.0
# How far the clock is moved if the profile gives no schedule of redeliveries.
_LONG = 3600
_OF_REDELIVERIES = ("WH-DELIV-05", "WH-DELIV-06", "WH-SIG-07")


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
    made = await failures(case)
    await heard_late(case, (made.slow, made.refused))
    _told(case, (made.slow, made.refused))
    for sale in (made.slow, made.refused):
        await again(case, sale.link)
        # The interface has no such calls. In a target that has them, a second look at the payment may write a second
        # event.
        url = sale.link.order.url.rstrip("/")
        await case.client.call("POST", f"{url}/verify", json_body={"tx_id": sale.tx_id})
        await case.client.call("GET", f"{url}/status")
        await again(case, sale.link)
    await asyncio.sleep(_SETTLE_SECONDS)
    for sale in (made.slow, made.refused):
        _one_id(case, sale)


def _told(case: Case, sold: Sequence[Sale]) -> None:
    """Judge WH-DELIV-02 on sales that were paid in the same way.

    Raises:
        Inconclusive: No sale was reported, and no page says Paid. Perhaps nothing was paid, which GW-CHK-09 judges.
    """
    inbox, seconds = case.session.inbox, case.profile.budgets.paid + given_up_after(case)
    heard = {one.lane for one in sold if one.confirmed(inbox)}
    for sale in sold:
        came = sale.confirmed(inbox) or tuple(one for one in sale.deliveries(inbox) if one.fault is not None)
        if not came and not sale.shown and sale.lane not in heard:
            raise Inconclusive("no event came, and the link's page does not say Paid either, which GW-CHK-09 judges")
        page = "its page says Paid" if sale.shown else "another link that was paid in the same way was reported"
        found, shown = ("it arrived", came[0]) if came else (f"none, and {page}", sale.link.page)
        case.expect("WH-DELIV-02", bool(came), f"payment.confirmed within {seconds:g} s", found, exchange=shown)


def _one_id(case: Case, sale: Sale) -> None:
    came = sale.confirmed(case.session.inbox)
    if not came:
        return
    ids = sorted({str(one.id) for one in came})
    found = f"{len(ids)}: {', '.join(ids)}"
    case.expect("WH-DELIV-07", len(ids) == 1, "one id", found, exchange=came[-1])


@check(
    "WH-DELIV-02",
    "WH-DELIV-05",
    "WH-DELIV-06",
    "WH-DELIV-07",
    "WH-DELIV-10",
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

    Expects an event of each payment, and the first one again. Expects of each redelivery the same id and data, and a
    signature that verifies and has the new time. Expects nothing at the deleted destination if the other gets the
    event.
    """
    tried, deleted = await _all_tried(case)
    await heard_late(case, [one.sale for one in tried])
    stuck = await _passed(case, tried, deleted)
    await _dropped(case, deleted)
    _told(case, [one.sale for one in tried])
    repeated = 0
    for one in tried:
        came = one.came(case)
        # The event may have reached the other destinations only. WH-DELIV-08 judges that.
        if not came:
            continue
        _one_id(case, one.sale)
        _signed(case, came, one.where, over=stuck is None)
        if stuck is None:
            repeated += _came_again(case, came, one.where)
    undecided = stuck or "nothing was delivered again, which the interface allows and WH-DELIV-05 judges"
    for row in () if repeated else _OF_REDELIVERIES:
        if row not in case.judged_rows:
            case.mark_inconclusive(row, undecided)


@dataclass(frozen=True, slots=True)
class _Tried:
    """A sale whose first delivery to one destination failed, and how the report names it."""

    place: Place
    sale: Sale
    where: Mapping[str, str]

    def came(self, case: Case) -> Sequence[Received]:
        """Return the deliveries to that destination. An unreadable one counts, since it may be the event."""
        return [
            one for one in self.sale.deliveries(case.session.inbox, self.place) if one.confirms or one.fault is not None
        ]


async def _all_tried(case: Case) -> tuple[Sequence[_Tried], Deleted | None]:
    """Return the sales and the deleted destination, if any.

    The sale whose delivery was not answered comes first. Sales from before a restart, if any, come last.
    """
    try:
        scene = await over_restart(case)
    except Inconclusive as reason:
        case.note(f"no event was followed over a restart: {reason}")
        scene = None
    made, refused = await failures(case) if scene is None else scene.afterwards, {"first attempt": "answered with 500"}
    tried = [
        _Tried(made.slow_at, made.slow, {"first attempt": "not answered"}),
        _Tried(made.refused_at, made.refused, refused),
    ]
    if scene is None:
        return tried, await deleted_destination(on_lane(case, made.slow.lane))
    cut_off = {"first attempt": "not answered", "restart": "during the first attempt"}
    tried.append(_Tried(scene.place, scene.refused, {**refused, "restart": "after the first attempt"}))
    tried.append(_Tried(scene.cut_off_at, scene.cut_off, cut_off))
    return tried, scene.deleted


def _came_again(case: Case, came: Sequence[Received], where: Mapping[str, str]) -> int:
    """Judge the deliveries after the first one, and return their number."""
    _need_come_again(case, came, where)
    for later in came[1:]:
        _same(case, came[0], later, where)
    return len(came) - 1


def _signed(case: Case, came: Sequence[Received], where: Mapping[str, str], *, over: bool) -> None:
    """Judge WH-SIG-06 on the first delivery and, if the first attempt is over, both rows on the redeliveries.

    If a signature cannot be judged, only the rows of signatures stay undecided.
    """
    try:
        judge_time(case, came[0])
    except Inconclusive as reason:
        for row in ("WH-SIG-06", "WH-SIG-07"):
            case.mark_inconclusive(row, str(reason), exchange=came[0])
        return
    for later in came[1:] if over else ():
        try:
            _signed_again(case, later, where)
        except Inconclusive as reason:
            case.mark_inconclusive("WH-SIG-07", str(reason), exchange=later)


def _signed_again(case: Case, later: Received, where: Mapping[str, str]) -> None:
    """Judge WH-SIG-07 and -06 on a redelivery.

    Raises:
        Inconclusive: It is unknown what v1 covers, or how the key is derived from the secret.
    """
    header = header_of(case, later)
    if header is None or not header.usable:
        found = "no signature header with a time and a v1"
        case.expect("WH-SIG-07", False, "a v1 that verifies", found, exchange=later, where=where)
        return
    done = verification(case, later)
    found = "it verifies" if done.holds else "it does not verify"
    case.expect("WH-SIG-07", done.holds, "a v1 that verifies", found, exchange=later, hint=done.hint, where=where)
    judge_time(case, later)


def _need_come_again(case: Case, came: Sequence[Received], where: Mapping[str, str]) -> None:
    """Judge WH-DELIV-05. The interface allows redelivery; a schedule in the profile promises it."""
    schedule = case.profile.webhook_bindings.schedule
    if len(came) > 1 or schedule:
        expected = "the event again" + (f" after {schedule[0]:g} s" if schedule else "")
        found = f"it arrived {len(came)} times" if len(came) > 1 else "it arrived once"
        case.expect("WH-DELIV-05", len(came) > 1, expected, found, exchange=came[-1], where=where)
    elif "WH-DELIV-05" not in case.judged_rows:
        case.mark_not_applicable("WH-DELIV-05", "the event did not come again, which the interface allows")


def _same(case: Case, first: Received, later: Received, where: Mapping[str, str]) -> None:
    expected = f"id {first.id} and the same data"
    changed = _changes(first.event, later.event)
    found = f"changed: {', '.join(changed)}" if changed else "the same id and data"
    case.expect("WH-DELIV-06", not changed, expected, found, exchange=later, where=where)


def _changes(first: Mapping[str, Any], later: Mapping[str, Any]) -> list[str]:
    """Return the names of id and of data members that differ."""
    one, two = first.get("data"), later.get("data")
    inside = (
        [f"data.{name}" for name in sorted({*one, *two}) if one.get(name) != two.get(name)]
        if (isinstance(one, dict) and isinstance(two, dict))
        else ["data"] * (one != two)
    )
    return ["id"] * (first.get("id") != later.get("id")) + inside


async def _dropped(case: Case, deleted: Deleted | None) -> None:
    """Judge WH-DELIV-10 on the waiting delivery to a destination that was deleted between two attempts."""
    if deleted is None:
        case.mark_not_applicable("WH-DELIV-10", "no destination could be made and deleted between two attempts")
    elif not await deleted.kept_hears(deleted.sold, seconds=0):
        case.mark_not_applicable("WH-DELIV-10", "the event was not sent again to the other destination either")
    else:
        late, where = await deleted.late(deleted.sold), {"first attempt": "answered with 500 before the deletion"}
        case.expect("WH-DELIV-10", late == 0, "no delivery to the deleted one", f"{late} deliveries", where=where)


async def _passed(case: Case, tried: Sequence[_Tried], deleted: Deleted | None) -> str | None:
    """Wait for the end of the first attempts and of the pause; return why time cannot pass for this target, or None."""
    # The pause counts from the end of an attempt (P-WH-08), so the clock must not move before the target gave up.
    await asyncio.gather(*(_given_up(case, one) for one in tried))
    both = deleted is None or await deleted.kept_hears(deleted.sold, seconds=0)
    if both and all(len(one.came(case)) > 1 for one in tried):
        return None
    try:
        await clock.pass_time(case, _pause(case))
    except Inconclusive as reason:
        return str(reason)
    patience = _DUE_SECONDS if case.profile.webhook_bindings.schedule else _AGAIN_SECONDS
    kept = () if deleted is None else (deleted.kept_hears(deleted.sold, seconds=patience),)
    await asyncio.gather(*(_again(case, one, patience) for one in tried), *kept)
    return None


async def _given_up(case: Case, tried: _Tried) -> None:
    """Wait until the first attempt failed, and its sender had a moment to store that with its current time."""
    patience = given_up_after(case) + _MARGIN
    ends = time.monotonic() + patience
    for first in tried.sale.confirmed(case.session.inbox, tried.place)[:1]:
        while (over := first.arrival.left or first.arrival.answered) is None:
            if time.monotonic() > ends:
                case.note(f"the target was still waiting for the answer to an attempt after {patience:g} s")
                return
            await asyncio.sleep(_LOOK_SECONDS)
        await asyncio.sleep(over + _SETTLE_SECONDS - time.monotonic())


async def _again(case: Case, tried: _Tried, seconds: float) -> None:
    place, words = tried.place, tried.sale.words
    await case.session.inbox.wait(
        lambda one: one.place == place and (one.confirms or one.fault is not None) and one.tells_of(words),
        seconds=seconds,
        count=2,
    )


def _pause(case: Case) -> int:
    """Return the seconds that must pass before a redelivery is due."""
    # With a test clock more than the tolerance passes, so that a copied old signature would be stale (WH-SIG-07).
    bindings = case.profile.webhook_bindings
    first = round(bindings.schedule[0]) if bindings.schedule else None
    if case.profile.clock.offset_file is not None:
        return (first or _LONG) + bindings.tolerance + 1
    return (round(case.profile.budgets.wait_for_expiry) or _LONG) if first is None else first + 1
