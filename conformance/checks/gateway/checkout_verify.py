"""GW-CHK-19 and GW-ERR-06: what `verify` answers for a paid link, and its reasons for what does not pay (P-CK-06)."""

from __future__ import annotations

import uuid
from collections.abc import Awaitable, Mapping
from typing import Any, Final

from conformance.assertions.gateway.refusals import ROW as CODE_ROW
from conformance.assertions.gateway.refusals import Refusal, judge_refusal
from conformance.engine.check import Case, check
from conformance.engine.concurrent_check_steps import run_concurrently
from conformance.http.client import Answer
from conformance.lanes.checkout_request import CheckoutPayer, CheckoutRequest, WrongPayment
from conformance.outcome import Inconclusive, OpenPoint
from conformance.surfaces.gateway.administration import administrator
from conformance.surfaces.gateway.calls import brief
from conformance.surfaces.gateway.orders import (
    OpenedLink,
    memo_carrier,
    odd_amount,
    open_link,
    open_several_links,
    pay_rightly,
    pay_wrongly,
    payer,
    settle_down,
    wait_for_first_paid,
    wait_for_paid,
)
from conformance.vocabulary.lanes.registry import FACTS
from conformance.vocabulary.networks import network_named

_ROW: Final = "GW-CHK-19"
_RETURN_URL: Final = "https://shop.example/thanks?order=7"
_ATTESTATION: Final = ("settlement_attestation", "settlement_attestation_jws")
_SPELLINGS: Final = OpenPoint("which spellings of its network a call may send as chain", "P-CK-06")
_MEMBERS: Final = OpenPoint("the further members of the answer to verify", "P-CK-06")
# Shorter and longer than a transaction id may be, and both limits (P-CK-06).
_LENGTHS: Final = {
    9: "validation_error",
    10: "payment_not_verified",
    128: "payment_not_verified",
    129: "validation_error",
}


@check(
    _ROW,
    CODE_ROW,
    surface="gateway",
    lane="each",
    fix="Read `chain` by each spelling of the table of networks. Answer a transaction that does not pay by the first "
    "rule of P-CK-06 that it breaks, and a paid link by the transaction that paid it.",
)
async def verify_gives_its_reasons(case: Case) -> None:
    """`verify` answers a paid link in each spelling of its network, and names what is wrong with other transactions.

    Pays a link with a redirect_url, and shows the transaction with each spelling of the network. Shows it for another
    link, and another transaction for the paid one. Shows payments that are wrong in one respect: of less, without the
    memo, to another recipient, in another asset, one that failed, and one with another network. Also shows texts of 9,
    10, 128 and 129 characters. Cancels and
    abandons the paid link. Shows one transfer under the memos of two links for the link that it did not pay.

    Expects:

    * 200 `paid` for each spelling, with one payment_ledger_id, the redirect_url and one attestation,
    * of a target that claims the specification, the status, the code and the reason of 3.2 and P-CK-06 for the others.
    """
    wallet = await payer(case)
    # The largest amount, so that the payment is no smaller than another link asks.
    small_links = await open_several_links(case, 6)
    link = await open_link(case, microunits=2 * odd_amount(case) + 1, members={"redirect_url": _RETURN_URL})
    tx_id = await wallet.settle(link.bill, memo_carrier(case))
    case.client.names.name(tx_id, "TX_ID")
    transition = await wait_for_paid(case, link)
    if transition is None:
        raise Inconclusive("a right payment did not turn its page to Paid, which GW-CHK-09 judges")
    await _judge_spellings(case, link, tx_id)
    await _judge_paid_link(case, link, tx_id)
    not_bound, *wrong_links = small_links
    _judge_reason(case, await _verify(case, not_bound, tx_id), "memo_mismatch", "with the memo of another link")
    facts = FACTS[case.lane]
    usual = case.profile.usual_network(link.order.network)
    for network in (facts.main, facts.test):
        if network.key != usual:
            answer = await _verify(case, not_bound, tx_id, chain=network.key)
            _judge_reason(case, answer, "wrong_chain", f"on {network.key}")
    for length, code in _LENGTHS.items():
        answer = await _verify(case, not_bound, "A" * length)
        if code == "validation_error":
            judge_refusal(case, _refusal(f"a tx_id of {length} characters", 422, code), answer)
        else:
            _judge_reason(case, answer, "tx_not_found", f"a text of {length} characters")
    await _judge_wrong_payments(case, wallet, wrong_links)
    await _judge_used_transfer(case, wallet)


def _refusal(description: str, status: int, code: str, **members: Any) -> Refusal:
    return Refusal(description, ("POST", "/verify", None, {}), status, code, members)


def _judge_reason(case: Case, answer: Answer, reason: str, description: str) -> None:
    judge_refusal(case, _refusal(description, 422, "payment_not_verified", reason=reason), answer)


async def _verify(case: Case, link: OpenedLink, tx_id: str, **members: str) -> Answer:
    url = f"{link.order.url.rstrip('/')}/verify"
    return await case.client.call("POST", url, json_body={"tx_id": tx_id, **members})


async def _judge_spellings(case: Case, link: OpenedLink, tx_id: str) -> None:
    """Judge the answer for the paying transaction, with each spelling of the network and without one."""
    network = network_named(case.profile.usual_network(link.order.network))
    spellings = [link.order.network]
    if network is not None:
        spellings += [network.key, network.key.replace("_", "-"), network.event, network.caip2]
    first = await _verify(case, link, tx_id)
    first_members = first.read_object()
    faults = [] if first.status == 200 and first_members.get("status") == "paid" else [brief(first)]
    case.expect(_ROW, not faults, "200 and paid", "; ".join(faults), exchange=first, where={"chain": "none"})
    faults = [] if _is_uuid(first_members.get("payment_ledger_id")) else ["payment_ledger_id"]
    faults += [] if first_members.get("redirect_url") == _RETURN_URL else ["redirect_url"]
    faults += [name for name in _ATTESTATION if not first_members.get(name)]
    case.expect(_ROW, not faults, "each member of the answer", ", ".join(faults), exchange=first, beyond=_MEMBERS)
    for spelling in dict.fromkeys(spellings):
        answer = await _verify(case, link, tx_id, chain=spelling)
        members = answer.read_object()
        names = ("status", "payment_ledger_id", "redirect_url", *_ATTESTATION)
        differing = [name for name in names if members.get(name) != first_members.get(name)]
        finding = f"{answer.status}, differing in {', '.join(differing) or 'nothing'}"
        holds = answer.status == 200 and not differing
        where = {"chain": spelling}
        case.expect(_ROW, holds, "the same answer", finding, exchange=answer, where=where, beyond=_SPELLINGS)


def _is_uuid(value: object) -> bool:
    try:
        return isinstance(value, str) and str(uuid.UUID(value)) == value.lower()
    except ValueError:
        return False


async def _judge_paid_link(case: Case, link: OpenedLink, tx_id: str) -> None:
    """Judge the refusals of another transaction, of cancelling and of abandoning on a paid link."""
    secret = str(link.order.answer.read_object().get("cancel_secret"))
    case.client.names.secret(secret, "CANCEL_SECRET")
    unknown_id = tx_id[:10] + tx_id[30:9:-1] + tx_id[31:]
    case.client.names.name(unknown_id, "TX_ID_OF_NOTHING")
    bodies: Mapping[str, Mapping[str, Any]] = {
        "verify": {"tx_id": unknown_id},
        "cancel": {"cancel_secret": secret},
        "abandon": {},
    }
    url = link.order.url.rstrip("/")
    for name, body in bodies.items():
        answer = await case.client.call("POST", f"{url}/{name}", json_body=body)
        refusal = _refusal(f"{name} of a paid link", 409, "payment_link_already_paid", tx_id=tx_id)
        judge_refusal(case, refusal, answer)


async def _judge_wrong_payments(case: Case, wallet: CheckoutPayer, links: list[OpenedLink]) -> None:
    """Make one payment for each reason, then a right one, and judge what `verify` answers for them."""
    carrier = memo_carrier(case)

    def pay_less(bill: CheckoutRequest) -> Awaitable[str]:
        return wallet.settle(bill.with_changes(amount=bill.amount - 1), carrier)

    ways = {
        "wrong_amount": WrongPayment("one unit less", pay_less),
        "memo_mismatch": wallet.list_unbound_payments()[0],
        "wrong_recipient": wallet.list_stray_payments()[0],
    }
    failing = wallet.list_failing_payments()
    # On Algorand a payment that fails is in no block, so no gateway can know of it.
    if failing and FACTS[case.lane].family != "algorand":
        ways["tx_failed"] = failing[0]
    try:
        ways["wrong_asset"] = (await wallet.list_other_assets(links[-1].bill))[0]
    except (Inconclusive, IndexError) as fault:
        case.note(f"no payment in another asset: {fault}")

    async def pay(way: WrongPayment, link: OpenedLink) -> str | None:
        tx_id = await pay_wrongly(case, wallet, way, link)
        if tx_id is not None:
            case.client.names.name(tx_id, "TX_ID")
        return tx_id

    tx_ids = await run_concurrently(pay(way, link) for way, link in zip(ways.values(), links, strict=False))
    # When a later payment counts, the target has seen the earlier ones, and each of them is final.
    await settle_down(await pay_rightly(case, wallet, await open_link(case)))
    for reason, link, tx_id in zip(ways, links, tx_ids, strict=False):
        if tx_id is not None:
            _judge_reason(case, await _verify(case, link, tx_id), reason, ways[reason].name)


async def _judge_used_transfer(case: Case, wallet: CheckoutPayer) -> None:
    """Make one transfer under the memos of two links, of one tenant and of two; judge the link that it did not pay."""
    for is_foreign in (False, True):
        try:
            pair = await _open_pair(case, is_foreign=is_foreign)
            tx_id = await wallet.settle_with_memos(pair[0].bill, [one.memo for one in pair])
        except Inconclusive as reason:
            case.note(f"no transfer under the memos of two links: {reason}")
            return
        case.client.names.name(tx_id, "TX_ID")
        await wait_for_first_paid(case, *pair)
        statuses = [
            (await case.client.call("GET", f"{one.order.url.rstrip('/')}/status")).read_object().get("status")
            for one in pair
        ]
        if sorted(map(str, statuses)) != ["active", "paid"]:
            case.note(f"one transfer under two memos left the links {statuses}, which GW-CHK-11 judges")
            return
        answer = await _verify(case, pair[statuses.index("active")], tx_id)
        if is_foreign:
            judge_refusal(
                case, _refusal("a transfer that paid another tenant's link", 422, "cross_tenant_replay"), answer
            )
        else:
            _judge_reason(case, answer, "transfer_used", "a transfer that paid another link")


async def _open_pair(case: Case, *, is_foreign: bool) -> list[OpenedLink]:
    """Open two links of one amount and one payout address, of one tenant or of two."""
    amount = odd_amount(case)
    first = await open_link(case, microunits=amount)
    if not is_foreign:
        return [first, await open_link(case, microunits=amount)]
    order = first.order
    other_tenant = await administrator(case).create_tenant("Weldproof neighbour", {order.network: order.payout})
    return [first, await open_link(case, microunits=amount, tenant=other_tenant, network=order.network)]
