"""Destinations of a tenant of the suite's own, which an administrator can configure (specification 3.9)."""

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
from conformance.surfaces.webhooks.sales import with_named_randomness
from conformance.webhook_receiver.inbox import Received
from conformance.webhook_receiver.raw_receiver import Arrival, Receiver, Reply, bind_sockets

_LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})
# Where a check receives what is told to its own tenants.
HOST: Final = "127.0.0.1"
_NAME: Final = "a deleted destination"
# A sender notes within this what came of an attempt.
_NOTING_SECONDS = 0.3
# An attempt that was begun before a deletion arrives within this after it.
_UNDER_WAY_SECONDS = 1.0
# What is sent to one destination is sent to another one within this.
_BESIDE_SECONDS = 1.0


def explain_unavailability(case: Case) -> str | None:
    """Return why no tenant of the suite's own can have a destination on this machine, None where one may."""
    if "gateway.tenants" not in case.profile.claims.options or case.profile.gateway.admin_key is None:
        return "the profile names no administrator of a gateway with the option gateway.tenants"
    return explain_remote_target(case)


def explain_remote_target(case: Case) -> str | None:
    """Return why the target cannot reach this machine's loopback, None where it runs here."""
    if urlsplit(case.session.gateway).hostname in _LOOPBACK:
        return None
    return "the target is elsewhere, and its destinations would be this machine's loopback"


def new_path(case: Case) -> str:
    """Return a path that nothing was sent to before: what earlier runs left behind may reach a port that is reused."""
    return f"/hooks/{new_text(case, 'destination')}"


def address_of(case: Case, receiver: Receiver) -> str:
    """Return where a receiver of the suite's own listens; its port is another one in each run, and named in the log."""
    address = f"{HOST}:{receiver.port}"
    case.client.names.secret(address, "DESTINATION_ADDRESS")
    return f"http://{address}"


def confirms_link(arrival: Arrival, link: OpenedLink) -> bool:
    """Return whether something that arrived says that a link's payment is confirmed."""
    one = read_arrival(arrival)
    return one.confirms and one.mentions((link.order.mark, link.order.token))


def read_arrival(arrival: Arrival) -> Received:
    """Return something that arrived, to be read."""
    return Received(0, None, arrival, arrival.at)


@dataclass(frozen=True, slots=True)
class OwnDestination:
    """A tenant of a check's own with one destination on this machine.

    Attributes:
        admin: Who made them.
        tenant: The tenant.
        receiver: What receives at the destination.
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
    """Have a tenant made with one destination, which is deleted at the end.

    Args:
        case: The check's case.
        name: Name of the tenant.
        network: The network on which it is paid, where the first tenant of the profile is paid.
        members: Members of the destination besides its URL.

    Raises:
        Inconclusive: The tenant or the destination was not made.
    """
    admin = administrator(case)
    async with AsyncExitStack() as exits:
        receiver = await exits.enter_async_context(await Receiver().start(bind_sockets(HOST, 0)))
        tenant = await admin.create_tenant(name, {network: case.session.tenants.find_first_on(network).payout[network]})
        ids = list[str]()
        exits.push_async_callback(delete_quietly, admin, tenant, ids)
        body = {"url": address_of(case, receiver) + new_path(case), **(members or {})}
        creation = await admin.call_successfully("POST", tenant.id, "webhooks", body=body)
        if isinstance(creation.get("destination_id"), str):
            ids.append(creation["destination_id"])
        yield OwnDestination(admin, tenant, receiver, creation)


@dataclass(frozen=True, slots=True)
class DeletedDestination:
    """Two destinations of one tenant, to both of which a first delivery failed before one of them was deleted.

    Attributes:
        receiver: Where both are.
        kept_path: Path of the one that stays.
        deleted_path: Path of the one that was deleted; it was made first, as a sender may serve them in order.
        paid_link: A link that was paid before the deletion; its first delivery was answered with 500 at both.
        unpaid_link: A link of the tenant that nobody has paid.
        at: When the deletion was answered, on the monotonic clock, in seconds.
    """

    receiver: Receiver
    kept_path: str
    deleted_path: str
    paid_link: OpenedLink
    unpaid_link: OpenedLink
    at: float

    async def is_kept_notified(self, link: OpenedLink, *, seconds: float) -> bool:
        """Return whether a delivery of a link that was begun after the deletion comes to the destination that stays."""
        return bool(
            await self.receiver.next(lambda one: self._is_later_attempt(one, self.kept_path, link), seconds=seconds)
        )

    async def count_late_deliveries(self, link: OpenedLink) -> int:
        """Return how many deliveries of a link came to the deleted destination that were not under way already.

        Called when the other one heard of it, this waits until both must have.
        """
        await asyncio.sleep(_BESIDE_SECONDS)
        return sum(self._is_later_attempt(one, self.deleted_path, link) for one in self.receiver.arrivals)

    def _is_later_attempt(self, one: Arrival, path: str, link: OpenedLink) -> bool:
        return one.path == path and one.monotonic > self.at + _UNDER_WAY_SECONDS and confirms_link(one, link)


async def deleted_destination(case: Case) -> DeletedDestination | None:
    """Return the two destinations, made once in this run on the case's lane; None where they cannot be had."""
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
    for destination_path in paths:
        ids += [await create_destination(admin, tenant, f"{address_of(case, receiver)}{destination_path}")]
    paid_link, unpaid_link = [await open_link(case, network=network, tenant=tenant) for _ in range(2)]
    failed_paths: set[str] = set()

    def plan(arrival: Arrival) -> Reply:
        """Let the first delivery of the sale fail at each of the two."""
        if arrival.path not in paths or arrival.path in failed_paths or not confirms_link(arrival, paid_link):
            return Reply()
        failed_paths.add(arrival.path)
        return Reply(500)

    receiver.plan = plan
    await (await payer(case)).settle(paid_link.bill, memo_carrier(case))
    for destination_path in paths:
        if not await receiver.next(
            lambda _, destination_path=destination_path: destination_path in failed_paths,
            seconds=case.profile.budgets.paid,
        ):  # type: ignore[misc]
            raise Inconclusive("no event came to a destination that was just configured, which WH-DELIV-08 judges")
    await asyncio.sleep(_NOTING_SECONDS)
    await admin.call_successfully("DELETE", tenant.id, "webhooks", ids[0])
    return DeletedDestination(receiver, kept_path, deleted_path, paid_link, unpaid_link, time.monotonic())


async def create_destination(admin: Administrator, tenant: Credentials, url: str) -> str:
    """Have a destination of a tenant made, and return its id.

    Raises:
        Inconclusive: It was not made.
    """
    members = await admin.call_successfully("POST", tenant.id, "webhooks", body={"url": url})
    destination_id = members.get("destination_id")
    if not isinstance(destination_id, str):
        raise Inconclusive("a destination was made without destination_id")
    return destination_id


async def delete_quietly(admin: Administrator, tenant: Credentials, destinations: Sequence[str]) -> None:
    """Have destinations of a tenant deleted that are needed no more, as far as that can be done."""
    with suppress(Unreachable, Inconclusive, JsonFault):
        for destination_id in destinations:
            await admin.call("DELETE", tenant.id, "webhooks", destination_id)
