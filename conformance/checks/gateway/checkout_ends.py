"""GW-CHK-20 and GW-CHK-22: how a checkout ends, if the target claims to follow specification 3.5.

The interface names only the page. A target that claims the option `gateway.checkout` has clients that use the further
calls below it.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from conformance.assertions.gateway.link_status import REPLICA_SECONDS, read_final_status
from conformance.assertions.gateway.refusals import ROW as CODE_ROW
from conformance.assertions.gateway.refusals import Refusal, judge_refusal
from conformance.assertions.gateway.uncounted_payments import ROW as LIST_ROW
from conformance.assertions.gateway.uncounted_payments import Uncounted, judge_listed
from conformance.engine.check import Case, check
from conformance.engine.clock import pass_time
from conformance.engine.exclusive import Exclusive
from conformance.engine.tenant_credentials import Credentials
from conformance.http.client import Answer
from conformance.outcome import Inconclusive
from conformance.pages.view import View
from conformance.surfaces.gateway.administration import administrator
from conformance.surfaces.gateway.calls import CHECKOUT, LINKS, Creation, brief, create, link_body, token_of
from conformance.surfaces.gateway.orders import (
    OpenedLink,
    memo_carrier,
    on_first_lane,
    open_link,
    pay_rightly,
    payer,
    settle_down,
)
from conformance.surfaces.gateway.rate_limited_gateway import LimitedGateway, limited_gateway
from conformance.text.times import utc_time
from conformance.vocabulary.profile_claims import SPECIFICATION, TENANTS

_LIFETIME = 60
# Seconds. Far longer than any time that a gateway waits for a chain's clock to reach the link's end.
_OVER = 3600
# Seconds before a link's end. Longer than everything that the check does afterwards, so that the link is active still.
_SHORTLY = 900
_ROUND_SECONDS, _LOOK_SECONDS = 1.0, 0.2
# The answers while the chain cannot be consulted, and while a payment may be pending (P-CK-07).
_EXPIRED: Final = "payment_link_expired"
_UNAVAILABLE, _PAYMENT_PENDING = 503, b"payment_pending"


@check(
    "GW-CHK-20",
    CODE_ROW,
    surface="gateway",
    exclusive=Exclusive.LIMITS,
    fix="When a link's time is over, look at the chain once more. Then end the link, and hide address and memo.",
)
async def a_link_ends_in_time(case: Case) -> None:
    """An unpaid link whose time is over is expired: its page offers no payment (P-CK-03, P-CK-07).

    Creates a link of a minute and one of a day, and lets an hour pass. Expects of the first within the budget
    (`[budgets] paid`):

    * the status `expired`,
    * 200 for its page, with the word, without address and memo, and not Paid,
    * a client error for cancelling, abandoning and paying it; of a target that claims the specification, 410
      `payment_link_expired` with its `expires_at`.

    If the check has a separate service whose clock it may move, lets time pass until a quarter of an hour before the
    other link's end. Expects the status `active` of that one.
    """
    async with limited_gateway(case) as service:
        tenant = service.lasting_tenant()
        # The least and the greatest lifetime that a link may have (3.4).
        bodies = [link_body(case, tenant, expires_in_seconds=seconds) for seconds in (_LIFETIME, 86_400)]
        short_link, long_link = [await create(case, Creation(LINKS, body, tenant), service.call) for body in bodies]
        # The page is read first, because only its active state shows where the memo is.
        url = f"{service.url}{CHECKOUT}{_require_token(short_link)}"
        before, _ = await case.session.pages.look(case.client, url)
        await service.advance(_OVER)
        start_time = time.monotonic()
        status = await read_final_status(
            case, lambda: service.call("GET", f"{CHECKOUT}{_require_token(short_link)}/status")
        )
        seconds_taken, finding = time.monotonic() - start_time, brief(status)
        is_expired = status.status == 200 and status.read_object().get("status") == "expired"
        case.expect("GW-CHK-20", is_expired, "200 and expired", finding, exchange=status)
        if is_expired:
            faults, page = await _read_ended_page(case, url, before, tenant.payout.values(), "expired")
            requirement = "200, the word expired, and neither address nor memo"
            case.expect("GW-CHK-20", not faults, requirement, faults, exchange=page)
            await _judge_later_calls(case, service, short_link)
        if await _advance_near_end(service, long_link):
            # A gateway ends links in rounds. A link that is ended too early may be ended only in the next round, so the
            # check waits as long as the first link took.
            await asyncio.sleep(seconds_taken + _ROUND_SECONDS)
        if CODE_ROW not in case.judged_rows:
            case.mark_not_applicable(CODE_ROW, "no link expired, which GW-CHK-20 judges")
        lives = await service.call("GET", f"{CHECKOUT}{_require_token(long_link)}/status")
        holds = lives.status == 200 and lives.read_object().get("status") == "active"
        case.expect("GW-CHK-20", holds, "the other link active", brief(lives), exchange=lives)


async def _advance_near_end(service: LimitedGateway, link_answer: Answer) -> bool:
    """Let time pass until shortly before a link's end, and return whether it did.

    No time passes if other clients would notice it, or if the wait is too long.
    """
    end = utc_time(link_answer.read_object().get("expires_at"))
    seconds_left = end.timestamp() - _SHORTLY - service.now if end is not None and service.is_separate else 0.0
    if seconds_left > 0:
        with contextlib.suppress(Inconclusive):
            await service.advance(seconds_left)
            return True
    return False


def _require_token(answer: Answer) -> str:
    token = token_of(answer)
    if token is None:
        raise Inconclusive("a link was created without a token, which GW-LINK-03 judges")
    return token


async def _read_ended_page(
    case: Case, url: str, before: View, addresses: Iterable[str], word: str
) -> tuple[Sequence[str], Answer]:
    """Return the faults of the page of a link that has ended, and the answer that has it.

    Args:
        case: The check that looks.
        url: The page's address.
        before: The page while the link was active.
        addresses: Payout addresses of its tenant.
        word: How it ended; the page has to contain this word, in either spelling.

    Raises:
        Inconclusive: The word is missing, and the page has scripts that no browser ran.
    """

    def says(view: View) -> bool:
        return word in view.text.lower().replace("canceled", "cancelled")

    memo_place = before.bound_element("memo")
    # Many pages label other texts like a memo. So the memo counts only if it was in its bound place, or in the QR code.
    memos = {one.memo for one in before.codes if one.memo} if memo_place is None else {memo_place.text.strip()} - {""}
    address_list, loop = list(addresses), asyncio.get_running_loop()
    # The page may come from a replica that lags behind, so it is read again for some seconds.
    deadline = loop.time() + REPLICA_SECONDS
    while True:
        view, answer = await case.session.pages.look(case.client, url)
        if not says(view) and view.unseen_parts is not None:
            view, answer = await case.session.pages.look_for(case.client, url, says)
        faults = [
            *([] if answer.status == 200 else [f"status {answer.status}"]),
            *([] if says(view) else ["no word of it"]),
            # "paid" occurs in many harmless sentences, so only a state in its bound place counts.
            *(["Paid"] if "state" in view.selectors and view.paid_lines() else []),
            *(["an address"] if any(map(replace(view, selectors={}).shows_address, address_list)) else []),
            *(["the memo"] if any(memo in view.text for memo in memos) else []),
        ]
        if not faults or loop.time() > deadline:
            break
        await asyncio.sleep(_LOOK_SECONDS)
    if answer.status == 200 and not says(view) and view.unseen_parts is not None:
        raise Inconclusive(f"the page of a link that has ended does not say {word} as it was sent: {view.unseen_parts}")
    return faults, answer


async def _judge_later_calls(case: Case, service: LimitedGateway, link_answer: Answer) -> None:
    calls: Mapping[str, Mapping[str, Any]] = {
        "cancel": {"cancel_secret": link_answer.read_object().get("cancel_secret")},
        "abandon": {},
        "verify": {"tx_id": "A" * 52},
    }
    for name, body in calls.items():
        answer = await service.call("POST", f"{CHECKOUT}{_require_token(link_answer)}/{name}", json_body=body)
        holds = 400 <= answer.status < 500
        case.expect("GW-CHK-20", holds, "a client error", brief(answer), exchange=answer, where={"call": name})
        members = {"expires_at": link_answer.read_object().get("expires_at")}
        refusal = Refusal(f"{name} of an expired link", ("POST", f"/{name}", None, {}), 410, _EXPIRED, members)
        judge_refusal(case, refusal, answer)


@check(
    "GW-CHK-20",
    LIST_ROW,
    surface="gateway",
    exclusive=Exclusive.CLOCK,
    fix="Read the link's state when you credit a payment. A link that has ended stays ended, and the tenant must "
    "return a later payment.",
)
async def a_late_payment_leaves_a_link_expired(case: Case) -> None:
    """A payment that arrives after a link's end does not turn it to paid (3.5).

    Creates a link of two minutes, lets its time pass until it is expired, and cancels another link. Then pays both on
    the chain, and after them makes a correct payment for a third link. Expects that the third turns to Paid, and that
    the other two keep their state. Of a target that claims the specification, expects both payments in the list of late
    payments.
    """
    try:
        lane_case = await on_first_lane(case)
        cancelled_link = await open_link(lane_case)
        late_link = await open_link(lane_case, members={"expires_in_seconds": 2 * _LIFETIME})
        # The chain's clock has to pass the link's end as well: a gateway compares `expires_at` with the time of a
        # block.
        await pass_time(lane_case, 2 * _LIFETIME + 1)
    except Inconclusive as reason:
        for row in ("GW-CHK-20", LIST_ROW):
            case.mark_documented(row, f"no link is paid after its time is over: {reason}")
        return
    wallet, url = await payer(lane_case), f"{case.session.gateway}{CHECKOUT}{late_link.order.token}/status"
    status = await read_final_status(case, lambda: case.client.call("GET", url))
    if status.read_object().get("status") != "expired":
        raise Inconclusive(f"a link whose time is over is not expired, which another check judges: {brief(status)}")
    ended_links = {"expired": late_link}
    # A secret never appears in the report, so it is registered before the first call that sends it.
    secret = str(cancelled_link.order.answer.read_object().get("cancel_secret"))
    case.client.names.secret(secret, "CANCEL_SECRET")
    cancel_url = f"{case.session.gateway}{CHECKOUT}{cancelled_link.order.token}"
    cancel_answer = await case.client.call("POST", f"{cancel_url}/cancel", json_body={"cancel_secret": secret})
    if cancel_answer.status < 300:
        ended_links["cancelled"] = cancelled_link
    tx_ids = dict[str, str]()
    for state, link in ended_links.items():
        tx_ids[state] = await wallet.settle(link.bill, memo_carrier(lane_case))
        case.client.names.name(tx_ids[state], "TX_ID")
    await settle_down(await pay_rightly(lane_case, wallet, await open_link(lane_case)))
    for state, link in ended_links.items():
        status = await case.client.call("GET", f"{case.session.gateway}{CHECKOUT}{link.order.token}/status")
        holds, where = status.read_object().get("status") == state, {"payment": f"of a link that was {state} before"}
        case.expect("GW-CHK-20", holds, f"still {state}", brief(status), exchange=status, where=where)
    await _judge_lists(case, ended_links, tx_ids)


async def _judge_lists(case: Case, ended_links: Mapping[str, OpenedLink], tx_ids: Mapping[str, str]) -> None:
    """Judge that the payments of ended links are listed with their reasons (P-CK-10)."""
    if not all(map(case.profile.claims.includes, (SPECIFICATION, TENANTS))) or case.profile.gateway.admin_key is None:
        case.mark_not_applicable(LIST_ROW, "the profile names no administrator of a gateway that claims P-CK-10")
        return
    reasons = {"expired": "after_expiry", "cancelled": "cancelled"}
    for state, link in ended_links.items():
        entry = Uncounted("late", reasons[state], tx_ids[state], link.bill, link.order.answer)
        await judge_listed(case, administrator(case), link.order.tenant.id, entry)


@check(
    "GW-CHK-22",
    surface="gateway",
    # A gateway looks at the chain before it abandons a link, and would find payments that other checks made.
    exclusive=Exclusive.CLOCK,
    fix="Answer POST /checkout/{token}/cancel with the link's cancel_secret, and POST /checkout/{token}/abandon: end "
    "an active link there, and show nothing to pay any more.",
)
async def a_link_is_called_off(case: Case) -> None:
    """An active link is cancelled by its secret, and abandoned without one (P-CK-03, P-CK-07).

    Creates three links. Abandons one with an empty object and one without a body, and cancels one with its secret.
    Expects 200 and `cancelled` of each, `cancelled` as its status, and 200 for its page, with the word, without address
    and memo, and not Paid.

    Then abandons the cancelled link and cancels it again. Expects 200 and `cancelled` for the first call, and 410 for
    the second. While the chain cannot be consulted, nothing is decided.
    """
    tenant = case.session.tenants.get()
    creation = Creation(LINKS, link_body(case, tenant), tenant)
    # Clients send both an empty object and no body at all, and P-CK-07 allows either for abandoning.
    empty_body_link, no_body_link, cancelled_link = [await create(case, creation) for _ in range(3)]
    empty_body: Mapping[str, Any] = {}
    for link_answer, body, body_kind in (
        (empty_body_link, empty_body, "an empty object"),
        (no_body_link, None, "no body"),
    ):
        await _judge_called_off(case, link_answer, "abandon", body, {"call": "abandon", "body": body_kind}, tenant)
    secret = cancelled_link.read_object().get("cancel_secret")
    if not isinstance(secret, str):
        raise Inconclusive("a link was created without a cancel_secret, which GW-LINK-25 judges")
    case.client.names.secret(secret, "CANCEL_SECRET")
    secret_body = {"cancel_secret": secret}
    if not await _judge_called_off(case, cancelled_link, "cancel", secret_body, {"call": "cancel"}, tenant):
        return
    abandon_answer = await _call_off(case, cancelled_link, "abandon", {})
    holds, where = _is_cancelled(abandon_answer), {"call": "abandon", "link": "cancelled"}
    case.expect(
        "GW-CHK-22", holds, "200 and cancelled, as before", brief(abandon_answer), exchange=abandon_answer, where=where
    )
    # The two calls differ on purpose (P-CK-07): abandoning is idempotent for a payer who closes the page twice.
    # Cancelling reports that the link has ended already.
    second_answer = await _call_off(case, cancelled_link, "cancel", secret_body)
    where = {"call": "cancel", "link": "cancelled"}
    case.expect(
        "GW-CHK-22", second_answer.status == 410, "410", brief(second_answer), exchange=second_answer, where=where
    )


async def _judge_called_off(
    case: Case,
    link_answer: Answer,
    call: str,
    body: Mapping[str, Any] | None,
    where: Mapping[str, str],
    tenant: Credentials,
) -> bool:
    """End an active link by a call, judge that its status and page say cancelled, and return whether they do."""
    url = f"{case.session.gateway}{CHECKOUT}{_require_token(link_answer)}"
    before, _ = await case.session.pages.look(case.client, url)
    answer = await _call_off(case, link_answer, call, body)
    holds, finding = _is_cancelled(answer), brief(answer)
    if not case.expect("GW-CHK-22", holds, "200 and cancelled", finding, exchange=answer, where=where):
        return False
    status = await read_final_status(case, lambda: case.client.call("GET", f"{url}/status"))
    is_ended = _is_cancelled(status)
    case.expect("GW-CHK-22", is_ended, "the status cancelled then", brief(status), exchange=status, where=where)
    if is_ended:
        faults, page = await _read_ended_page(case, url, before, tenant.payout.values(), "cancelled")
        requirement = "200, the word cancelled, and neither address nor memo"
        case.expect("GW-CHK-22", not faults, requirement, faults, exchange=page, where=where)
    return is_ended


async def _call_off(case: Case, link_answer: Answer, call: str, body: Mapping[str, Any] | None) -> Answer:
    """End a link by a call. Abandoning is repeated while the gateway cannot determine whether a payment is pending.

    Raises:
        Inconclusive: The gateway could not determine it within the budget.
    """
    loop, url = asyncio.get_running_loop(), f"{case.session.gateway}{CHECKOUT}{_require_token(link_answer)}/{call}"
    # Cancelling is never repeated: a first call may have ended the link although its answer was an error.
    deadline = loop.time() + (case.profile.budgets.paid if call == "abandon" else 0.0)
    retry = False
    while True:
        answer = await case.client.call("POST", url, json_body=body, retry=retry)
        if answer.status != _UNAVAILABLE and not (answer.status == 409 and _PAYMENT_PENDING in answer.body):
            return answer
        if loop.time() >= deadline:
            raise Inconclusive(f"{call} of a link without any payment was answered {brief(answer)}")
        await asyncio.sleep(_ROUND_SECONDS)
        retry = True


def _is_cancelled(answer: Answer) -> bool:
    return answer.status == 200 and answer.read_object().get("status") == "cancelled"
