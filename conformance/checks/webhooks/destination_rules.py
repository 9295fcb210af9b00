"""WH-DELIV-15 and -16: which destinations a tenant may have, and which events each of them gets.

Only an administrator can configure destinations. Each check makes a separate tenant.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import AsyncExitStack
from ipaddress import ip_network
from typing import Any, Final

from conformance.engine.check import Case, check
from conformance.engine.concurrent_check_steps import run_concurrently
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
from conformance.surfaces.gateway.rate_limited_gateway import LimitedGateway
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
_IPV6: Final = 6
_SETTLE_SECONDS: Final = 1.0
_CONFIRMED, _CANCELLED = "payment.confirmed", "payment.cancelled"
# Networks whose addresses are not public (P-WH-10; for those that it does not name, the registries of IANA). Each is
# tried at both ends, as a mask that is too long leaves out one of them. A translator or a tunnel forwards the IPv6
# forms to the private IPv4 address in them.
_REFUSED_NETWORKS: Final[Mapping[str, str]] = {
    "unspecified": "0.0.0.0/8",
    "private, 10/8": "10.0.0.0/8",
    "CGNAT": "100.64.0.0/10",
    "link-local": "169.254.0.0/16",
    "private, 172.16/12": "172.16.0.0/12",
    "private, 192.168/16": "192.168.0.0/16",
    "documentation": "203.0.113.0/24",
    "benchmarks": "198.18.0.0/15",
    "multicast": "224.0.0.0/4",
    "reserved": "240.0.0.0/4",
    "IPv6 private": "fc00::/7",
    "IPv6 link-local": "fe80::/10",
    "IPv6 multicast": "ff00::/8",
    "IPv6 documentation": "2001:db8::/32",
    "IPv4-mapped": "::ffff:0:0/96",
    "IPv4-compatible": "::/96",
    "NAT64": "64:ff9b::/96",
    "NAT64, local use": "64:ff9b:1::/48",
    "6to4": "2002::/16",
    "Teredo": "2001::/32",
}
# One address in each way that a private one is written or embedded.
_REFUSED_HOSTS: Final[Mapping[str, str]] = {
    "cloud metadata": "169.254.169.254",
    "cloud metadata as a decimal": "2852039166",
    "cloud metadata in hexadecimal": "0xa9fea9fe",
    "cloud metadata in octal": "0251.0376.0251.0376",
    "two parts": "10.1",
    "unspecified": "0.0.0.0",  # noqa: S104 - an address that is refused
    "IPv6 unspecified": "[::]",
    "IPv4-mapped": "[::ffff:10.0.0.1]",
    "IPv4-mapped loopback": "[::ffff:7f00:1]",
    "IPv4-compatible": "[::10.0.0.1]",
    "NAT64": "[64:ff9b::a00:1]",
    "6to4": "[2002:a00:1::1]",
}
# Public addresses next to refused networks: a mask that is too short refuses them.
_PUBLIC_HOSTS: Final = ("9.255.255.254", "11.0.0.1", "100.63.255.254", "100.128.0.1", "172.32.0.1", "192.169.0.1")
_LOOPBACK_HOSTS: Final = ("127.0.0.1:9", "127.255.255.254:9", "[::1]:9")


def list_refused_hosts() -> Mapping[str, str]:
    """Return hosts that no event may be sent to, also in test mode, by what they are."""
    hosts = dict(_REFUSED_HOSTS)
    for name, text in _REFUSED_NETWORKS.items():
        network = ip_network(text)
        for end, address in (("first", network[1]), ("last", network[-2])):
            hosts[f"{name}, {end}"] = f"[{address}]" if network.version == _IPV6 else str(address)
    # IPv6 loopback, which test mode allows.
    return {name: host for name, host in hosts.items() if host != "[::1]"}


@check(
    "WH-DELIV-15",
    surface="webhooks",
    fix="Resolve the host of a new destination, and refuse it with 422 if one of its addresses is not public. Count a "
    "tenant's destinations in the statement that adds one.",
)
async def forbidden_destinations_are_refused(case: Case) -> None:
    """A destination whose address is not public is refused with 422, and so is a tenth destination of a tenant.

    Makes a tenant, and requests destinations at both ends of private, link-local, multicast, unspecified and reserved
    networks, at those of a carrier's network, at other spellings of them, and at IPv6 addresses that contain a private
    IPv4 address. Expects 422 for each, and a success at public addresses next to these networks. At each gateway of the
    profile that refuses a loopback address, requests destinations with http. Expects 422 for each, as only test mode
    permits both. Then makes destinations on this machine until one is refused. Expects nine, and 422 for the tenth.
    """
    admin = administrator(case)
    await _judge_public_addresses(case, admin)
    for one in (admin, LimitedGateway(case, case.client).find_administrator()):
        if one is not None:
            await _judge_plain_http(case, one)
    async with AsyncExitStack() as exits:
        tenant = await admin.create_tenant("Weldproof refused destinations", {})
        ids = list[str]()
        exits.push_async_callback(delete_quietly, admin, tenant, ids)
        path = new_path(case)
        for name, host in list_refused_hosts().items():
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


async def _judge_public_addresses(case: Case, admin: Administrator) -> None:
    """Judge that destinations at public addresses are made. Nothing is sent there, since the tenant has no links."""
    async with AsyncExitStack() as exits:
        tenant, ids = await admin.create_tenant("Weldproof public destinations", {}), list[str]()
        exits.push_async_callback(delete_quietly, admin, tenant, ids)
        for host in _PUBLIC_HOSTS:
            answer = await _request_destination(admin, tenant, f"https://{host}{new_path(case)}", ids)
            is_made, where = 200 <= answer.status < 300, {"public address": host}
            case.expect("WH-DELIV-15", is_made, "a success", brief(answer), exchange=answer, where=where)


async def _judge_plain_http(case: Case, admin: Administrator) -> None:
    """Judge destinations with http and on this machine at a gateway outside test mode; elsewhere both are allowed."""
    async with AsyncExitStack() as exits:
        tenant, ids = await admin.create_tenant("Weldproof plain destinations", {}), list[str]()
        exits.push_async_callback(delete_quietly, admin, tenant, ids)
        path = new_path(case)
        control = await _request_destination(admin, tenant, f"https://{_LOOPBACK_HOSTS[0]}{path}", ids)
        if control.status != _REFUSED_STATUS:
            case.note(
                f"{admin.gateway or case.session.gateway} permits loopback addresses, so http is not judged there"
            )
            return
        urls = [f"https://{host}{path}" for host in _LOOPBACK_HOSTS[1:]]
        urls += [f"http://{host}{path}" for host in (_LOOPBACK_HOSTS[0], *_PUBLIC_HOSTS[:2])]
        for url in urls:
            answer = await _request_destination(admin, tenant, url, ids)
            is_refused, where = answer.status == _REFUSED_STATUS, {"address": url.removesuffix(path)}
            case.expect("WH-DELIV-15", is_refused, "422", brief(answer), exchange=answer, where=where)


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
