"""GW-CHK-20: the end of a checkout, where the target claims to follow specification 3.5.

The interface names the page alone; who claims the option `gateway.checkout` has clients that call what is beside it.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Mapping, Sequence
from typing import Any

from conformance.engine.check import Case, check
from conformance.engine.clock import pass_time
from conformance.http.client import Answer
from conformance.judging.gateway.status import status_at_end
from conformance.outcome import Inconclusive
from conformance.surfaces.gateway.calls import CHECKOUT, LINKS, Creation, brief, created, link_body
from conformance.surfaces.gateway.orders import (
    on_first_lane,
    opened,
    paid_rightly,
    payer,
    settle_down,
    way,
)
from conformance.surfaces.gateway.rate_limited_gateway import LimitedGateway, limited_gateway
from conformance.text.times import utc_time

_LIFETIME = 60
# Well beyond what a gateway may wait for a chain's clock.
_OVER = 3600
# Before a link's end, and longer than all that a check does then.
_SHORTLY = 900
_ROUND_SECONDS = 1.0


@check(
    "GW-CHK-20",
    surface="gateway",
    exclusive="limits",
    fix="Look at the chain once more when a link's time is over, end the link then, and show nothing to pay any more.",
)
async def a_link_ends_in_time(case: Case) -> None:
    """A link whose time is over and that nobody paid is expired: nothing to pay on its page (P-CK-03, P-CK-07).

    Creates a link of a minute and one of a day, and lets an hour pass. Expects within the budget (`[budgets] paid`) the
    status `expired` of the first; 200 for its page, with the word and without address and memo, and not Paid; and a
    client error for cancelling, abandoning and paying it. Where a service of its own has a clock to move, lets time
    pass until a quarter of an hour before the other's end. Expects the status `active` of that one.
    """
    async with limited_gateway(case) as service:
        tenant = service.lasting_tenant()
        bodies = [link_body(case, tenant, expires_in_seconds=seconds) for seconds in (_LIFETIME, 86_400)]
        short_, long_ = [await created(case, Creation(LINKS, body, tenant), service.call) for body in bodies]
        await service.advance(_OVER)
        began = time.monotonic()
        status = await status_at_end(case, lambda: service.call("GET", f"{CHECKOUT}{_token(short_)}/status"))
        took, found = time.monotonic() - began, brief(status)
        expired = status.status == 200 and status.object().get("status") == "expired"
        case.expect("GW-CHK-20", expired, "200 and expired", found, exchange=status)
        if expired:
            await _shows_nothing_to_pay(case, service, short_, tuple(tenant.payout.values()))
            await _takes_nothing(case, service, short_)
        if await _nearly_end(service, long_):
            await asyncio.sleep(took + _ROUND_SECONDS)  # who ends links looks at them now and then
        lives = await service.call("GET", f"{CHECKOUT}{_token(long_)}/status")
        held = lives.status == 200 and lives.object().get("status") == "active"
        case.expect("GW-CHK-20", held, "the other link active", brief(lives), exchange=lives)


async def _nearly_end(service: LimitedGateway, made: Answer) -> bool:
    """Let time pass until shortly before a link's end, and return whether it did.

    None passes where it would pass for others, or is too long to wait.
    """
    end = utc_time(made.object().get("expires_at"))
    left = end.timestamp() - _SHORTLY - service.now if end is not None and service.is_apart else 0.0
    if left > 0:
        with contextlib.suppress(Inconclusive):
            await service.advance(left)
            return True
    return False


def _token(answer: Answer) -> str:
    token = answer.object().get("token")
    if not isinstance(token, str):
        raise Inconclusive("a link was created without a token, which GW-LINK-03 judges")
    return token


async def _shows_nothing_to_pay(case: Case, service: LimitedGateway, made: Answer, addresses: Sequence[str]) -> None:
    url = f"{service.url}{CHECKOUT}{_token(made)}"
    view, answer = await case.session.pages.look(case.client, url)
    shown = [address for address in addresses if address in answer.body.decode("utf-8", "replace")]
    faults = [
        *([] if answer.status == 200 else [f"status {answer.status}"]),
        *([] if "expired" in view.text.lower() else ["no word of it"]),
        *(["Paid"] if view.paid_lines() else []),
        *(["an address"] if shown else []),
        *(["a memo"] if view.memo(_token(made)) else []),
    ]
    expected = "200, the word expired, and neither address nor memo"
    case.expect("GW-CHK-20", not faults, expected, ", ".join(faults), exchange=answer)


async def _takes_nothing(case: Case, service: LimitedGateway, made: Answer) -> None:
    calls: Mapping[str, Mapping[str, Any]] = {
        "cancel": {"cancel_secret": made.object().get("cancel_secret")},
        "abandon": {},
        "verify": {"tx_id": "A" * 52},
    }
    for name, body in calls.items():
        answer = await service.call("POST", f"{CHECKOUT}{_token(made)}/{name}", json_body=body)
        held = 400 <= answer.status < 500
        case.expect("GW-CHK-20", held, "a client error", brief(answer), exchange=answer, where={"call": name})


@check(
    "GW-CHK-20",
    surface="gateway",
    exclusive=True,
    fix="Ask for the link's state where a payment is credited: one that has ended stays as it is, and what comes then "
    "is the tenant's to give back.",
)
async def a_late_payment_leaves_a_link_expired(case: Case) -> None:
    """A payment that comes after a link's end turns nothing to paid (3.5).

    Creates a link of two minutes, lets its time pass until it is expired, and cancels another one; pays both on the
    chain then, and a third one rightly after them. Expects that the third turns to Paid, and the two stay as they are.
    """
    try:
        paying = await on_first_lane(case)
        cancelled = await opened(paying)
        late = await opened(paying, members={"expires_in_seconds": 2 * _LIFETIME})
        await pass_time(case, 2 * _LIFETIME + 1)
    except Inconclusive as reason:
        case.documented("GW-CHK-20", f"no link is paid after its time is over: {reason}")
        return
    who, url = await payer(paying), f"{case.session.gateway}{CHECKOUT}{late.order.token}/status"
    status = await status_at_end(case, lambda: case.client.call("GET", url))
    if status.object().get("status") != "expired":
        raise Inconclusive(f"a link whose time is over is not expired, which is judged beside this: {brief(status)}")
    ended = {"expired": late}
    secret = str(cancelled.order.answer.object().get("cancel_secret"))
    case.client.names.secret(secret, "CANCEL_SECRET")
    at = f"{case.session.gateway}{CHECKOUT}{cancelled.order.token}"
    off = await case.client.call("POST", f"{at}/cancel", json_body={"cancel_secret": secret})
    if off.status < 300:
        ended["cancelled"] = cancelled
    for link in ended.values():
        case.client.names.name(await who.settle(link.bill, way(paying)), "TX_ID")
    await settle_down(await paid_rightly(paying, who, await opened(paying)))
    for state, link in ended.items():
        status = await case.client.call("GET", f"{case.session.gateway}{CHECKOUT}{link.order.token}/status")
        held, where = status.object().get("status") == state, {"payment": f"of a link that was {state} before"}
        case.expect("GW-CHK-20", held, f"still {state}", brief(status), exchange=status, where=where)
