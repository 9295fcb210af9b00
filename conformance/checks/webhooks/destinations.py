"""WH-DELIV-10 and -11: destinations that must get nothing, where the target claims to follow specification 3.9.

A tenant of the check's own gets destinations of its own, which only an administrator can configure.
"""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from dataclasses import dataclass
from urllib.parse import urlsplit

from conformance.engine.check import Case, check
from conformance.engine.quick import WAITS
from conformance.engine.session import Credentials
from conformance.http.client import Answer
from conformance.outcome import Inconclusive
from conformance.surfaces.gateway.administration import Administrator, administrator
from conformance.surfaces.gateway.calls import short
from conformance.surfaces.gateway.orders import network_of, on_lane, opened, paid_rightly, payer
from conformance.webhook_receiver.receiver import Receiver, bound
from conformance.webhook_receiver.untrusted import Untrusted, untrusted_listener

_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
_HOST, _PATH = "127.0.0.1", "/hooks"
_SETTLE_SECONDS = 1.0
_LOOK_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class _Scene:
    """A tenant with three destinations, all of them the check's own.

    Attributes:
        admin: Who configures them.
        tenant: The tenant.
        kept: A destination that stays; `kept_id` is its id.
        gone: One that is deleted; `gone_id` is its id.
        untrusted: One whose certificate nobody vouches for.
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
    fix="Check a destination's certificate and name on each attempt, and make no delivery to a destination that was "
    "deleted: not by the schedule, and not by a retry, which is refused.",
)
async def some_destinations_get_nothing(case: Case) -> None:
    """Neither a destination whose certificate nobody vouches for nor one that was deleted gets an event.

    Has a tenant made with three destinations on this machine: two by http, and one by https whose certificate it signed
    itself. Pays a link of the tenant and waits for the event at the first two and for a connection at the third;
    deletes the second and asks for both deliveries to be made again. Expects that nothing is sent inside of TLS to the
    third; that the retry to the deleted one is refused; and that it gets nothing more, while the first one does.
    """
    admin = administrator(case)
    if urlsplit(case.session.gateway).hostname not in _LOOPBACK:
        raise Inconclusive("needs a target on this machine: its destinations would be this machine's loopback")
    paying = on_lane(case, case.profile.claims.lanes[0])
    network = network_of(paying)
    async with AsyncExitStack() as exits:
        kept, gone = [await exits.enter_async_context(await Receiver().start(bound(_HOST, 0))) for _ in range(2)]
        untrusted = await exits.enter_async_context(untrusted_listener())
        payout = case.session.tenant_on(network).payout[network]
        tenant = await admin.tenant("Weldproof destinations", {network: payout})
        urls = (*(f"http://{_HOST}:{one.port}{_PATH}" for one in (kept, gone)), untrusted.url)
        ids = [await _destination(admin, tenant, url) for url in urls]
        scene = _Scene(admin, tenant, kept, ids[0], gone, ids[1], untrusted)
        await paid_rightly(paying, await payer(paying), await opened(paying, network=network, tenant=tenant))
        await _await_events(case, scene)
        await _unvouched(case, scene)
        await _deleted(case, scene)


async def _destination(admin: Administrator, tenant: Credentials, url: str) -> str:
    made = await admin.done("POST", tenant.id, "webhooks", body={"url": url})
    named = made.get("destination_id")
    if not isinstance(named, str):
        raise Inconclusive("a destination was made without destination_id")
    return named


async def _await_events(case: Case, scene: _Scene) -> None:
    """Wait for the event where it must come.

    Raises:
        Inconclusive: It did not come there, which WH-DELIV-08 judges.
    """
    for one in (scene.kept, scene.gone):
        if not await one.next(seconds=case.profile.budgets.paid):
            raise Inconclusive("no event came to a destination that was just configured, which WH-DELIV-08 judges")


async def _unvouched(case: Case, scene: _Scene) -> None:
    loop = asyncio.get_running_loop()
    ends = loop.time() + case.profile.budgets.paid
    while not scene.untrusted.met and loop.time() < ends:  # noqa: ASYNC110 - it is met in the midst of a handshake
        await asyncio.sleep(_LOOK_SECONDS)
    await asyncio.sleep(_SETTLE_SECONDS)
    found = f"{scene.untrusted.sent} bytes"
    if not scene.untrusted.met:
        case.inconclusive("WH-DELIV-11", "nobody connected to the destination, so that no certificate was looked at")
        return
    case.expect("WH-DELIV-11", scene.untrusted.sent == 0, "nothing is sent inside of TLS", found)


async def _deleted(case: Case, scene: _Scene) -> None:
    admin, tenant = scene.admin, scene.tenant
    listed = await _listed(admin, tenant.id)
    kept, gone = (_delivery(listed, one) for one in (scene.kept_id, scene.gone_id))
    await admin.done("DELETE", tenant.id, "webhooks", scene.gone_id)
    before, other = len(scene.gone.arrivals), len(scene.kept.arrivals)
    refused = await admin.call("POST", tenant.id, "deliveries", gone, "retry")
    held = 400 <= refused.status < 500
    case.expect("WH-DELIV-10", held, "a client error for the retry", _brief(refused), exchange=refused)
    again = await admin.call("POST", tenant.id, "deliveries", kept, "retry")
    if not 200 <= again.status < 300 or not await scene.kept.next(seconds=case.profile.budgets.paid, after=other):
        raise Inconclusive(
            f"the control, a delivery made again to a destination that stays, did not come: {again.status}"
        )
    await asyncio.sleep(_SETTLE_SECONDS)
    more = len(scene.gone.arrivals) - before
    case.expect("WH-DELIV-10", more == 0, "nothing more at the deleted one", f"{more} requests", exchange=refused)


def _brief(answer: Answer) -> str:
    return f"{answer.status} {short(answer)}"


async def _listed(admin: Administrator, tenant_id: str) -> object:
    """Return the list of a tenant's deliveries: the body itself, or its member `deliveries`."""
    answer = await admin.call("GET", tenant_id, "deliveries")
    if not 200 <= answer.status < 300:
        raise Inconclusive(f"the list of deliveries was answered {_brief(answer)}")
    body = answer.json()
    return body.get("deliveries") if isinstance(body, dict) else body


def _delivery(listed: object, destination: str) -> str:
    """Return the id of the delivery to a destination.

    Raises:
        Inconclusive: The list has none.
    """
    for one in listed if isinstance(listed, list) else []:
        found = one.get("delivery_id") if isinstance(one, dict) and one.get("destination_id") == destination else None
        if isinstance(found, str):
            return found
    raise Inconclusive(
        "the list of deliveries has none with a delivery_id and the destination_id of one that got a delivery"
    )
