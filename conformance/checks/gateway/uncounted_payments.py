"""GW-PAY-01: the list of payments that count for no link, if the target claims to follow P-CK-10."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from conformance.assertions.gateway.uncounted_payments import ROW, Uncounted, judge_listed, read_payments
from conformance.engine.check import Case, check
from conformance.engine.exclusive import Exclusive
from conformance.engine.tenant_credentials import Credentials
from conformance.lanes.checkout_request import MEMO_WAYS, CheckoutPayer, CheckoutRequest
from conformance.outcome import Inconclusive
from conformance.surfaces.gateway.administration import Administrator, administrator
from conformance.surfaces.gateway.calls import CHECKOUT, LINKS, Creation, brief, create, link_body, token_of
from conformance.surfaces.gateway.orders import (
    OpenedLink,
    cancel_order,
    memo_carrier,
    network_of,
    odd_amount,
    on_first_lane,
    open_link,
    pay_rightly,
    payer,
    wait_for_paid,
)
from conformance.surfaces.gateway.rate_limited_gateway import LimitedGateway, limited_gateway
from conformance.vocabulary.profile_claims import TENANTS

_FIX: Final = (
    "Watch a link for a day after its end. List each payment to its address that counts for no link, to the tenant of "
    "the link, with the state and the reason of P-CK-10."
)
# Payments in an asset that carries the memo as a payment would, by the name of the way.
_LOOK_ALIKES: Final = frozenset({"an asset of the same unit name", "a look-alike token"})
# Seconds between two payments of one state, so that it is clear which of them is newer.
_APART: Final = 1.2
# The least lifetime of a link, and a time after its end at which it is watched still (P-CK-10).
_LIFETIME: Final = 60
_STILL_WATCHED: Final = 72_000.0


@dataclass(frozen=True, slots=True)
class _Shop:
    """A new tenant, its administrator, and the payer of its links."""

    case: Case
    admin: Administrator
    tenant: Credentials
    wallet: CheckoutPayer

    async def open(self) -> OpenedLink:
        return await open_link(self.case, microunits=odd_amount(self.case), tenant=self.tenant)

    async def pay(self, bill: CheckoutRequest, way: str | None = None) -> str:
        return await self._keep(self.wallet.settle(bill, way or memo_carrier(self.case)))

    async def pay_again(self, bill: CheckoutRequest) -> str:
        return await self._keep(self.wallet.settle_again(bill, memo_carrier(self.case)))

    async def pay_other_asset(self, bill: CheckoutRequest) -> str:
        ways = [way for way in await self.wallet.list_other_assets(bill) if way.name in _LOOK_ALIKES]
        if not ways:
            raise Inconclusive("this lane has no payment in another asset that carries the memo")
        return await self._keep(ways[0].pay(bill))

    async def _keep(self, payment: Any) -> str:
        """Make a payment that counts for no link, and return its id."""
        with self.case.session.stray_payments.collect_for(self.case.check.id) as stray_ids:
            tx_id = str(await payment)
            stray_ids.update(self.wallet.list_group(tx_id))
        self.case.client.names.name(tx_id, "TX_ID")
        return tx_id

    async def show(self, link: OpenedLink, tx_id: str) -> None:
        """Show a payment to the gateway, which then lists it at once."""
        url = f"{self.case.session.gateway}{CHECKOUT}{link.order.token}"
        await self.case.client.call("POST", f"{url}/verify", json_body={"tx_id": tx_id})


@check(ROW, surface="gateway", lane="each", fix=_FIX)
async def payments_that_count_for_no_link_are_listed(case: Case) -> None:
    """Each payment that counts for no link is listed to its tenant, with its state and reason (P-CK-10).

    Creates a tenant and pays its links: one that was cancelled, one twice, one with more, one with less, one in another
    asset, and one under the memos of two links.

    Expects:

    * the payment of more turns its link to paid,
    * each payment in the list of its state, with the reason, the asset, the amount, the payer and the link,
    * the newest payment of a state first,
    * the payment of more in the list of paid links,
    * no payment in the list of another tenant.
    """
    if not case.profile.claims.includes(TENANTS):
        case.mark_not_applicable(ROW, "the profile does not claim the option gateway.tenants")
        return
    network, admin = network_of(case), administrator(case)
    neighbour = case.session.tenants.find_first_on(network)
    tenant = await admin.create_tenant("Weldproof uncounted", {network: neighbour.payout[network]})
    shop = _Shop(case, admin, tenant, await payer(case))
    entries = [*await _pay_ended_links(shop), *await _pay_other_amounts(shop), *await _pay_otherwise(shop)]
    for entry in entries:
        await judge_listed(case, admin, tenant.id, entry)
    await _judge_order(shop, [entry for entry in entries if entry.state == "late"])
    answer, payments = await read_payments(admin, tenant.id, "paid")
    paid = next(entry.tx_id for entry in entries if entry.state == "surplus")
    is_listed = any(str(payment.get("tx_id")).lower() == paid.lower() for payment in payments)
    case.expect(ROW, is_listed, "the payment", brief(answer), exchange=answer, where={"state": "paid"})
    ids = {entry.tx_id.lower() for entry in entries}
    for state in sorted({entry.state for entry in entries}):
        answer, payments = await read_payments(admin, neighbour.id, state)
        is_shared = any(str(payment.get("tx_id")).lower() in ids for payment in payments)
        where = {"state": state, "tenant": "another"}
        case.expect(
            ROW,
            not is_shared,
            "none of the payments",
            "one of them" if is_shared else "none",
            exchange=answer,
            where=where,
        )


async def _pay_ended_links(shop: _Shop) -> list[Uncounted]:
    """Pay a cancelled link, and a paid one again; return the payments, the oldest first."""
    cancelled = await shop.open()
    await cancel_order(shop.case, cancelled.order)
    first = Uncounted("late", "cancelled", await shop.pay(cancelled.bill), cancelled.bill, cancelled.order.answer)
    await judge_listed(shop.case, shop.admin, shop.tenant.id, first)
    await asyncio.sleep(_APART)
    paid = await shop.open()
    await pay_rightly(shop.case, shop.wallet, paid)
    try:
        tx_id = await shop.pay_again(paid.bill)
    except Inconclusive as reason:
        shop.case.note(f"a paid link was not paid again: {reason}")
        return [first]
    return [first, Uncounted("late", "paid", tx_id, paid.bill, paid.order.answer)]


async def _pay_other_amounts(shop: _Shop) -> list[Uncounted]:
    """Pay one link with more, which counts, and one with less."""
    case, more, less = shop.case, await shop.open(), await shop.open()
    surplus = case.rng.randrange(101, 999)
    bill = more.bill.with_changes(amount=more.bill.amount + surplus)
    entry = Uncounted("surplus", "surplus", await shop.pay(bill), bill, more.order.answer, surplus)
    transition = await wait_for_paid(case, more)
    status = await case.client.call("GET", f"{case.session.gateway}{CHECKOUT}{more.order.token}/status")
    holds, where = transition is not None, {"payment": "of more than the amount"}
    case.expect(ROW, holds, "Paid", brief(status), exchange=status, where=where)
    bill = less.bill.with_changes(amount=less.bill.amount - 1)
    return [entry, Uncounted("short", "wrong_amount", await shop.pay(bill), bill, less.order.answer)]


async def _pay_otherwise(shop: _Shop) -> list[Uncounted]:
    """Pay one link in another asset, and one under the memos of two links; show both payments to the gateway."""
    case, entries = shop.case, list[Uncounted]()
    other, first, second = await shop.open(), await shop.open(), await shop.open()
    try:
        tx_id = await shop.pay_other_asset(other.bill)
    except Inconclusive as reason:
        case.note(f"no payment in another asset: {reason}")
    else:
        await shop.show(other, tx_id)
        entries.append(Uncounted("other_asset", "wrong_asset", tx_id, other.bill, other.order.answer))
    # The nonce of an authorization on Base names one memo only; the text behind call data may contain several.
    way = MEMO_WAYS[case.lane][-1]
    bill = first.bill.with_changes(memo=f"{first.memo} {second.memo}")
    try:
        tx_id = await shop.pay(bill, way)
    except Inconclusive as reason:
        case.note(f"no payment under the memos of two links: {reason}")
    else:
        await shop.show(first, tx_id)
        entries.append(Uncounted("ambiguous", "ambiguous_memo", tx_id, bill, first.order.answer))
    return entries


async def _judge_order(shop: _Shop, entries: list[Uncounted]) -> None:
    """Judge that the newest payment is first."""
    if len(entries) < 2:
        return
    answer, payments = await read_payments(shop.admin, shop.tenant.id, entries[0].state)
    found = [str(payment.get("tx_id")).lower() for payment in payments]
    expected = [entry.tx_id.lower() for entry in reversed(entries)]
    shop.case.expect(ROW, found == expected, "the newest payment first", found, exchange=answer)


@check(ROW, surface="gateway", exclusive=Exclusive.LIMITS, fix=_FIX)
async def a_link_is_watched_after_its_end(case: Case) -> None:
    """A payment that arrives within a day after the end of a link is listed (P-CK-10).

    Requires a separate service with an administrator's key (`[limited.gateway]`). Creates two links of a new tenant,
    cancels one, and lets 20 hours pass, in which the other expires. Pays both. Expects each in the list of late
    payments, with the reason.
    """
    if case.profile.service_word is None:
        raise Inconclusive("the memo of a link is unknown: give [target] service_word")
    async with limited_gateway(case) as service:
        admin = service.find_administrator()
        if admin is None:
            case.mark_not_applicable(ROW, "the profile names no separate service with an administrator's key")
            return
        lane_case = await on_first_lane(case)
        network = network_of(lane_case)
        tenant = await admin.create_tenant("Weldproof watched", {network: service.tenant("first").payout[network]})
        cancelled, expired = [await _create_link(case, service, tenant, seconds) for seconds in (86_400, _LIFETIME)]
        secret = cancelled.answer.read_object().get("cancel_secret")
        case.client.names.secret(str(secret), "CANCEL_SECRET")
        cancel_path = f"{CHECKOUT}{token_of(cancelled.answer)}/cancel"
        await service.call("POST", cancel_path, json_body={"cancel_secret": secret})
        await service.advance(_STILL_WATCHED)
        shop = _Shop(lane_case, admin, tenant, await payer(lane_case))
        for link, reason in ((cancelled, "cancelled"), (expired, "seen_after_expiry")):
            tx_id = await shop.pay(link.bill)
            await judge_listed(case, admin, tenant.id, Uncounted("late", reason, tx_id, link.bill, link.answer))


async def _create_link(case: Case, service: LimitedGateway, tenant: Credentials, seconds: int) -> Uncounted:
    """Create a link of some seconds at a separate service; return it as a payment that is not made yet."""
    network = next(iter(tenant.payout))
    members: Mapping[str, Any] = {"preferred_network": network, "expires_in_seconds": seconds}
    answer = await create(case, Creation(LINKS, link_body(case, tenant, **members), tenant), service.call)
    record = answer.read_object()
    memo = f"{(case.profile.service_word or '').lower()}:{record.get('token')}"
    bill = CheckoutRequest(
        str(record.get("asset_id")), tenant.payout[network], int(record.get("amount_microunits", 0)), memo
    )
    return Uncounted("late", "", "", bill, answer)
