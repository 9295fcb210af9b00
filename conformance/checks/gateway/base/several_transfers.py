"""GW-CHK-19 on Base: transfers of one transaction and payers of links, where the target claims specification 3.5."""

from __future__ import annotations

from typing import Final

from conformance.assertions.gateway.refusals import ROW as CODE_ROW
from conformance.assertions.gateway.refusals import Refusal, Request, judge_refusal
from conformance.engine.check import Case, check
from conformance.engine.concurrent_check_steps import run_concurrently
from conformance.lanes.base.checkout import BaseCheckout
from conformance.outcome import Inconclusive
from conformance.surfaces.gateway.administration import administrator
from conformance.surfaces.gateway.calls import CHECKOUT, brief, is_refused
from conformance.surfaces.gateway.orders import (
    OpenedLink,
    memo_carrier,
    network_of,
    open_link,
    open_several_links,
    pay_rightly,
    payer,
    settle_down,
    wait_for_paid,
)
from conformance.vocabulary.profile_claims import TENANTS

_ROW = "GW-CHK-19"
_VERIFY: Final[Request] = ("POST", "/verify", None, {})


@check(
    _ROW,
    surface="gateway",
    lane="base",
    fix="Look at each transfer of a transaction, and note which have paid a link by their place in it.",
)
async def one_transaction_pays_two_links(case: Case) -> None:
    """Each of two links is paid by its own transfer of one transaction (P-CK-08).

    Creates two links and pays both in one transaction of a contract, each by an authorization whose nonce is derived
    from its memo. Then pays a third link alone. Expects the status `paid` of each, with the transaction that paid it.
    """
    # With call data there is one memo in the whole transaction. Only an authorization's nonce binds a memo to one
    # transfer.
    if memo_carrier(case) not in {None, "eip3009"}:
        case.mark_not_applicable(
            _ROW, "the memo is in the transaction's call data, so a transaction can pay one link only"
        )
        return
    wallet, pair = await payer(case), await open_several_links(case, 2)
    if not isinstance(wallet, BaseCheckout):
        raise Inconclusive("the payer of this lane cannot pay several links at once")
    # One transaction of a contract with two authorizations, as a payer that batches its payments would send it.
    tx_id = await wallet.settle_together([order_link.bill for order_link in pair])
    case.client.names.name(tx_id, "TX_ID")
    await pay_rightly(case, wallet, await open_link(case))
    await run_concurrently(wait_for_paid(case, order_link) for order_link in pair)
    for place, link in enumerate(pair):
        status = await case.client.call("GET", f"{case.session.gateway}{CHECKOUT}{link.order.token}/status")
        members = status.read_object()
        # Hex ids are compared without regard to case, because nodes and wallets spell them in either.
        holds = members.get("status") == "paid" and str(members.get("tx_id")).lower() == tx_id.lower()
        where = {"transfer": ("the first of two", "the second of two")[place]}
        finding = brief(status)
        case.expect(_ROW, holds, "paid, and the transaction", finding, exchange=status, where=where)


@check(
    _ROW,
    CODE_ROW,
    surface="gateway",
    lane="base",
    fix="Compare the payer of a transfer with the payout address by their bytes, and refuse such a payment.",
)
async def a_payout_address_pays_no_link_of_its_own(case: Case) -> None:
    """A link whose payer is its payout address stays active, however that address is spelled (P-CK-06, P-NW-04).

    Requires an administrator's key. Creates tenants whose payout address is the suite's paying address, once spelled
    with its checksum and once in lower case. Pays a link of each from that address, and then a link of another tenant.
    Shows each of the first payments to the gateway. Expects a client error, and the status `active`.
    """
    if not case.profile.claims.includes(TENANTS) or case.profile.gateway.admin_key is None:
        case.mark_not_applicable(
            _ROW, "the profile names no administrator of a gateway with the option gateway.tenants"
        )
        case.mark_not_applicable(CODE_ROW, "no tenant is created that could pay itself")
        return
    wallet, admin, network = await payer(case), administrator(case), network_of(case)
    if not isinstance(wallet, BaseCheckout):
        raise Inconclusive("the payer of this lane has no address that a tenant may be paid at")
    address, links = wallet.payer.address, dict[str, OpenedLink]()
    # A comparison of the texts misses one of the spellings. It would then let a tenant pay its own link, and so forge a
    # sale.
    for spelling, payout in (("with its checksum", address), ("in lower case", address.lower())):
        tenant = await admin.create_tenant("Weldproof payer and payee", {network: payout})
        links[spelling] = await open_link(case, network=network, tenant=tenant)
    tx_ids = {spelling: await _pay_oneself(case, wallet, link) for spelling, link in links.items()}
    # A control, paid after the others: once it shows as Paid, the target has seen the earlier payments as well.
    await settle_down(await pay_rightly(case, wallet, await open_link(case)))
    for spelling, link in links.items():
        url = f"{case.session.gateway}{CHECKOUT}{link.order.token}"
        answer = await case.client.call("POST", f"{url}/verify", json_body={"tx_id": tx_ids[spelling]})
        status = await case.client.call("GET", f"{url}/status")
        holds = is_refused(answer) and status.read_object().get("status") == "active"
        finding, where = f"{brief(answer)}, then {brief(status)}", {"payout address": spelling}
        case.expect(_ROW, holds, "a client error, and still active", finding, exchange=status, where=where)
        refusal = Refusal(f"a payment of the payout address {spelling}", _VERIFY, 403, "self_payment_blocked")
        judge_refusal(case, refusal, answer)


async def _pay_oneself(case: Case, wallet: BaseCheckout, link: OpenedLink) -> str:
    """Pay a link whose payout address is the payer's own, and return the transaction, which must not pay the link."""
    # The id is registered as a stray payment: if an event reports it, this check has to judge that, and no other check.
    with case.session.stray_payments.collect_for(case.check.id) as stray_ids:
        tx_id = await wallet.settle(link.bill, memo_carrier(case))
        stray_ids.update(wallet.list_group(tx_id))
    case.client.names.name(tx_id, "TX_ID")
    return tx_id
