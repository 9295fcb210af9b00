"""GW-CHK-19 and -20: the calls and the end of a checkout, where the target claims to follow specification 3.5.

The interface names the page alone; who claims the option `gateway.checkout` has clients that call what is beside it.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from conformance.engine.check import Case, check
from conformance.engine.clock import pass_time
from conformance.http.client import Answer
from conformance.judging.gateway.status import ATTESTED, paid_status
from conformance.oracles import jose
from conformance.outcome import Inconclusive
from conformance.surfaces.gateway.calls import CHECKOUT, LINKS, Creation, created, link_body, short
from conformance.surfaces.gateway.orders import (
    Opened,
    flip,
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
_LOOK_SECONDS = 0.3
_ROUND_SECONDS = 1.0


@check(
    "GW-CHK-19",
    surface="gateway",
    lane="each",
    fix="Answer GET /checkout/{token}/status from the stored payment, with its attestation, and the same to whoever "
    "shows the paying transaction.",
)
async def the_status_tells_of_the_payment(case: Case) -> None:
    """The status of a link says active, and once it is paid its transaction and attestation (P-CK-05, P-CK-06).

    Reads the status of a link, cancels it with wrong secrets, pays it, reads the status until it is paid, looks at the
    page, and shows the paying transaction to the gateway. Expects `active` without a transaction; client errors, and
    that it is active still; then `paid` with the transaction's id and the settlement attestation, as an object and as a
    compact JWS that holds the same, and never `paid` without either an attestation or a page that says so; and the same
    attestation with 200 for the transaction that is shown. Then abandons and cancels the link. Expects client errors,
    and that it is still paid.
    """
    who, link = await payer(case), await opened(case)
    url = f"{case.session.gateway}{CHECKOUT}{link.order.token}"
    before = await case.client.call("GET", f"{url}/status")
    members = before.object()
    held = before.status == 200 and members.get("status") == "active" and members.get("tx_id", "") is None
    held = held and members.get("redirect_url", "") is None
    case.expect("GW-CHK-19", held, "200, active and no transaction", _brief(before), exchange=before)
    if not await _wants_its_secret(case, link, url):
        return
    tx_id = await who.settle(link.bill, way(case))
    case.client.names.name(tx_id, "TX_ID")
    turned = await _turns_paid(case, link, url)
    if not turned and way(case) is None:
        raise Inconclusive("the page did not turn to Paid, which GW-CHK-09 judges: how a memo is carried is not bound")
    after = await paid_status(case, link) or before
    members = after.object()
    paid = after.status == 200 and members.get("status") == "paid" and _same_id(members.get("tx_id"), tx_id)
    case.expect("GW-CHK-19", paid, "200, paid and the transaction", _brief(after), exchange=after)
    if not turned and not paid:
        return
    fault = _unattested(members)
    case.expect("GW-CHK-19", fault is None, "the settlement attestation, twice the same", fault, exchange=after)
    shown = await case.client.call("POST", f"{url}/verify", json_body={"tx_id": tx_id})
    told = shown.object()
    held = shown.status == 200 and told.get("status") == "paid"
    held = held and all(name in told and told[name] == members.get(name) for name in ATTESTED)
    expected = "200 with the same attestation for the transaction that paid"
    case.expect("GW-CHK-19", held, expected, _brief(shown), exchange=shown)
    await _stays_paid(case, link, url)


async def _wants_its_secret(case: Case, link: Opened, url: str) -> bool:
    """Call an active link off with what is not its secret; it stays active. Returns whether it did."""
    given = link.order.answer.object().get("cancel_secret")
    secret = given if isinstance(given, str) and len(given) > 1 else secrets.token_urlsafe(32)
    wrong = secret[:-2] + ("AA" if secret[-2] != "A" else "BB")
    case.client.names.secret(secret, "CANCEL_SECRET")
    case.client.names.secret(wrong, "WRONG_CANCEL_SECRET")
    bodies: Mapping[str, Mapping[str, Any]] = {
        "a wrong one": {"cancel_secret": wrong},
        "an empty one": {"cancel_secret": ""},
        "none": {},
    }
    for what, body in bodies.items():
        answer = await case.client.call("POST", f"{url}/cancel", json_body=body)
        after = await case.client.call("GET", f"{url}/status")
        held = 400 <= answer.status < 500 and after.object().get("status") == "active"
        found, where = f"{answer.status}, then {_brief(after)}", {"call": "cancel", "secret": what}
        if not case.expect("GW-CHK-19", held, "a client error, still active", found, exchange=answer, where=where):
            return False
    return True


async def _turns_paid(case: Case, link: Opened, url: str) -> bool:
    """Wait until a link is paid, judge the first status that says so, and return whether its page does in the end.

    An attestation may come a moment after it, or the page: of a payment that is not final yet, both are missing.
    """
    loop = asyncio.get_running_loop()
    ends = loop.time() + case.profile.budgets.paid
    status = await _status_at_end(case, lambda: case.client.call("GET", f"{url}/status"))
    early = status.object().get("status") == "paid"
    done = await flip(case, link, seconds=0 if early else max(0.0, ends - loop.time()))
    if early:
        unattested = _unattested(status.object())
        held = unattested is None or done is not None
        found = (
            f"a page that is {'not ' if done is None else ''}Paid, and as attestation {unattested or 'the right one'}"
        )
        expected, where = "an attestation, or a page that is Paid", {"status": "the first that says paid"}
        case.expect("GW-CHK-19", held, expected, found, exchange=status, where=where)
    return done is not None or (early and await flip(case, link) is not None)


async def _stays_paid(case: Case, link: Opened, url: str) -> None:
    """Call a paid link off, as a payer and as its tenant; it stays paid."""
    secret = link.order.answer.object().get("cancel_secret")
    case.client.names.secret(str(secret), "CANCEL_SECRET")
    calls: Mapping[str, Mapping[str, Any]] = {"abandon": {}, "cancel": {"cancel_secret": secret}}
    for name, body in calls.items():
        answer = await case.client.call("POST", f"{url}/{name}", json_body=body)
        after = await case.client.call("GET", f"{url}/status")
        held = 400 <= answer.status < 500 and after.object().get("status") == "paid"
        found = f"{answer.status}, then {_brief(after)}"
        case.expect("GW-CHK-19", held, "a client error, still paid", found, exchange=answer, where={"call": name})


def _same_id(told: object, tx_id: str) -> bool:
    return isinstance(told, str) and (told == tx_id or (tx_id.startswith("0x") and told.lower() == tx_id.lower()))


def _brief(answer: Answer) -> str:
    return f"{answer.status} {short(answer)}"


def _unattested(members: Mapping[str, Any]) -> str | None:
    """Return what is wrong with an attestation, None where it says the same as an object and as a JWS."""
    told, token = (members.get(name) for name in ATTESTED)
    if not isinstance(told, dict) or not isinstance(token, str):
        return "none"
    try:
        return None if jose.parse(token).claims() == told else "two that differ"
    except jose.JwsFault as fault:
        return f"the JWS: {fault}"


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
        status = await _status_at_end(case, lambda: service.call("GET", f"{CHECKOUT}{_token(short_)}/status"))
        took, found = time.monotonic() - began, _brief(status)
        expired = status.status == 200 and status.object().get("status") == "expired"
        case.expect("GW-CHK-20", expired, "200 and expired", found, exchange=status)
        if expired:
            await _shows_nothing_to_pay(case, service, short_, tuple(tenant.payout.values()))
            await _takes_nothing(case, service, short_)
        if await _nearly_end(service, long_):
            await asyncio.sleep(took + _ROUND_SECONDS)  # who ends links looks at them now and then
        lives = await service.call("GET", f"{CHECKOUT}{_token(long_)}/status")
        held = lives.status == 200 and lives.object().get("status") == "active"
        case.expect("GW-CHK-20", held, "the other link active", _brief(lives), exchange=lives)


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


async def _status_at_end(case: Case, status: Callable[[], Awaitable[Answer]]) -> Answer:
    """Read a link's status until it is not active any more, or the budget is spent."""
    loop = asyncio.get_running_loop()
    ends = loop.time() + case.profile.budgets.paid
    while True:
        answer = await status()
        if answer.object().get("status") != "active" or loop.time() > ends:
            return answer
        await asyncio.sleep(_LOOK_SECONDS)


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
        case.expect("GW-CHK-20", held, "a client error", _brief(answer), exchange=answer, where={"call": name})


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
    status = await _status_at_end(case, lambda: case.client.call("GET", url))
    if status.object().get("status") != "expired":
        raise Inconclusive(f"a link whose time is over is not expired, which is judged beside this: {_brief(status)}")
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
        case.expect("GW-CHK-20", held, f"still {state}", _brief(status), exchange=status, where=where)
