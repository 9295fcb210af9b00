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
from conformance.engine.concurrent_check_steps import run_concurrently
from conformance.engine.quick_policy import WAITS
from conformance.engine.tenant_credentials import Credentials
from conformance.outcome import Inconclusive
from conformance.surfaces.gateway.administration import Administrator, administrator
from conformance.surfaces.gateway.calls import brief
from conformance.surfaces.gateway.orders import (
    OpenedLink,
    network_of,
    on_first_lane,
    on_lane,
    open_link,
    pay_rightly,
    payer,
)
from conformance.surfaces.webhooks.own_tenant_destinations import (
    HOST,
    address_of,
    confirms_link,
    create_destination,
    delete_quietly,
    explain_remote_target,
    explain_unavailability,
    new_path,
    read_arrival,
)
from conformance.webhook_receiver.raw_receiver import Receiver, bind_sockets
from conformance.webhook_receiver.untrusted_tls import UntrustedListener, untrusted_listener

_SETTLE_SECONDS = 1.0
_POLL_SECONDS = 0.05
# A target may store times in whole seconds. After this pause a later object is also later by its stored time.
_CLOCK_STEP_SECONDS = 1.1
# A gateway with several processes may cache a tenant's destinations for this long.
_CACHE_SECONDS = 3.0
# The most destinations that a tenant may have (P-WH-11), and how many of them are made before the link.
_MOST_DESTINATIONS, _COUNT_BEFORE_LINK = 9, 2


@dataclass(frozen=True, slots=True)
class _TenantDestinations:
    """A tenant with three destinations, all of them made by the check.

    Attributes:
        admin: The administrator that configures them.
        tenant: The tenant.
        kept: A destination that stays; `staying_id` is its id.
        gone: One that is deleted; `to_delete_id` is its id.
        untrusted: One with a certificate that no authority signed.
    """

    admin: Administrator
    tenant: Credentials
    staying: Receiver
    staying_id: str
    to_delete: Receiver
    to_delete_id: str
    untrusted: UntrustedListener


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
    if (reason := explain_remote_target(case)) is not None:
        raise Inconclusive(reason)
    lane_case = on_lane(case, case.profile.claims.lanes[0])
    network = network_of(lane_case)
    async with AsyncExitStack() as exits:
        staying_receiver, deleted_receiver = [
            await exits.enter_async_context(await Receiver().start(bind_sockets(HOST, 0))) for _ in range(2)
        ]
        untrusted_server = await exits.enter_async_context(untrusted_listener())
        payout = case.session.tenants.find_first_on(network).payout[network]
        tenant = await admin.create_tenant("Weldproof destinations", {network: payout})
        path, ids = new_path(case), list[str]()
        exits.push_async_callback(delete_quietly, admin, tenant, ids)
        for url in (
            *(address_of(case, one) + path for one in (staying_receiver, deleted_receiver)),
            untrusted_server.url,
        ):
            ids += [await create_destination(admin, tenant, url)]
        scene = _TenantDestinations(admin, tenant, staying_receiver, ids[0], deleted_receiver, ids[1], untrusted_server)
        # All three destinations exist before the payment, so each of them is due an event.
        await pay_rightly(lane_case, await payer(lane_case), await open_link(lane_case, network=network, tenant=tenant))
        await _await_events(case, scene)
        await _judge_untrusted(case, scene)
        await _judge_deleted(case, scene)


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
    reason = explain_unavailability(case)
    if reason is None:
        try:
            await _judge_many_destinations(case)
        except Inconclusive as fault:
            reason = f"no tenant with many destinations on this machine could be made: {fault}"
    for row in () if reason is None else case.check.rows:
        case.mark_not_applicable(row, reason or "")


async def _judge_many_destinations(case: Case) -> None:
    """Judge both rows on a tenant that the check makes.

    Raises:
        Inconclusive: The tenant could not be made or paid, or none of its destinations got an event.
    """
    admin, lane_case = administrator(case), await on_first_lane(case)
    network = network_of(lane_case)
    async with AsyncExitStack() as exits:
        receiver = await exits.enter_async_context(await Receiver().start(bind_sockets(HOST, 0)))
        payout = case.session.tenants.find_first_on(network).payout[network]
        # Both tenants are paid at one address. A gateway that finds the tenant by the address alone mixes up their
        # events.
        tenant = await admin.create_tenant("Weldproof many destinations", {network: payout})
        path, ids = new_path(case), list[str]()
        exits.push_async_callback(delete_quietly, admin, tenant, ids)
        paths = [f"{path}/{number}" for number in range(_MOST_DESTINATIONS)]
        urls = [address_of(case, receiver) + one for one in paths]
        count_before = await _make_destinations(admin, tenant, urls[:_COUNT_BEFORE_LINK], ids)
        own_link = await open_link(lane_case, network=network, tenant=tenant)
        other_link = await open_link(lane_case, network=network)
        # Destinations of before and of after the link must differ in their stored times for a gateway that compares
        # them.
        await asyncio.sleep(_CLOCK_STEP_SECONDS)
        # Destinations count that exist when the payment confirms, so those made after the link get the event, too.
        count = count_before + (
            await _make_destinations(admin, tenant, urls[_COUNT_BEFORE_LINK:], ids)
            if count_before == _COUNT_BEFORE_LINK
            else 0
        )
        if not count:
            raise Inconclusive("no destination on this machine is taken")
        await asyncio.sleep(_CACHE_SECONDS)
        link_payer = await payer(lane_case)
        await run_concurrently(pay_rightly(lane_case, link_payer, link) for link in (own_link, other_link))
        await _judge_own_deliveries(case, receiver, paths[:count], own_link)
        await _judge_other_tenants(case, (receiver, path), own_link, other_link)


async def _make_destinations(admin: Administrator, tenant: Credentials, urls: Sequence[str], ids: list[str]) -> int:
    """Make destinations until one is refused, append their ids to `ids`, and return how many were made."""
    for count, url in enumerate(urls):
        answer = await admin.call("POST", tenant.id, "webhooks", body={"url": url})
        if not 200 <= answer.status < 300:
            admin.case.note(f"{url} is not accepted as a further destination: {brief(answer)}")
            return count
        id_ = answer.read_object().get("destination_id")
        ids += [id_] if isinstance(id_, str) else []
    return len(urls)


async def _judge_own_deliveries(case: Case, receiver: Receiver, paths: Sequence[str], link: OpenedLink) -> None:
    budget = case.profile.budgets.paid

    async def is_delivered(path: str) -> bool:
        return bool(await receiver.next(lambda one: one.path == path and confirms_link(one, link), seconds=budget))

    # All at once, so that each destination has the same budget and a slow one delays no other.
    results = await run_concurrently((is_delivered(path) for path in paths), at_once=_MOST_DESTINATIONS)
    if not any(results):
        raise Inconclusive("no event reached any newly configured destination, which WH-DELIV-02 judges")
    for number, is_in_time in enumerate(results, start=1):
        when = "before" if number <= _COUNT_BEFORE_LINK else "after"
        where = {"destination": f"{number} of {len(paths)}, made {when} the link"}
        finding = "it came" if is_in_time else "nothing"
        case.expect("WH-DELIV-08", is_in_time, f"the event within {budget:g} s", finding, where=where)


async def _judge_other_tenants(
    case: Case, endpoint: tuple[Receiver, str], own_link: OpenedLink, other_link: OpenedLink
) -> None:
    """Judge that each tenant's destinations got only events of that tenant's links. Both links are paid.

    Args:
        case: The check.
        endpoint: The new tenant's destinations: a receiver, and the prefix of their paths.
        own_link: A link of the new tenant.
        other_link: A link of the tenant with the same payout address.
    """
    is_reported, expectation = await _await_profile_event(case, other_link), "no event of another tenant's link"
    await asyncio.sleep(_SETTLE_SECONDS)
    if is_reported:
        words = (own_link.order.mark, own_link.order.token)
        wrong_events = [one for one in case.session.inbox.deliveries if one.confirms and one.mentions(words)]
        sample = wrong_events[0] if wrong_events else None
        where = {"destinations": "those of tenants with the same payout address, and of others"}
        case.expect("WH-DELIV-01", not wrong_events, expectation, f"{len(wrong_events)}", exchange=sample, where=where)
    receiver, path = endpoint
    own_arrivals = [one for one in receiver.arrivals if one.path.startswith(path) and read_arrival(one).confirms]
    wrong_arrivals = [one for one in own_arrivals if not confirms_link(one, own_link)]
    where = {"destinations": "those of a tenant with the payout address of another one"}
    case.expect("WH-DELIV-01", not wrong_arrivals, expectation, f"{len(wrong_arrivals)}", where=where)


async def _await_profile_event(case: Case, link: OpenedLink) -> bool:
    """Return whether a destination of the profile gets the link's event, without which silence proves nothing."""
    inbox, words = case.session.inbox, (link.order.mark, link.order.token)
    try:
        inbox.of_tenant(link.order.tenant.name)
    except Inconclusive as reason:
        case.note(f"whether other tenants get events of the check's tenant is not judged: {reason}")
        return False
    events = await inbox.wait(lambda one: one.confirms and one.mentions(words), seconds=case.profile.budgets.paid)
    return bool(events)


async def _await_events(case: Case, scene: _TenantDestinations) -> None:
    """Wait for the event at the two destinations that must get it.

    Raises:
        Inconclusive: It did not arrive there, which WH-DELIV-08 judges.
    """
    for receiver in (scene.staying, scene.to_delete):
        if not await receiver.next(seconds=case.profile.budgets.paid):
            raise Inconclusive("no event reached a newly configured destination, which WH-DELIV-08 judges")


async def _judge_untrusted(case: Case, scene: _TenantDestinations) -> None:
    loop = asyncio.get_running_loop()
    deadline = loop.time() + case.profile.budgets.paid
    while not scene.untrusted.connection_count and loop.time() < deadline:  # noqa: ASYNC110 - it is met in the midst of a handshake
        await asyncio.sleep(_POLL_SECONDS)
    await asyncio.sleep(_SETTLE_SECONDS)
    finding = f"{scene.untrusted.byte_count} bytes"
    if not scene.untrusted.connection_count:
        case.mark_inconclusive(
            "WH-DELIV-11", "the target did not connect to the destination, so it checked no certificate"
        )
        return
    case.expect("WH-DELIV-11", scene.untrusted.byte_count == 0, "no byte sent inside TLS", finding)


async def _judge_deleted(case: Case, scene: _TenantDestinations) -> None:
    admin, tenant = scene.admin, scene.tenant
    delivery_list = await _list_deliveries(admin, tenant.id)
    staying_delivery, deleted_delivery = (
        _find_delivery_id(delivery_list, one) for one in (scene.staying_id, scene.to_delete_id)
    )
    await admin.call_successfully("DELETE", tenant.id, "webhooks", scene.to_delete_id)
    deleted_count, staying_count = len(scene.to_delete.arrivals), len(scene.staying.arrivals)
    retry = await admin.call("POST", tenant.id, "deliveries", deleted_delivery, "retry")
    # A retry needs no payment, so a gateway may forget to check there whether the destination still exists (P-WH-08).
    is_refused = 400 <= retry.status < 500
    case.expect("WH-DELIV-10", is_refused, "a client error for the retry", brief(retry), exchange=retry)
    # The control: a target that ignores every retry would otherwise pass.
    control = await admin.call("POST", tenant.id, "deliveries", staying_delivery, "retry")
    if not 200 <= control.status < 300 or not await scene.staying.next(
        seconds=case.profile.budgets.paid, after=staying_count
    ):
        raise Inconclusive(
            f"the control, a retry to a destination that was not deleted, did not arrive: {control.status}"
        )
    await asyncio.sleep(_SETTLE_SECONDS)
    extra_count = len(scene.to_delete.arrivals) - deleted_count
    case.expect(
        "WH-DELIV-10",
        extra_count == 0,
        "no further request to the deleted one",
        f"{extra_count} requests",
        exchange=retry,
    )


async def _list_deliveries(admin: Administrator, tenant_id: str) -> object:
    """Return the list of a tenant's deliveries: the body itself, or its member `deliveries`."""
    answer = await admin.call("GET", tenant_id, "deliveries")
    if not 200 <= answer.status < 300:
        raise Inconclusive(f"the list of deliveries was answered {brief(answer)}")
    body = answer.parse_json()
    return body.get("deliveries") if isinstance(body, dict) else body


def _find_delivery_id(delivery_list: object, destination: str) -> str:
    """Return the id of the delivery to a destination.

    Raises:
        Inconclusive: The list contains none.
    """
    for row in delivery_list if isinstance(delivery_list, list) else []:
        delivery_id = (
            row.get("delivery_id") if isinstance(row, dict) and row.get("destination_id") == destination else None
        )
        if isinstance(delivery_id, str):
            return delivery_id
    raise Inconclusive(
        "the list of deliveries has no row with a delivery_id and the destination_id of a destination that got one"
    )
