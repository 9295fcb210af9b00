"""GW-IDEM, GW-CHK, GW-AUTH and GW-RCPT: what a restart of the gateway must not change.

An Idempotency-Key stays bound, a link stays open and can be paid, a revoked key stays revoked, and an earlier signature
of the platform still verifies.

The interface limits the window of an Idempotency-Key to 24 hours and by nothing else (P-ID-02). It ends a link only by
its states (3.5).
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final, TypeAlias

from conformance.engine.check import Case, check
from conformance.engine.concurrency import run_concurrently
from conformance.engine.exclusive import Exclusive
from conformance.engine.quick_policy import OWN_PROCESSES
from conformance.http.client import Answer
from conformance.judging.gateway.originals import judge_nothing_second, judge_original
from conformance.judging.gateway.status import judge_same_status, paid_status
from conformance.oracles import jose
from conformance.oracles.keys import keys_of_jwks
from conformance.outcome import Inconclusive
from conformance.receipts.live_mutations import Vector
from conformance.receipts.verifier import describe, needs_platform, published, verifier
from conformance.surfaces.gateway.administration import two_keys
from conformance.surfaces.gateway.calls import (
    ANYBODYS,
    LINKS,
    RESOURCES,
    Creation,
    brief,
    created,
    fresh,
    is_created,
    is_rejected,
    link_body,
    named,
    payable,
    plain_link,
    post,
    resource_body,
    short,
    target_of,
)
from conformance.surfaces.gateway.orders import (
    Opened,
    again,
    flip,
    look,
    network_of,
    on_first_lane,
    opened,
    paid_rightly,
    payer,
    way,
)
from conformance.surfaces.restarts import leave_without_restart, ready_for_restart, restart_command, start_again

After: TypeAlias = Callable[[], Awaitable[None]]

_LINK, _RESOURCE, _CHANGED = "GW-IDEM-03", "GW-IDEM-04", "GW-IDEM-06"
_PAYS, _STAYS, _STATUS = "GW-CHK-09", "GW-CHK-16", "GW-CHK-19"
_REVOKED = "GW-AUTH-03"
_READ = "GW-RES-05"
_AMOUNT, _ADDRESS, _ACCEPTED = "GW-CHK-04", "GW-CHK-06", "GW-AUTH-06"
_PASSES, _PUBLISHED = "GW-RCPT-01", "GW-RCPT-14"
# Seconds from one payment to the next during the restart, which may take a second or a minute. They double, so that
# some payments fall into either.
_PAUSES: Final = (0.3, 0.6, 1.2, 2.4)
# An amount of odd micro-units that needs 27 bits. A 32-bit float has 24, so a store in that type changes the amount.
_LARGE: Final = 100_663_297


@check(
    _LINK,
    _RESOURCE,
    _READ,
    _CHANGED,
    _AMOUNT,
    _ADDRESS,
    _PAYS,
    _STAYS,
    _STATUS,
    _ACCEPTED,
    _REVOKED,
    _PASSES,
    _PUBLISHED,
    surface="gateway",
    exclusive=Exclusive.RESTART,
    fix="Keep links, payments, keys, the signing key and the answers under an Idempotency-Key on disk. After a start "
    "watch every active link, and search the chain from where the last search ended.",
    quick=OWN_PROCESSES,
)
async def a_restart_forgets_no_link(case: Case) -> None:
    """After a restart keys return the original, links stay as they were, and deleted keys stay deleted.

    Creates two links and a resource, each with an Idempotency-Key. Pays one link and opens another. If the profile has
    an administrator's key, creates two API keys and deletes one of them. Restarts the gateway by the profile's command,
    and pays further links until it answers again.

    Then repeats the first call and the resource's, sends another body under the key of the second, and reads the
    resource if the target claims that. Looks at the paid page and its status, pays the open link, calls with the two
    API keys, and presents a receipt that the platform signed before.

    Expects:

    * the originals, and for the other body a refusal or the original,
    * Paid, with the same transaction and attestation,
    * Paid for the open link, and for those that were paid during the restart, within the budget (`[budgets] paid`),
    * a client error for the deleted key, and a link for the other,
    * that the receipt verifies with the published keys, and the attestation too if it did before.
    """
    words = restart_command(case, "gateway")
    if words is None:
        leave_without_restart(case, "gateway")
        return
    parts = (
        (_links, (_LINK, _CHANGED)),
        (_resource, (_RESOURCE, _READ)),
        (_paid, (_PAYS, _STAYS, _STATUS, _AMOUNT, _ADDRESS)),
    )
    # Each part prepares its state before the restart, and returns the function that judges it afterwards. So one
    # restart serves all rows.
    then: list[After] = []
    for prepare, rows in (*parts, (_revoked, (_REVOKED, _ACCEPTED)), (_signed, (_PASSES, _PUBLISHED))):
        # A gateway whose links cannot be paid here, say, is judged by the rest all the same.
        try:
            then.append(await prepare(case))
        except Inconclusive as reason:
            for row in rows:
                case.mark_inconclusive(row, str(reason))
    then.append(await _meanwhile(case, words))
    for judge in then:
        await judge()


async def _links(case: Case) -> After:
    tenant, where = case.session.tenants.get(), {"restart": "after the first call"}
    # Two keys, because a changed body may be answered with the original, which would disturb the plain repeat.
    repeated, changed = (Creation(LINKS, link_body(case, tenant), tenant, fresh(case)) for _ in range(2))
    originals = [await created(case, one) for one in (repeated, changed)]
    bindings = case.profile.gateway_bindings
    other = Creation(LINKS, {**changed.body, "amount": payable(bindings, 2.5)}, tenant, changed.key)

    async def judge() -> None:
        answer = named(case, await post(target_of(case), repeated))
        judge_original(case, _LINK, repeated, originals[0], answer, where)
        answer = named(case, await post(target_of(case), other))
        judge_nothing_second(case, _CHANGED, changed, originals[1], answer, where)

    return judge


async def _resource(case: Case) -> After:
    tenant = case.session.tenants.get()
    creation = Creation(RESOURCES, resource_body(case), tenant, fresh(case))
    original = await created(case, creation)
    before = await _record(case, creation)

    async def judge() -> None:
        answer = named(case, await post(target_of(case), creation))
        judge_original(case, _RESOURCE, creation, original, answer, {"restart": "after the first call"})
        await _same_record(case, creation, before)

    return judge


async def _record(case: Case, creation: Creation) -> Answer | None:
    """Read a resource. None if the target does not claim such a call, or has another name for it."""
    name = creation.body.get("resource_id")
    if "gateway.records" not in case.profile.claims.options or not isinstance(name, str):
        return None
    return await target_of(case)("GET", f"{RESOURCES}/{name}", headers=creation.tenant.headers)


async def _same_record(case: Case, creation: Creation, before: Answer | None) -> None:
    after = await _record(case, creation)
    if before is None or after is None or before.status != 200:
        case.mark_not_applicable(
            _READ, "the profile does not claim the option gateway.records, or a resource is not read"
        )
        return
    held, where = after.status == 200 and after.object() == before.object(), {"restart": "after it was created"}
    case.expect(_READ, held, "the record as before", brief(after), exchange=after, where=where)


async def _paid(case: Case) -> After:
    """Pay one link, which proves that links can be paid in this way, and open another."""
    paying = await on_first_lane(case)
    who = await payer(paying)
    paid, waiting = await opened(paying), await opened(paying)
    unpaid = [waiting, *await _large(paying)]
    await paid_rightly(paying, who, paid)
    before = await paid_status(paying, paid)
    # A target whose attestation never verified is judged by another check, not by its restart.
    verified = before is not None and _attests(before, await published(case))

    async def judge() -> None:
        view, answer = await again(paying, paid)
        still = bool(view.turned_paid(paid.before))
        where = {"restart": "after the payment"}
        paying.expect(_STAYS, still, "Paid on later reads", view.text[:200], exchange=answer, where=where)
        await judge_same_status(paying, paid, before, {"restart": "after the payment"})
        if verified and before is not None:
            held, expected = _attests(before, await published(case)), "the attestation verifies after a restart"
            found = "it does" if held else "it does not"
            paying.expect(_STATUS, held, expected, found, exchange=before, where=where)
        for link in unpaid:
            await _same_page(paying, link)
        await who.settle(waiting.bill, way(paying))
        done, budget = await flip(paying, waiting), paying.profile.budgets.paid
        found = "not Paid" if done is None else "Paid"
        where = {"restart": "before the payment"}
        paying.expect(_PAYS, done is not None, f"Paid within {budget:g} s", found, exchange=waiting.page, where=where)

    return judge


async def _large(case: Case) -> list[Opened]:
    """Open a link of an amount that no short float holds, of the last tenant on the network, else of the first."""
    tenants = case.session.tenants.find_all_on(network_of(case))
    for tenant in dict.fromkeys((tenants[-1].name, tenants[0].name)):
        with contextlib.suppress(Inconclusive):
            return [await opened(case, tenant=case.session.tenants.get(tenant), microunits=_LARGE)]
    return []


async def _same_page(case: Case, link: Opened) -> None:
    """Judge that an open link's page still shows amount and address, as far as it did before."""
    made, before = link.order, link.before
    view, answer = await look(case, made, whole=True)
    where = {"restart": "before the payment"}
    if before.shown_amount(made.microunits) is not None:
        shown = view.shown_amount(made.microunits)
        expected, found = f"exactly {made.microunits} micro-units", "another amount" if shown is None else shown
        case.expect(_AMOUNT, shown is not None, expected, found, exchange=answer, where=where)
    if before.shows_address(made.payout):
        kept, expected = view.shows_address(made.payout), f"the payout address {made.payout}"
        case.expect(_ADDRESS, kept, expected, made.payout if kept else "another", exchange=answer, where=where)


async def _meanwhile(case: Case, words: Sequence[str]) -> After:
    """Restart the gateway, and pay links until it answers again, some of them while it is down."""
    try:
        paying = await on_first_lane(case)
        who, links = await payer(paying), [await opened(paying) for _ in range(1 + len(_PAUSES))]
    except Inconclusive as reason:
        await ready_for_restart(case)
        await start_again(case, words, case.session.gateway + ANYBODYS)
        case.mark_inconclusive(_PAYS, str(reason))
        return _nothing
    # Nothing can be paid, but the gateway has to restart all the same: the other rows of this check are about it.
    await ready_for_restart(case)
    # The first payment is sent together with the stop command, the others at growing distances from it.
    payments = [asyncio.create_task(who.settle(links[0].bill, way(paying)))]

    async def pay() -> None:
        for link, pause in zip(links[1:], _PAUSES, strict=True):
            await asyncio.sleep(pause)
            payments.append(asyncio.create_task(who.settle(link.bill, way(paying))))

    issuing = asyncio.create_task(pay())
    try:
        await start_again(case, words, case.session.gateway + ANYBODYS)
    finally:
        # The gateway answers again, so payments that are not sent yet would no longer test the restart.
        issuing.cancel()
        done = await asyncio.gather(*payments, return_exceptions=True)
    paid = [link for link, one in zip(links, done, strict=False) if isinstance(one, str)]

    async def judge() -> None:
        if not paid:
            reason = next((str(one) for one in done if isinstance(one, Inconclusive)), "no payment was made")
            case.mark_inconclusive(_PAYS, f"during the restart of the gateway: {reason}")
        budget, where = paying.profile.budgets.paid, {"restart": "during the payment"}
        for link, turned in zip(paid, await run_concurrently(flip(paying, one) for one in paid), strict=True):
            found = "not Paid" if turned is None else "Paid"
            expected = f"Paid within {budget:g} s"
            paying.expect(_PAYS, turned is not None, expected, found, exchange=link.page, where=where)

    return judge


def _attests(status: Answer, document: Any) -> bool:
    """Return whether the attestation of a status verifies with a key set."""
    token = status.object().get("settlement_attestation_jws")
    return isinstance(token, str) and jose.fault_of(token, keys_of_jwks(document)) is None


async def _signed(case: Case) -> After:
    """Obtain a receipt that the platform signed, and the key set that verifies it."""
    hosted = await verifier(case)
    token, where = needs_platform(hosted), {"receipt": "signed before a restart"}
    verified = jose.fault_of(token, keys_of_jwks(await published(case))) is None

    async def judge() -> None:
        answer = await hosted.present(case, Vector("the platform's, from before", _PASSES, token, valid=True))
        held = answer.status == 200 and bool(answer.object())
        case.expect(_PASSES, held, "200 with a report", describe(answer), exchange=answer, where=where)
        if not verified:
            case.mark_inconclusive(_PUBLISHED, "no published key verified the receipt before the restart")
            return
        fault = jose.fault_of(token, keys_of_jwks(await published(case)))
        case.expect(_PUBLISHED, fault is None, "verifies with the published key set", fault, where=where)

    return judge


async def _revoked(case: Case) -> After:
    """Create a tenant with a second key, delete that key, and create a third one."""
    keys = await two_keys(case, "Weldproof restart")
    if keys is None:
        for row in (_REVOKED, _ACCEPTED):
            case.mark_not_applicable(
                row, "the profile names no administrator of a gateway with the option gateway.tenants"
            )
        return _nothing
    await keys.delete()
    if not is_rejected(early := await plain_link(case, keys.other)):
        raise Inconclusive(f"a deleted key is answered {early.status} before any restart, which {_REVOKED} judges")
    further = await keys.further()
    if not is_created(case, early := await plain_link(case, further)):
        raise Inconclusive(f"a further key is answered {early.status} before any restart: {short(early)}")

    async def judge() -> None:
        answer = await plain_link(case, keys.other)
        found, where = brief(answer), {"key": "deleted before the restart"}
        case.expect(_REVOKED, is_rejected(answer), "a client error", found, exchange=answer, where=where)
        for tenant, what in ((keys.kept, "tenant"), (further, "key")):
            answer = await plain_link(case, tenant)
            found, where = brief(answer), {what: "made before the restart"}
            case.expect(_ACCEPTED, is_created(case, answer), "a link", found, exchange=answer, where=where)

    return judge


async def _nothing() -> None:
    """Judge nothing."""
