"""WH-DELIV-10 and -11: untrusted and deleted destinations get nothing, if the target claims specification 3.9.

Only an administrator can configure destinations. Each check makes a separate tenant with separate destinations, so
WH-DELIV-01 and -08 are also judged here, with many of them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass

from conformance.engine.check import Case, check
from conformance.engine.concurrency import run_concurrently
from conformance.engine.quick_policy import WAITS
from conformance.engine.tenant_credentials import Credentials
from conformance.outcome import Inconclusive
from conformance.surfaces.gateway.administration import Administrator, administrator
from conformance.surfaces.gateway.calls import brief
from conformance.surfaces.gateway.orders import Opened, network_of, on_first_lane, on_lane, opened, paid_rightly, payer
from conformance.surfaces.webhooks.own_destinations import (
    HOST,
    address_of,
    delete_quietly,
    elsewhere,
    made_destination,
    new_path,
    received,
    tells_of,
    unavailable,
)
from conformance.webhook_receiver.receiver import Receiver, bound
from conformance.webhook_receiver.untrusted import Untrusted, untrusted_listener

_SETTLE_SECONDS = 1.0
_LOOK_SECONDS = 0.05
# A target may store times in whole seconds. After this pause a later object is also later by its stored time.
_LATER_SECONDS = 1.1
# A gateway with several processes may cache a tenant's destinations for this long.
_KNOWN_SECONDS = 3.0
# The most destinations that a tenant may have (P-WH-11), and how many of them are made before the link.
_MOST, _BEFORE = 9, 2


@dataclass(frozen=True, slots=True)
class _Scene:
    """A tenant with three destinations, all of them made by the check.

    Attributes:
        admin: The administrator that configures them.
        tenant: The tenant.
        kept: A destination that stays; `kept_id` is its id.
        gone: One that is deleted; `gone_id` is its id.
        untrusted: One with a certificate that no authority signed.
    """

    admin: Administrator
    tenant: Credentials
    kept: Receiver
    kept_id: str
    gone: Receiver
    gone_id: str
    untrusted: Untrusted


@check(
    "WH-DELIV-10",
    "WH-DELIV-11",
    surface="webhooks",
    quick=WAITS,
    fix="Verify a destination's certificate and host name on each attempt. Deliver nothing to a deleted destination: "
    "drop its scheduled attempts, and refuse a retry.",
)
async def some_destinations_get_nothing(case: Case) -> None:
    """Neither a destination with an untrusted certificate nor a deleted destination gets an event.

    Makes a tenant with three destinations on this machine: two by http, and one by https with a self-signed
    certificate. Pays a link of the tenant, and waits for the event at the first two and for a connection at the third.
    Deletes the second and requests a retry of both deliveries. Expects that nothing is sent inside TLS to the third,
    that the retry to the deleted one is refused, and that it gets nothing more, while the first one does.
    """
    admin = administrator(case)
    if (far := elsewhere(case)) is not None:
        raise Inconclusive(far)
    paying = on_lane(case, case.profile.claims.lanes[0])
    network = network_of(paying)
    async with AsyncExitStack() as exits:
        kept, gone = [await exits.enter_async_context(await Receiver().start(bound(HOST, 0))) for _ in range(2)]
        untrusted = await exits.enter_async_context(untrusted_listener())
        payout = case.session.tenants.find_first_on(network).payout[network]
        tenant = await admin.tenant("Weldproof destinations", {network: payout})
        path, ids = new_path(case), list[str]()
        exits.push_async_callback(delete_quietly, admin, tenant, ids)
        for url in (*(address_of(case, one) + path for one in (kept, gone)), untrusted.url):
            ids += [await made_destination(admin, tenant, url)]
        scene = _Scene(admin, tenant, kept, ids[0], gone, ids[1], untrusted)
        # All three destinations exist before the payment, so each of them is due an event.
        await paid_rightly(paying, await payer(paying), await opened(paying, network=network, tenant=tenant))
        await _await_events(case, scene)
        await _unvouched(case, scene)
        await _deleted(case, scene)


@check(
    "WH-DELIV-01",
    "WH-DELIV-08",
    surface="webhooks",
    quick=WAITS,
    fix="When a payment confirms, write a delivery for each destination that the link's tenant has at that moment. "
    "Write none for another tenant, not even one with the same payout address.",
)
async def each_of_many_destinations_hears(case: Case) -> None:
    """Each destination of a tenant gets an event, however many there are and whenever they were made; no other does.

    If an administrator can, makes a tenant with two destinations on this machine, which is paid at the address of
    another tenant. Opens a link of each tenant, makes further destinations until there are nine or one is refused, and
    pays both links. Expects the event of the first link at each destination within the budget (`[budgets] paid`), and
    that of the other link at none. If the other tenant's event reaches a destination of the profile, expects nothing of
    the first link there. If no such tenant can be made, other checks decide.
    """
    reason = unavailable(case)
    if reason is None:
        try:
            await _many(case)
        except Inconclusive as fault:
            reason = f"no tenant with many destinations on this machine could be made: {fault}"
    for row in () if reason is None else case.check.rows:
        case.mark_not_applicable(row, reason or "")


async def _many(case: Case) -> None:
    """Judge both rows on a tenant that the check makes.

    Raises:
        Inconclusive: The tenant could not be made or paid, or none of its destinations got an event.
    """
    admin, paying = administrator(case), await on_first_lane(case)
    network = network_of(paying)
    async with AsyncExitStack() as exits:
        receiver = await exits.enter_async_context(await Receiver().start(bound(HOST, 0)))
        payout = case.session.tenants.find_first_on(network).payout[network]
        # Both tenants are paid at one address. A gateway that finds the tenant by the address alone mixes up their
        # events.
        tenant = await admin.tenant("Weldproof many destinations", {network: payout})
        path, ids = new_path(case), list[str]()
        exits.push_async_callback(delete_quietly, admin, tenant, ids)
        paths = [f"{path}/{number}" for number in range(_MOST)]
        urls = [address_of(case, receiver) + one for one in paths]
        before = await _made(admin, tenant, urls[:_BEFORE], ids)
        own = await opened(paying, network=network, tenant=tenant)
        other = await opened(paying, network=network)
        await asyncio.sleep(_LATER_SECONDS)
        # Destinations count that exist when the payment confirms, so those made after the link get the event, too.
        made = before + (await _made(admin, tenant, urls[_BEFORE:], ids) if before == _BEFORE else 0)
        if not made:
            raise Inconclusive("no destination on this machine is taken")
        await asyncio.sleep(_KNOWN_SECONDS)
        who = await payer(paying)
        await run_concurrently(paid_rightly(paying, who, link) for link in (own, other))
        await _all_hear(case, receiver, paths[:made], own)
        await _nobody_else_hears(case, (receiver, path), own, other)


async def _made(admin: Administrator, tenant: Credentials, urls: Sequence[str], ids: list[str]) -> int:
    """Make destinations until one is refused, append their ids to `ids`, and return how many were made."""
    for made, url in enumerate(urls):
        answer = await admin.call("POST", tenant.id, "webhooks", body={"url": url})
        if not 200 <= answer.status < 300:
            admin.case.note(f"{url} is not accepted as a further destination: {brief(answer)}")
            return made
        id_ = answer.object().get("destination_id")
        ids += [id_] if isinstance(id_, str) else []
    return len(urls)


async def _all_hear(case: Case, receiver: Receiver, paths: Sequence[str], link: Opened) -> None:
    budget = case.profile.budgets.paid

    async def came(path: str) -> bool:
        return bool(await receiver.next(lambda one: one.path == path and tells_of(one, link), seconds=budget))

    heard = await run_concurrently((came(path) for path in paths), at_once=_MOST)
    if not any(heard):
        raise Inconclusive("no event reached any newly configured destination, which WH-DELIV-02 judges")
    for number, held in enumerate(heard, start=1):
        made = "before" if number <= _BEFORE else "after"
        where = {"destination": f"{number} of {len(paths)}, made {made} the link"}
        found = "it came" if held else "nothing"
        case.expect("WH-DELIV-08", held, f"the event within {budget:g} s", found, where=where)


async def _nobody_else_hears(case: Case, at: tuple[Receiver, str], own: Opened, other: Opened) -> None:
    """Judge that each tenant's destinations got only events of that tenant's links. Both links are paid.

    Args:
        case: The check.
        at: The new tenant's destinations: a receiver, and the prefix of their paths.
        own: A link of the new tenant.
        other: A link of the tenant with the same payout address.
    """
    told, expected = await _told_in_the_profile(case, other), "no event of another tenant's link"
    await asyncio.sleep(_SETTLE_SECONDS)
    if told:
        words = (own.order.mark, own.order.token)
        others = [one for one in case.session.inbox.received if one.confirms and one.tells_of(words)]
        shown = others[0] if others else None
        where = {"destinations": "those of tenants with the same payout address, and of others"}
        case.expect("WH-DELIV-01", not others, expected, f"{len(others)}", exchange=shown, where=where)
    receiver, path = at
    here = [one for one in receiver.arrivals if one.path.startswith(path) and received(one).confirms]
    strange = [one for one in here if not tells_of(one, own)]
    where = {"destinations": "those of a tenant with the payout address of another one"}
    case.expect("WH-DELIV-01", not strange, expected, f"{len(strange)}", where=where)


async def _told_in_the_profile(case: Case, link: Opened) -> bool:
    """Return whether a destination of the profile gets the link's event, without which silence proves nothing."""
    inbox, words = case.session.inbox, (link.order.mark, link.order.token)
    try:
        inbox.of_tenant(link.order.tenant.name)
    except Inconclusive as reason:
        case.note(f"whether other tenants get events of the check's tenant is not judged: {reason}")
        return False
    came = await inbox.wait(lambda one: one.confirms and one.tells_of(words), seconds=case.profile.budgets.paid)
    return bool(came)


async def _await_events(case: Case, scene: _Scene) -> None:
    """Wait for the event at the two destinations that must get it.

    Raises:
        Inconclusive: It did not arrive there, which WH-DELIV-08 judges.
    """
    for one in (scene.kept, scene.gone):
        if not await one.next(seconds=case.profile.budgets.paid):
            raise Inconclusive("no event reached a newly configured destination, which WH-DELIV-08 judges")


async def _unvouched(case: Case, scene: _Scene) -> None:
    loop = asyncio.get_running_loop()
    ends = loop.time() + case.profile.budgets.paid
    while not scene.untrusted.met and loop.time() < ends:  # noqa: ASYNC110 - it is met in the midst of a handshake
        await asyncio.sleep(_LOOK_SECONDS)
    await asyncio.sleep(_SETTLE_SECONDS)
    found = f"{scene.untrusted.sent} bytes"
    if not scene.untrusted.met:
        case.mark_inconclusive(
            "WH-DELIV-11", "the target did not connect to the destination, so it checked no certificate"
        )
        return
    case.expect("WH-DELIV-11", scene.untrusted.sent == 0, "no byte sent inside TLS", found)


async def _deleted(case: Case, scene: _Scene) -> None:
    admin, tenant = scene.admin, scene.tenant
    listed = await _listed(admin, tenant.id)
    kept, gone = (_delivery(listed, one) for one in (scene.kept_id, scene.gone_id))
    await admin.done("DELETE", tenant.id, "webhooks", scene.gone_id)
    before, other = len(scene.gone.arrivals), len(scene.kept.arrivals)
    refused = await admin.call("POST", tenant.id, "deliveries", gone, "retry")
    held = 400 <= refused.status < 500
    case.expect("WH-DELIV-10", held, "a client error for the retry", brief(refused), exchange=refused)
    # The control: a target that ignores every retry would otherwise pass.
    again = await admin.call("POST", tenant.id, "deliveries", kept, "retry")
    if not 200 <= again.status < 300 or not await scene.kept.next(seconds=case.profile.budgets.paid, after=other):
        raise Inconclusive(
            f"the control, a retry to a destination that was not deleted, did not arrive: {again.status}"
        )
    await asyncio.sleep(_SETTLE_SECONDS)
    more = len(scene.gone.arrivals) - before
    case.expect("WH-DELIV-10", more == 0, "no further request to the deleted one", f"{more} requests", exchange=refused)


async def _listed(admin: Administrator, tenant_id: str) -> object:
    """Return the list of a tenant's deliveries: the body itself, or its member `deliveries`."""
    answer = await admin.call("GET", tenant_id, "deliveries")
    if not 200 <= answer.status < 300:
        raise Inconclusive(f"the list of deliveries was answered {brief(answer)}")
    body = answer.json()
    return body.get("deliveries") if isinstance(body, dict) else body


def _delivery(listed: object, destination: str) -> str:
    """Return the id of the delivery to a destination.

    Raises:
        Inconclusive: The list contains none.
    """
    for one in listed if isinstance(listed, list) else []:
        found = one.get("delivery_id") if isinstance(one, dict) and one.get("destination_id") == destination else None
        if isinstance(found, str):
            return found
    raise Inconclusive(
        "the list of deliveries has no row with a delivery_id and the destination_id of a destination that got one"
    )
