"""GW-IDEM, GW-CHK, GW-AUTH and GW-RCPT: what a restart of the gateway must not change.

An Idempotency-Key stays bound, a link stays open and can be paid, a revoked key stays revoked, and an earlier signature
of the platform still verifies.

The interface limits the window of an Idempotency-Key to 24 hours and by nothing else (P-ID-02). It ends a link only by
its states (3.5).
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final, TypeAlias

from conformance.assertions.gateway.link_status import judge_same_status, read_paid_status
from conformance.assertions.gateway.originals import judge_nothing_second, judge_original
from conformance.engine.check import Case, check
from conformance.engine.concurrent_check_steps import run_concurrently
from conformance.engine.exclusive import Exclusive
from conformance.engine.quick_policy import OWN_PROCESSES
from conformance.http.client import Answer
from conformance.oracles import jose
from conformance.oracles.ed25519_keys import keys_of_jwks
from conformance.outcome import Inconclusive
from conformance.receipts.live_mutations import Vector
from conformance.receipts.verifier import describe, fetch_key_document, find_verifier, needs_platform
from conformance.surfaces.gateway.administration import create_tenant_with_two_keys
from conformance.surfaces.gateway.calls import (
    LINKS,
    OPEN_PATH,
    RESOURCES,
    Creation,
    brief,
    create,
    is_created,
    is_rejected,
    link_body,
    name_live_values,
    new_text,
    payable,
    post,
    resource_body,
    send_plain_link,
    short,
    target_of,
)
from conformance.surfaces.gateway.orders import (
    OpenedLink,
    look,
    look_again,
    memo_carrier,
    network_of,
    on_first_lane,
    open_link,
    pay_rightly,
    payer,
    wait_for_paid,
)
from conformance.surfaces.restarts import leave_without_restart, ready_for_restart, restart_command, start_again

JudgeAfterwards: TypeAlias = Callable[[], Awaitable[None]]

_LINK_ROW, _RESOURCE_ROW, _CHANGED_BODY_ROW = "GW-IDEM-03", "GW-IDEM-04", "GW-IDEM-06"
_PAYMENT_ROW, _STAYS_PAID_ROW, _STATUS_ROW = "GW-CHK-09", "GW-CHK-16", "GW-CHK-19"
_REVOKED_KEY_ROW = "GW-AUTH-03"
_RECORD_ROW = "GW-RES-05"
_AMOUNT_ROW, _ADDRESS_ROW, _ACCEPTED_KEY_ROW = "GW-CHK-04", "GW-CHK-06", "GW-AUTH-06"
_RECEIPT_ROW, _KEY_SET_ROW = "GW-RCPT-01", "GW-RCPT-14"
# Seconds from one payment to the next during the restart, which may take a second or a minute. They double, so that
# some payments fall into either.
_PAUSES: Final = (0.3, 0.6, 1.2, 2.4)
# An amount of odd micro-units that needs 27 bits. A 32-bit float has 24, so a store in that type changes the amount.
_LARGE: Final = 100_663_297


@check(
    _LINK_ROW,
    _RESOURCE_ROW,
    _RECORD_ROW,
    _CHANGED_BODY_ROW,
    _AMOUNT_ROW,
    _ADDRESS_ROW,
    _PAYMENT_ROW,
    _STAYS_PAID_ROW,
    _STATUS_ROW,
    _ACCEPTED_KEY_ROW,
    _REVOKED_KEY_ROW,
    _RECEIPT_ROW,
    _KEY_SET_ROW,
    surface="gateway",
    exclusive=Exclusive.RESTART,
    fix="Keep links, payments, keys, the signing key and the answers under an Idempotency-Key on disk. After a start "
    "watch every active link, and search the chain from where the last search ended.",
    quick=OWN_PROCESSES,
)
async def a_restart_forgets_no_link(case: Case) -> None:
    """After a restart keys return the original, links stay as they were, and deleted keys stay deleted.

    Creates two links and a resource, each with an Idempotency-Key. Pays one link and opens another. If the profile has
    an administrator's key, creates two API keys and deletes one of them. Restarts the gateway by the profile's command,
    and pays further links until it answers again.

    Then repeats the first call and the resource's, sends another body under the key of the second, and reads the
    resource if the target claims that. Looks at the paid page and its status, pays the open link, calls with the two
    API keys, and presents a receipt that the platform signed before.

    Expects:

    * the originals, and for the other body a refusal or the original,
    * Paid, with the same transaction and attestation,
    * Paid for the open link, and for those that were paid during the restart, within the budget (`[budgets] paid`),
    * a client error for the deleted key, and a link for the other,
    * that the receipt verifies with the published keys, and the attestation too if it did before.
    """
    words = restart_command(case, "gateway")
    if words is None:
        leave_without_restart(case, "gateway")
        return
    parts = (
        (_prepare_links, (_LINK_ROW, _CHANGED_BODY_ROW)),
        (_prepare_resource, (_RESOURCE_ROW, _RECORD_ROW)),
        (_prepare_payments, (_PAYMENT_ROW, _STAYS_PAID_ROW, _STATUS_ROW, _AMOUNT_ROW, _ADDRESS_ROW)),
    )
    # Each part prepares its state before the restart, and returns the function that judges it afterwards. So one
    # restart serves all rows.
    then: list[JudgeAfterwards] = []
    for prepare, rows in (
        *parts,
        (_prepare_keys, (_REVOKED_KEY_ROW, _ACCEPTED_KEY_ROW)),
        (_prepare_receipt, (_RECEIPT_ROW, _KEY_SET_ROW)),
    ):
        # A gateway whose links cannot be paid here, say, is judged by the rest all the same.
        try:
            then.append(await prepare(case))
        except Inconclusive as reason:
            for row in rows:
                case.mark_inconclusive(row, str(reason))
    then.append(await _restart_and_pay(case, words))
    for judge in then:
        await judge()


async def _prepare_links(case: Case) -> JudgeAfterwards:
    tenant, where = case.session.tenants.get(), {"restart": "after the first call"}
    # Two keys, because a changed body may be answered with the original, which would disturb the plain repeat.
    repeated_creation, changed_creation = (
        Creation(LINKS, link_body(case, tenant), tenant, new_text(case)) for _ in range(2)
    )
    originals = [await create(case, one) for one in (repeated_creation, changed_creation)]
    bindings = case.profile.gateway_bindings
    other_body = Creation(
        LINKS, {**changed_creation.body, "amount": payable(bindings, 2.5)}, tenant, changed_creation.key
    )

    async def judge() -> None:
        answer = name_live_values(case, await post(target_of(case), repeated_creation))
        judge_original(case, _LINK_ROW, repeated_creation, originals[0], answer, where)
        answer = name_live_values(case, await post(target_of(case), other_body))
        judge_nothing_second(case, _CHANGED_BODY_ROW, changed_creation, originals[1], answer, where)

    return judge


async def _prepare_resource(case: Case) -> JudgeAfterwards:
    tenant = case.session.tenants.get()
    creation = Creation(RESOURCES, resource_body(case), tenant, new_text(case))
    original = await create(case, creation)
    before = await _read_record(case, creation)

    async def judge() -> None:
        answer = name_live_values(case, await post(target_of(case), creation))
        judge_original(case, _RESOURCE_ROW, creation, original, answer, {"restart": "after the first call"})
        await _judge_same_record(case, creation, before)

    return judge


async def _read_record(case: Case, creation: Creation) -> Answer | None:
    """Read a resource. None if the target does not claim such a call, or has another name for it."""
    name = creation.body.get("resource_id")
    if not case.profile.claims.includes("gateway.records") or not isinstance(name, str):
        return None
    return await target_of(case)("GET", f"{RESOURCES}/{name}", headers=creation.tenant.headers)


async def _judge_same_record(case: Case, creation: Creation, before: Answer | None) -> None:
    record = await _read_record(case, creation)
    if before is None or record is None or before.status != 200:
        case.mark_not_applicable(
            _RECORD_ROW, "the profile does not claim the option gateway.records, or a resource is not read"
        )
        return
    holds, where = (
        record.status == 200 and record.read_object() == before.read_object(),
        {"restart": "after it was created"},
    )
    case.expect(_RECORD_ROW, holds, "the record as before", brief(record), exchange=record, where=where)


async def _prepare_payments(case: Case) -> JudgeAfterwards:
    """Pay one link, which proves that links can be paid in this way, and open another."""
    lane_case = await on_first_lane(case)
    wallet = await payer(lane_case)
    paid_link, unpaid_link = await open_link(lane_case), await open_link(lane_case)
    open_links = [unpaid_link, *await _open_large_link(lane_case)]
    await pay_rightly(lane_case, wallet, paid_link)
    before = await read_paid_status(lane_case, paid_link)
    # A target whose attestation never verified is judged by another check, not by its restart.
    is_verified = before is not None and _has_valid_attestation(before, await fetch_key_document(case))

    async def judge() -> None:
        view, answer = await look_again(lane_case, paid_link)
        is_paid = bool(view.turned_paid(paid_link.before))
        where = {"restart": "after the payment"}
        lane_case.expect(_STAYS_PAID_ROW, is_paid, "Paid on later reads", view.text[:200], exchange=answer, where=where)
        await judge_same_status(lane_case, paid_link, before, {"restart": "after the payment"})
        if is_verified and before is not None:
            holds, requirement = (
                _has_valid_attestation(before, await fetch_key_document(case)),
                "the attestation verifies after a restart",
            )
            finding = "it does" if holds else "it does not"
            lane_case.expect(_STATUS_ROW, holds, requirement, finding, exchange=before, where=where)
        for link in open_links:
            await _judge_same_page(lane_case, link)
        await wallet.settle(unpaid_link.bill, memo_carrier(lane_case))
        transition, budget = await wait_for_paid(lane_case, unpaid_link), lane_case.profile.budgets.paid
        finding = "not Paid" if transition is None else "Paid"
        where = {"restart": "before the payment"}
        lane_case.expect(
            _PAYMENT_ROW,
            transition is not None,
            f"Paid within {budget:g} s",
            finding,
            exchange=unpaid_link.page,
            where=where,
        )

    return judge


async def _open_large_link(case: Case) -> list[OpenedLink]:
    """Open a link of an amount that no short float holds, of the last tenant on the network, else of the first."""
    tenants = case.session.tenants.find_all_on(network_of(case))
    for tenant in dict.fromkeys((tenants[-1].name, tenants[0].name)):
        with contextlib.suppress(Inconclusive):
            return [await open_link(case, tenant=case.session.tenants.get(tenant), microunits=_LARGE)]
    return []


async def _judge_same_page(case: Case, link: OpenedLink) -> None:
    """Judge that an open link's page still shows amount and address, as far as it did before."""
    link_order, before = link.order, link.before
    view, answer = await look(case, link_order, whole=True)
    where = {"restart": "before the payment"}
    if before.shown_amount(link_order.microunits) is not None:
        shown_amount = view.shown_amount(link_order.microunits)
        requirement, finding = (
            f"exactly {link_order.microunits} micro-units",
            "another amount" if shown_amount is None else shown_amount,
        )
        case.expect(_AMOUNT_ROW, shown_amount is not None, requirement, finding, exchange=answer, where=where)
    if before.shows_address(link_order.payout):
        shows_address, requirement = view.shows_address(link_order.payout), f"the payout address {link_order.payout}"
        case.expect(
            _ADDRESS_ROW,
            shows_address,
            requirement,
            link_order.payout if shows_address else "another",
            exchange=answer,
            where=where,
        )


async def _restart_and_pay(case: Case, words: Sequence[str]) -> JudgeAfterwards:
    """Restart the gateway, and pay links until it answers again, some of them while it is down."""
    try:
        lane_case = await on_first_lane(case)
        wallet, links = await payer(lane_case), [await open_link(lane_case) for _ in range(1 + len(_PAUSES))]
    except Inconclusive as reason:
        await ready_for_restart(case)
        await start_again(case, words, case.session.gateway + OPEN_PATH)
        case.mark_inconclusive(_PAYMENT_ROW, str(reason))
        return _judge_nothing
    # Nothing can be paid, but the gateway has to restart all the same: the other rows of this check are about it.
    await ready_for_restart(case)
    # The first payment is sent together with the stop command, the others at growing distances from it.
    payments = [asyncio.create_task(wallet.settle(links[0].bill, memo_carrier(lane_case)))]

    async def pay() -> None:
        for link, pause in zip(links[1:], _PAUSES, strict=True):
            await asyncio.sleep(pause)
            payments.append(asyncio.create_task(wallet.settle(link.bill, memo_carrier(lane_case))))

    pay_task = asyncio.create_task(pay())
    try:
        await start_again(case, words, case.session.gateway + OPEN_PATH)
    finally:
        # The gateway answers again, so payments that are not sent yet would no longer test the restart.
        pay_task.cancel()
        results = await asyncio.gather(*payments, return_exceptions=True)
    paid_links = [link for link, one in zip(links, results, strict=False) if isinstance(one, str)]

    async def judge() -> None:
        if not paid_links:
            reason = next((str(one) for one in results if isinstance(one, Inconclusive)), "no payment was made")
            case.mark_inconclusive(_PAYMENT_ROW, f"during the restart of the gateway: {reason}")
        budget, where = lane_case.profile.budgets.paid, {"restart": "during the payment"}
        for link, transition in zip(
            paid_links, await run_concurrently(wait_for_paid(lane_case, one) for one in paid_links), strict=True
        ):
            finding = "not Paid" if transition is None else "Paid"
            requirement = f"Paid within {budget:g} s"
            lane_case.expect(
                _PAYMENT_ROW, transition is not None, requirement, finding, exchange=link.page, where=where
            )

    return judge


def _has_valid_attestation(status: Answer, document: Any) -> bool:
    """Return whether the attestation of a status verifies with a key set."""
    token = status.read_object().get("settlement_attestation_jws")
    return isinstance(token, str) and jose.fault_of(token, keys_of_jwks(document)) is None


async def _prepare_receipt(case: Case) -> JudgeAfterwards:
    """Obtain a receipt that the platform signed, and the key set that verifies it."""
    hosted_verifier = await find_verifier(case)
    token, where = needs_platform(hosted_verifier), {"receipt": "signed before a restart"}
    is_verified = jose.fault_of(token, keys_of_jwks(await fetch_key_document(case))) is None

    async def judge() -> None:
        answer = await hosted_verifier.present(
            case, Vector("the platform's, from before", _RECEIPT_ROW, token, valid=True)
        )
        holds = answer.status == 200 and bool(answer.read_object())
        case.expect(_RECEIPT_ROW, holds, "200 with a report", describe(answer), exchange=answer, where=where)
        if not is_verified:
            case.mark_inconclusive(_KEY_SET_ROW, "no published key verified the receipt before the restart")
            return
        fault = jose.fault_of(token, keys_of_jwks(await fetch_key_document(case)))
        case.expect(_KEY_SET_ROW, fault is None, "verifies with the published key set", fault, where=where)

    return judge


async def _prepare_keys(case: Case) -> JudgeAfterwards:
    """Create a tenant with a second key, delete that key, and create a third one."""
    keys = await create_tenant_with_two_keys(case, "Weldproof restart")
    if keys is None:
        for row in (_REVOKED_KEY_ROW, _ACCEPTED_KEY_ROW):
            case.mark_not_applicable(
                row, "the profile names no administrator of a gateway with the option gateway.tenants"
            )
        return _judge_nothing
    await keys.delete()
    if not is_rejected(early_answer := await send_plain_link(case, keys.second)):
        raise Inconclusive(
            f"a deleted key is answered {early_answer.status} before any restart, which {_REVOKED_KEY_ROW} judges"
        )
    further_key = await keys.add_key()
    if not is_created(case, early_answer := await send_plain_link(case, further_key)):
        raise Inconclusive(f"a further key is answered {early_answer.status} before any restart: {short(early_answer)}")

    async def judge() -> None:
        answer = await send_plain_link(case, keys.second)
        finding, where = brief(answer), {"key": "deleted before the restart"}
        case.expect(_REVOKED_KEY_ROW, is_rejected(answer), "a client error", finding, exchange=answer, where=where)
        for tenant, kind in ((keys.first, "tenant"), (further_key, "key")):
            answer = await send_plain_link(case, tenant)
            finding, where = brief(answer), {kind: "made before the restart"}
            case.expect(_ACCEPTED_KEY_ROW, is_created(case, answer), "a link", finding, exchange=answer, where=where)

    return judge


async def _judge_nothing() -> None:
    """Judge nothing."""
