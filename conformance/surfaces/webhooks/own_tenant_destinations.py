"""Webhook destinations of tenants that the suite creates, configured by an administrator (specification 3.9)."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

from conformance.engine.check import Case
from conformance.engine.tenant_credentials import Credentials
from conformance.http.client import JsonFault, Unreachable
from conformance.outcome import Inconclusive
from conformance.surfaces.gateway.administration import Administrator, administrator
from conformance.surfaces.gateway.calls import new_text
from conformance.surfaces.gateway.orders import OpenedLink, memo_carrier, network_of, open_link, payer
from conformance.surfaces.webhooks.paid_links import with_named_randomness
from conformance.webhook_receiver.inbox import Received
from conformance.webhook_receiver.raw_receiver import Arrival, Receiver, Reply, bind_sockets

_LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})
# Host at which a check receives the events of its own tenants.
HOST: Final = "127.0.0.1"
_NAME: Final = "a deleted destination"
# Seconds within which a sender records the outcome of an attempt.
_NOTING_SECONDS = 0.3
# Seconds after a deletion within which an earlier attempt may still arrive.
_UNDER_WAY_SECONDS = 1.0
# Seconds within which an event is sent to both destinations.
_BESIDE_SECONDS = 1.0


def explain_unavailability(case: Case) -> str | None:
    """Return why no tenant of the suite can have a destination on this machine, or None."""
    if not case.profile.claims.includes("gateway.tenants") or case.profile.gateway.admin_key is None:
        return "the profile names no administrator of a gateway with the option gateway.tenants"
    return explain_remote_target(case)


def explain_remote_target(case: Case) -> str | None:
    """Return why the target cannot reach this machine's loopback, or None if it runs here."""
    if urlsplit(case.session.gateway).hostname in _LOOPBACK:
        return None
    return "the target is elsewhere, and its destinations would be this machine's loopback"


def new_path(case: Case) -> str:
    """Return an unused path."""
    # A port may be reused, and deliveries of an earlier run may still arrive at it. The new path
    # keeps them apart.
    return f"/hooks/{new_text(case, 'destination')}"


def address_of(case: Case, receiver: Receiver) -> str:
    """Return the address of a receiver of the suite; its port changes from run to run and has a name in the log."""
    address = f"{HOST}:{receiver.port}"
    case.client.names.secret(address, "DESTINATION_ADDRESS")
    return f"http://{address}"


def confirms_link(arrival: Arrival, link: OpenedLink) -> bool:
    """Return whether an arrival says that a link's payment is confirmed."""
    one = read_arrival(arrival)
    return one.confirms and one.mentions((link.order.mark, link.order.token))


def read_arrival(arrival: Arrival) -> Received:
    """Return an arrival as a delivery to be read."""
    return Received(0, None, arrival, arrival.at)


@dataclass(frozen=True, slots=True)
class OwnDestination:
    """A check's own tenant with one destination on this machine.

    Attributes:
        admin: The administrator that created them.
        tenant: The tenant.
        receiver: The receiver at the destination.
        creation: The answer to the request that made the destination.
    """

    admin: Administrator
    tenant: Credentials
    receiver: Receiver
    creation: Mapping[str, Any]


@asynccontextmanager
async def own_destination(
    case: Case, name: str, network: str, members: Mapping[str, Any] | None = None
) -> AsyncIterator[OwnDestination]:
    """Create a tenant with one destination, which is deleted on leaving.

    Args:
        case: The check's case.
        name: Name of the tenant.
        network: The network on which it is paid, at the address of the profile's first tenant.
        members: Members of the destination besides its URL.

    Raises:
        Inconclusive: The tenant or the destination was not made.
    """
    admin = administrator(case)
    async with AsyncExitStack() as exits:
        receiver = await exits.enter_async_context(await Receiver().start(bind_sockets(HOST, 0)))
        tenant = await admin.create_tenant(name, {network: case.session.tenants.find_first_on(network).payout[network]})
        ids = list[str]()
        # Registered before the destination is created, so that it is deleted even if the check
        # fails in between.
        exits.push_async_callback(delete_quietly, admin, tenant, ids)
        body = {"url": address_of(case, receiver) + new_path(case), **(members or {})}
        creation = await admin.call_successfully("POST", tenant.id, "webhooks", body=body)
        if isinstance(creation.get("destination_id"), str):
            ids.append(creation["destination_id"])
        yield OwnDestination(admin, tenant, receiver, creation)


@dataclass(frozen=True, slots=True)
class DeletedDestination:
    """Two destinations of a tenant; a first delivery failed at both before one of them was deleted.

    Attributes:
        receiver: The receiver of both.
        kept_path: Path of the remaining destination.
        deleted_path: Path of the deleted destination.
        paid_link: A link that was paid before the deletion; its first delivery was answered with 500 at both.
        unpaid_link: An unpaid link of the tenant.
        at: Monotonic time of the answer to the deletion, in seconds.
    """

    receiver: Receiver
    kept_path: str
    deleted_path: str
    paid_link: OpenedLink
    unpaid_link: OpenedLink
    at: float

    async def is_kept_notified(self, link: OpenedLink, *, seconds: float) -> bool:
        """Return whether a delivery of a link that began after the deletion arrives at the remaining destination."""
        return bool(
            await self.receiver.next(lambda one: self._is_later_attempt(one, self.kept_path, link), seconds=seconds)
        )

    async def count_late_deliveries(self, link: OpenedLink) -> int:
        """Return the number of deliveries of a link to the deleted destination that began after the deletion.

        The caller has seen the event at the other destination. This waits until both must have received it.
        """
        await asyncio.sleep(_BESIDE_SECONDS)
        return sum(self._is_later_attempt(one, self.deleted_path, link) for one in self.receiver.arrivals)

    def _is_later_attempt(self, one: Arrival, path: str, link: OpenedLink) -> bool:
        return one.path == path and one.monotonic > self.at + _UNDER_WAY_SECONDS and confirms_link(one, link)


async def deleted_destination(case: Case) -> DeletedDestination | None:
    """Return the two destinations, created once in a run on the case's lane; None if they cannot be created."""
    destinations: DeletedDestination | None = await case.session.find_once(
        _NAME, lambda: _try_deletion(with_named_randomness(case, _NAME))
    )
    return destinations


async def _try_deletion(case: Case) -> DeletedDestination | None:
    reason = explain_unavailability(case)
    if reason is None:
        try:
            return await _delete_between_attempts(case)
        except Inconclusive as fault:
            reason = str(fault)
    case.note(f"no destination was deleted between two attempts: {reason}")
    return None


async def _delete_between_attempts(case: Case) -> DeletedDestination:
    admin, network, path = administrator(case), network_of(case), new_path(case)
    receiver = await Receiver().start(bind_sockets(HOST, 0))
    case.session.exit_stack.push_async_callback(receiver.close)
    payout = case.session.tenants.find_first_on(network).payout[network]
    tenant = await admin.create_tenant("Weldproof deleted destination", {network: payout})
    ids: list[str] = []
    case.session.exit_stack.push_async_callback(delete_quietly, admin, tenant, ids)
    paths = deleted_path, kept_path = f"{path}/gone", f"{path}/kept"
    # The deleted destination is created first. A sender that serves destinations in order then
    # tries it first, so that its absence is not only a delay.
    for destination_path in paths:
        ids += [await create_destination(admin, tenant, f"{address_of(case, receiver)}{destination_path}")]
    paid_link, unpaid_link = [await open_link(case, network=network, tenant=tenant) for _ in range(2)]
    failed_paths: set[str] = set()

    def plan(arrival: Arrival) -> Reply:
        """Answer the first delivery of the paid link at each of the two with 500."""
        if arrival.path not in paths or arrival.path in failed_paths or not confirms_link(arrival, paid_link):
            return Reply()
        failed_paths.add(arrival.path)
        return Reply(500)

    receiver.plan = plan
    await (await payer(case)).settle(paid_link.bill, memo_carrier(case))
    for destination_path in paths:
        if not await receiver.next(
            lambda _, failed_path=destination_path: failed_path in failed_paths,  # type: ignore[misc]
            seconds=case.profile.budgets.paid,
        ):
            raise Inconclusive("no event came to a destination that was just configured, which WH-DELIV-08 judges")
    await asyncio.sleep(_NOTING_SECONDS)
    await admin.call_successfully("DELETE", tenant.id, "webhooks", ids[0])
    return DeletedDestination(receiver, kept_path, deleted_path, paid_link, unpaid_link, time.monotonic())


async def create_destination(admin: Administrator, tenant: Credentials, url: str) -> str:
    """Create a destination of a tenant, and return its id.

    Raises:
        Inconclusive: It was not made.
    """
    members = await admin.call_successfully("POST", tenant.id, "webhooks", body={"url": url})
    destination_id = members.get("destination_id")
    if not isinstance(destination_id, str):
        raise Inconclusive("a destination was made without destination_id")
    return destination_id


async def delete_quietly(admin: Administrator, tenant: Credentials, destinations: Sequence[str]) -> None:
    """Delete destinations of a tenant that are no longer needed; failures are ignored."""
    with suppress(Unreachable, Inconclusive, JsonFault):
        for destination_id in destinations:
            await admin.call("DELETE", tenant.id, "webhooks", destination_id)
