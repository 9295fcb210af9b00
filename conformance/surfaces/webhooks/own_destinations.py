"""Destinations of a tenant of the suite's own, which an administrator can configure (specification 3.9)."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from conformance.engine.check import Case
from conformance.engine.session import Credentials
from conformance.outcome import Inconclusive
from conformance.surfaces.gateway.administration import Administrator, administrator
from conformance.surfaces.gateway.orders import Opened, network_of, opened, payer, way
from conformance.surfaces.webhooks.sales import drawing
from conformance.webhook_receiver.inbox import Received
from conformance.webhook_receiver.receiver import Arrival, Receiver, Reply, bound

_LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})
_HOST: Final = "127.0.0.1"
_KEPT, _GONE = "/hooks/kept", "/hooks/gone"
_NAME: Final = "a deleted destination"
# A sender notes within this what came of an attempt, and one that it has begun arrives.
_NOTING_SECONDS, _UNDER_WAY_SECONDS = 0.3, 1.0


def unavailable(case: Case) -> str | None:
    """Return why no tenant of the suite's own can have a destination on this machine, None where one may."""
    if "gateway.tenants" not in case.profile.claims.options or case.profile.gateway.admin_key is None:
        return "the profile names no administrator of a gateway with the option gateway.tenants"
    if urlsplit(case.session.gateway).hostname not in _LOOPBACK:
        return "the target is elsewhere, and its destinations would be this machine's loopback"
    return None


def tells_of(arrival: Arrival, link: Opened) -> bool:
    """Return whether something that arrived says that a link's payment is confirmed."""
    one = received(arrival)
    return one.confirms and one.tells_of((link.order.mark, link.order.token))


def received(arrival: Arrival) -> Received:
    """Return something that arrived, to be read."""
    return Received(0, None, arrival, arrival.at)


@dataclass(frozen=True, slots=True)
class Deleted:
    """Two destinations of one tenant, to both of which a first delivery failed before one of them was deleted.

    Attributes:
        receiver: Where both are.
        sold: A link that was paid before the deletion; its first delivery was answered with 500 at both.
        waiting: A link of the tenant that nobody has paid.
        at: When the deletion was answered, on the monotonic clock, in seconds.
    """

    receiver: Receiver
    sold: Opened
    waiting: Opened
    at: float

    async def kept_hears(self, link: Opened, *, seconds: float, count: int = 1) -> bool:
        """Return whether the destination that stays gets so many deliveries of a link within some seconds."""
        found = await self.receiver.next(
            lambda one: one.path == _KEPT and tells_of(one, link), seconds=seconds, count=count
        )
        return len(found) >= count

    def late(self, link: Opened) -> int:
        """Return how many deliveries of a link came to the deleted destination that were not under way already."""
        since = self.at + _UNDER_WAY_SECONDS
        return sum(
            one.path == _GONE and one.monotonic > since and tells_of(one, link) for one in self.receiver.arrivals
        )


async def deleted_destination(case: Case) -> Deleted | None:
    """Return the two destinations, made once in this run on the case's lane; None where they cannot be had."""
    found: Deleted | None = await case.session.once(_NAME, lambda: _made(drawing(case, _NAME)))
    return found


async def _made(case: Case) -> Deleted | None:
    reason = unavailable(case)
    if reason is None:
        try:
            return await _deleted(case)
        except Inconclusive as fault:
            reason = str(fault)
    case.note(f"no destination was deleted between two attempts: {reason}")
    return None


async def _deleted(case: Case) -> Deleted:
    admin, network = administrator(case), network_of(case)
    receiver = await Receiver().start(bound(_HOST, 0))
    case.session.kept.push_async_callback(receiver.close)
    payout = case.session.tenant_on(network).payout[network]
    tenant = await admin.tenant("Weldproof deleted destination", {network: payout})
    ids = [await _destination(admin, tenant, f"http://{_HOST}:{receiver.port}{path}") for path in (_KEPT, _GONE)]
    sold, waiting = [await opened(case, network=network, tenant=tenant) for _ in range(2)]
    failed: set[str] = set()

    def plan(arrival: Arrival) -> Reply:
        """Let the first delivery of the sale fail at each of the two."""
        if arrival.path in failed or not tells_of(arrival, sold):
            return Reply()
        failed.add(arrival.path)
        return Reply(500)

    receiver.plan = plan
    await (await payer(case)).settle(sold.bill, way(case))
    for path in (_KEPT, _GONE):
        if not await receiver.next(lambda _, path=path: path in failed, seconds=case.profile.budgets.paid):  # type: ignore[misc]
            raise Inconclusive("no event came to a destination that was just configured, which WH-DELIV-08 judges")
    await asyncio.sleep(_NOTING_SECONDS)
    await admin.done("DELETE", tenant.id, "webhooks", ids[1])
    return Deleted(receiver, sold, waiting, time.monotonic())


async def _destination(admin: Administrator, tenant: Credentials, url: str) -> str:
    made = await admin.done("POST", tenant.id, "webhooks", body={"url": url})
    named = made.get("destination_id")
    if not isinstance(named, str):
        raise Inconclusive("a destination was made without destination_id")
    return named
