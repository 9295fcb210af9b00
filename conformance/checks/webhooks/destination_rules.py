"""WH-DELIV-15 and -16: which destinations a tenant may have, and which events each of them gets.

Only an administrator can configure destinations. Each check makes a separate tenant.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import AsyncExitStack
from typing import Any, Final

from conformance.engine.check import Case, check
from conformance.engine.concurrency import run_concurrently
from conformance.engine.quick_policy import WAITS
from conformance.engine.tenant_credentials import Credentials
from conformance.http.client import Answer
from conformance.outcome import Inconclusive
from conformance.surfaces.gateway.administration import Administrator, administrator
from conformance.surfaces.gateway.calls import brief
from conformance.surfaces.gateway.orders import (
    OpenedLink,
    cancel_order,
    memo_carrier,
    network_of,
    on_first_lane,
    open_link,
    payer,
    wait_for_paid,
)
from conformance.surfaces.webhooks.own_tenant_destinations import (
    HOST,
    address_of,
    delete_quietly,
    explain_remote_target,
    new_path,
    read_arrival,
)
from conformance.webhook_receiver.raw_receiver import Receiver, bind_sockets

_MOST_DESTINATIONS: Final = 9
_REFUSED_STATUS: Final = 422
_SETTLE_SECONDS: Final = 1.0
_CONFIRMED, _CANCELLED = "payment.confirmed", "payment.cancelled"
# Hosts that no event may be sent to, also in test mode (P-WH-10). A translator or a tunnel forwards the IPv6 forms to
# the private IPv4 address in them.
REFUSED_HOSTS: Final[Mapping[str, str]] = {
    "private, 10/8": "10.0.0.1",
    "private, 172.16/12": "172.31.255.254",
    "private, 192.168/16": "192.168.1.1",
    "link-local, with cloud metadata": "169.254.169.254",
    "CGNAT": "100.127.255.254",
    "multicast": "224.0.0.1",
    "unspecified": "0.0.0.0",  # noqa: S104 - an address that is refused
    "IPv6 private": "[fd00::1]",
    "IPv6 link-local": "[fe80::1]",
    "IPv6 multicast": "[ff02::1]",
    "IPv6 unspecified": "[::]",
    "IPv4-mapped": "[::ffff:10.0.0.1]",
    "IPv4-mapped loopback": "[::ffff:7f00:1]",
    "IPv4-compatible": "[::10.0.0.1]",
    "NAT64": "[64:ff9b::a00:1]",
    "NAT64, local use": "[64:ff9b:1::a00:1]",
    "6to4": "[2002:a00:1::1]",
    "Teredo": "[2001:0:4136:e378:8000:63bf:f5ff:fffe]",
}


@check(
    "WH-DELIV-15",
    surface="webhooks",
    fix="Resolve the host of a new destination, and refuse it with 422 if one of its addresses is not public. Count a "
    "tenant's destinations in the statement that adds one.",
)
async def forbidden_destinations_are_refused(case: Case) -> None:
    """A destination whose address is not public is refused with 422, and so is a tenth destination of a tenant.

    Makes a tenant, and requests destinations at private, link-local, multicast and unspecified addresses, at those of a
    carrier's network, and at IPv6 addresses that contain a private IPv4 address. Expects 422 for each. Then makes
    destinations on this machine until one is refused. Expects nine, and 422 for the tenth.
    """
    admin = administrator(case)
    async with AsyncExitStack() as exits:
        tenant = await admin.create_tenant("Weldproof refused destinations", {})
        ids = list[str]()
        exits.push_async_callback(delete_quietly, admin, tenant, ids)
        path = new_path(case)
        for name, host in REFUSED_HOSTS.items():
            answer = await _request_destination(admin, tenant, f"https://{host}{path}", ids)
            is_refused = answer.status == _REFUSED_STATUS
            case.expect("WH-DELIV-15", is_refused, "422", brief(answer), exchange=answer, where={"address": name})
        if (reason := explain_remote_target(case)) is not None:
            case.note(f"how many destinations a tenant may have is not tried: {reason}")
            return
        # Nothing is sent there, since the tenant has no links.
        receiver = await exits.enter_async_context(await Receiver().start(bind_sockets(HOST, 0)))
        already = len(ids)
        for number in range(already + 1, _MOST_DESTINATIONS + 2):
            answer = await _request_destination(admin, tenant, f"{address_of(case, receiver)}{path}/{number}", ids)
            if number == already + 1 and answer.status == _REFUSED_STATUS:
                # Only a gateway in test mode sends to this machine (P-WH-10).
                case.note("how many destinations a tenant may have is not tried: the target refuses loopback addresses")
                return
            is_beyond = number > _MOST_DESTINATIONS
            is_right = answer.status == _REFUSED_STATUS if is_beyond else 200 <= answer.status < 300
            expectation, where = "422" if is_beyond else "a success", {"destination": f"number {number} of the tenant"}
            case.expect("WH-DELIV-15", is_right, expectation, brief(answer), exchange=answer, where=where)


async def _request_destination(admin: Administrator, tenant: Credentials, url: str, ids: list[str]) -> Answer:
    """Request a destination, return the answer, and append the id to `ids` if it was made."""
    answer = await admin.call("POST", tenant.id, "webhooks", body={"url": url})
    members = answer.read_object()
    for name in ("destination_id", "secret"):
        if isinstance(members.get(name), str):
            admin.case.client.names.secret(members[name], f"NEW_{name.upper()}")
    ids += [members["destination_id"]] if isinstance(members.get("destination_id"), str) else []
    return answer


@check(
    "WH-DELIV-16",
    surface="webhooks",
    quick=WAITS,
    fix="Store the event types of each destination, payment.confirmed if it names none, and write a delivery only for "
    "the destinations that ask for the type.",
)
async def a_destination_gets_what_it_asks_for(case: Case) -> None:
    """A destination gets payment.confirmed unless it asks for other types, payment.cancelled only on demand.

    Makes a tenant with three destinations on this machine: one without `events`, one for `payment.cancelled`, and one
    for both types. Pays one link of the tenant and cancels another. Expects at each destination the types that it asked
    for, and no other. Expects of payment.cancelled the members of payment.confirmed, for the cancelled link, with a
    null `tx_id` and `payer_address`.
    """
    admin, lane_case = administrator(case), await on_first_lane(case)
    if (reason := explain_remote_target(case)) is not None:
        raise Inconclusive(reason)
    network = network_of(lane_case)
    async with AsyncExitStack() as exits:
        receiver = await exits.enter_async_context(await Receiver().start(bind_sockets(HOST, 0)))
        payout = case.session.tenants.find_first_on(network).payout[network]
        tenant = await admin.create_tenant("Weldproof event types", {network: payout})
        path, ids = new_path(case), list[str]()
        exits.push_async_callback(delete_quietly, admin, tenant, ids)
        plans: Mapping[str, tuple[Mapping[str, Any], frozenset[str]]] = {
            f"{path}/usual": ({}, frozenset({_CONFIRMED})),
            f"{path}/cancelled": ({"events": [_CANCELLED]}, frozenset({_CANCELLED})),
            f"{path}/both": ({"events": [_CONFIRMED, _CANCELLED]}, frozenset({_CONFIRMED, _CANCELLED})),
        }
        for destination_path, (members, _) in plans.items():
            body = {"url": address_of(case, receiver) + destination_path, **members}
            ids.append(str((await admin.call_successfully("POST", tenant.id, "webhooks", body=body))["destination_id"]))
        paid_link, cancelled_link = [await open_link(lane_case, network=network, tenant=tenant) for _ in range(2)]
        await (await payer(lane_case)).settle(paid_link.bill, memo_carrier(lane_case))
        # Events are awaited from here, so that a payment that is seen late takes nothing of their time.
        if await wait_for_paid(lane_case, paid_link) is None:
            raise Inconclusive("a right payment did not turn its page to Paid, which GW-CHK-09 judges")
        await cancel_order(case, cancelled_link.order)
        await run_concurrently(
            _await_type(case, receiver, destination_path, type_)
            for destination_path, (_, types) in plans.items()
            for type_ in types
        )
        # What is sent by mistake is sent at the same time.
        await asyncio.sleep(_SETTLE_SECONDS)
        links = {_CONFIRMED: paid_link, _CANCELLED: cancelled_link}
        for destination_path, (_, types) in plans.items():
            _judge_types(case, receiver, destination_path, types, links)
        _judge_cancelled_event(case, receiver, cancelled_link)


async def _await_type(case: Case, receiver: Receiver, path: str, type_: str) -> None:
    await receiver.next(
        lambda one: one.path == path and read_arrival(one).event.get("type") == type_, seconds=case.profile.budgets.paid
    )


def _judge_types(
    case: Case, receiver: Receiver, path: str, types: frozenset[str], links: Mapping[str, OpenedLink]
) -> None:
    """Judge that exactly the wanted types came to a destination, each about the link that changed."""
    events = [read_arrival(one) for one in receiver.arrivals if one.path == path]
    found = sorted(
        f"{one.event.get('type')} of the {type_} link"
        for one in events
        for type_, link in links.items()
        if one.mentions((link.order.mark, link.order.token))
    )
    wanted = sorted(f"{type_} of the {type_} link" for type_ in types)
    where = {"destination": path.rpartition("/")[2]}
    is_right = sorted(set(found)) == wanted and all(one.event.get("type") in types for one in events)
    case.expect("WH-DELIV-16", is_right, ", ".join(wanted), ", ".join(found) or "nothing", where=where)


def _judge_cancelled_event(case: Case, receiver: Receiver, link: OpenedLink) -> None:
    order = link.order
    events = [one for one in map(read_arrival, receiver.arrivals) if one.event.get("type") == _CANCELLED]
    expected = {
        "tenant_label": order.label,
        "amount_microunits": str(order.microunits),
        "payment_link_token": order.token,
        "payment_link_label": order.label,
        "tx_id": None,
        "payer_address": None,
        "resource_id": None,
    }
    for event in events[:1]:
        faults = [name for name, value in expected.items() if event.data.get(name, ...) != value]
        expectation = "the members of the cancelled link, with a null tx_id and payer_address"
        case.expect(
            "WH-DELIV-16", not faults, expectation, ", ".join(faults) or expectation, where={"event": _CANCELLED}
        )
