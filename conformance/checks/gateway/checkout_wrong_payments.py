"""GW-CHK-10 to -13 and GW-LINK-24: wrong payments do not turn a link to Paid, and cause no event (WH-DELIV-03).

Each check makes the wrong payments first, and then a correct one for another link. When the correct one shows as Paid,
the target has seen the wrong ones as well, and it gets as long again. So a target that does not watch the chain cannot
pass. Then each wrong payment is shown to the gateway by the `verify` call of its link, because a watcher finds payments
by their memo and may have missed it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Final

from conformance.assertions.gateway.link_status import judge_abandoned, judge_same_status, read_paid_status
from conformance.assertions.gateway.refusals import ROW as CODE_ROW
from conformance.engine.check import Case, check, log_shortened_part
from conformance.engine.concurrent_check_steps import run_concurrently
from conformance.engine.exclusive import Exclusive
from conformance.lanes.checkout_request import CheckoutPayer, CheckoutRequest, WrongPayment
from conformance.lanes.node_control import Controlled
from conformance.outcome import Inconclusive
from conformance.pages.view import is_state
from conformance.surfaces.gateway.orders import (
    OpenedLink,
    PaidTransition,
    look_again,
    memo_carrier,
    network_of,
    odd_amount,
    open_equal_link,
    open_link,
    open_several_links,
    pay_rightly,
    pay_wrongly,
    payer,
    settle_down,
    wait_for_first_paid,
    wait_for_paid,
)
from conformance.surfaces.webhooks.unwanted_events import ROW as SILENCE
from conformance.surfaces.webhooks.unwanted_events import UnpaidLink, judge_unwanted_events

_EQUAL_AMOUNT_OTHER_MEMO: Final = "as much, with the memo of another link"


async def judge_not_paid(case: Case, row: str, wallet: CheckoutPayer, ways: Sequence[WrongPayment]) -> None:
    """Pay a link in each of several wrong ways, and judge that none turns to Paid while a correct payment does.

    Raises:
        Inconclusive: This node allows none of the ways, or the correct payment does not turn its link to Paid either.
    """
    is_claimed = case.profile.claims.includes("gateway.checkout")
    ways = [wrong_way for wrong_way in ways if is_claimed or not wrong_way.needs_checkout_claim]
    # Without a bound way to carry the memo a payment may fail for that reason, so such ways are left out.
    usable_ways = [
        wrong_way for wrong_way in ways if memo_carrier(case) is not None or not wrong_way.needs_pinned_binding
    ]
    if len(usable_ways) < len(ways):
        log_shortened_part(
            case.log, replace(case.check, rows=(row,)), _unbound_reason(case), len(usable_ways), len(ways)
        )
    # A separate link for each way: the page of a shared link would not show which payment turned it to Paid.
    *links, control = await open_several_links(case, len(usable_ways) + 1)

    tx_ids = await run_concurrently(map(partial(pay_wrongly, case, wallet), usable_ways, links))
    if not any(tx_ids):
        raise Inconclusive("none of the wrong payments could be made; the notes give the reasons")
    transition = await pay_rightly(case, wallet, control)
    await settle_down(transition)
    await run_concurrently(
        _show_to_gateway(case, link, tx_id) for link, tx_id in zip(links, tx_ids, strict=True) if tx_id is not None
    )
    for wrong_way, link, tx_id in zip(usable_ways, links, tx_ids, strict=True):
        if tx_id is not None:
            await judge_page_unpaid(case, row, link, transition, wrong_way.name)
    pairs = zip(usable_ways, links, tx_ids, strict=True)
    await judge_unwanted_events(
        case, control, [UnpaidLink(link, wrong_way.name, tx_id) for wrong_way, link, tx_id in pairs if tx_id]
    )


def _unbound_reason(case: Case) -> str:
    """Return the reason for leaving out wrong payments if the profile does not bind how a memo is carried."""
    return f"wrong payments: the profile does not bind how a payment carries the memo; bind [gateway.memo] {case.lane}"


async def _show_to_gateway(case: Case, link: OpenedLink, tx_id: str) -> None:
    """Show a transaction to the gateway as a link's payment. A target without such a call refuses it, which is fine."""
    url = link.order.url.rstrip("/")
    await case.client.call("POST", f"{url}/verify", json_body={"tx_id": tx_id})


async def judge_page_unpaid(case: Case, row: str, link: OpenedLink, control: PaidTransition, payment_name: str) -> None:
    """Judge that a link's page does not show Paid: neither like the control's page, nor as a state."""
    view, answer = await look_again(case, link)
    paid_lines = view.turned_paid(link.before)
    # A new line with "paid" in it may be a sentence. Only the control's own lines, and texts that are a state, are
    # proof.
    proofs = sorted(line for line in paid_lines if line in control.lines or is_state(line))
    where = {"payment": payment_name}
    if paid_lines and not proofs:
        case.mark_inconclusive(
            row, f"{payment_name}: the page shows {sorted(paid_lines)}, which may mean Paid", exchange=answer
        )
        return
    case.expect(row, not proofs, "not Paid", "; ".join(proofs), exchange=answer, where=where)


@check(
    "GW-CHK-10",
    SILENCE,
    surface="gateway",
    lane="each",
    fix="Bind a transaction to a link by its whole memo, where the chain's transaction carries it; never by address "
    "and amount.",
)
async def payment_without_the_memo(case: Case) -> None:
    """A transaction to the right address and amount without the memo does not turn the link Paid.

    Pays links of odd amounts with no memo, and with a memo cut short, in each way that its lane has to carry one. If
    the profile binds how a memo is carried, also pays with letters before and after it, in the other case, and where no
    wallet puts it. Then makes one correct payment, and shows each of the others to the gateway as its link's payment.
    Expects that only the correct one is Paid.
    """
    wallet = await payer(case)
    await judge_not_paid(case, "GW-CHK-10", wallet, wallet.list_unbound_payments())


@check(
    "GW-CHK-11",
    "GW-CHK-09",
    "GW-CHK-19",
    SILENCE,
    surface="gateway",
    lane="each",
    fix="Find a transaction's link by its memo, and use a transfer once. A second one under the memo of a paid link "
    "changes nothing. An equal one from the same payer pays the link whose memo it has.",
)
async def payment_with_another_links_memo(case: Case) -> None:
    """A transaction with another link's memo does not turn this link Paid.

    Creates two links of one amount and pays one of them. Opens a third link like it, pays the first once more, and
    shows the first payment to the gateway as the second link's. Expects that the first link is Paid and the second is
    not.

    Then pays the second link. Expects Paid, and that the third stays unpaid until it is paid as well. If the target has
    a status of links, the first one's stays unchanged.

    If the profile binds how a memo is carried, also makes one transfer under the memos of two links. Expects that it
    pays one of them at most.
    """
    wallet, amount = await payer(case), odd_amount(case)
    # Created one after the other: a server that credits by the amount credits the oldest link of it, or the newest, and
    # so the same one in every run.
    other_link = await open_link(case, microunits=amount)
    link = await open_link(case, microunits=amount)
    tx_id = await wallet.settle(link.bill, memo_carrier(case))
    transition = await wait_for_first_paid(case, link, other_link)
    if transition is None:
        await _judge_other_link(case, other_link)
        return
    # Status and attestation are kept, because a second payment must not replace the transaction that paid the link.
    status_before = await read_paid_status(case, link)
    third_links = await _open_third_link(case, link)
    is_paid_again = await _pay_again(case, wallet, link)
    await settle_down(transition)
    await _show_to_gateway(case, other_link, tx_id)
    await judge_page_unpaid(case, "GW-CHK-11", other_link, transition, _EQUAL_AMOUNT_OTHER_MEMO)
    await judge_unwanted_events(case, link, [UnpaidLink(other_link, _EQUAL_AMOUNT_OTHER_MEMO)])
    pair = []
    if memo_carrier(case) is None:
        log_shortened_part(case.log, replace(case.check, rows=("GW-CHK-11",)), _unbound_reason(case), 1, 2)
    else:
        pair = await _pay_two_memos(case, wallet)
    last_transition = await _judge_equal_payment(case, wallet, other_link) or transition
    # The earlier payments were on the chain before this one, so the target has seen them by now.
    for equal_link in third_links if is_paid_again else ():
        await judge_page_unpaid(
            case,
            "GW-CHK-11",
            equal_link,
            last_transition,
            "as much, a second time under the memo of a link that is paid",
        )
    for equal_link in third_links:
        await _judge_equal_payment(case, wallet, equal_link)
    await _judge_one_at_most(case, pair, last_transition)
    await judge_same_status(case, link, status_before, {"payment": "a second one after"})


async def _open_third_link(case: Case, link: OpenedLink) -> list[OpenedLink]:
    """Open a link like one that is paid. Return an empty list, and note the reason, if that is impossible."""
    try:
        return [await open_equal_link(case, link)]
    except Inconclusive as reason:
        case.note(f"no link like one that is paid: {reason}")
        return []


async def _pay_again(case: Case, wallet: CheckoutPayer, link: OpenedLink) -> bool:
    """Pay a paid link once more, and return whether that was possible. The reason is noted if it was not."""
    try:
        await wallet.settle_again(link.bill, memo_carrier(case))
    except Inconclusive as reason:
        case.note(f"no second payment under the memo of a paid link: {reason}")
        return False
    return True


async def _judge_equal_payment(case: Case, wallet: CheckoutPayer, link: OpenedLink) -> PaidTransition | None:
    """Pay a link of the same amount as another link that this payer has paid, and judge that it turns to Paid."""
    await wallet.settle(link.bill, memo_carrier(case))
    transition, budget = await wait_for_paid(case, link), case.profile.budgets.paid
    finding, where = "not Paid" if transition is None else "Paid", {"payment": "its payer's second one of this amount"}
    case.expect(
        "GW-CHK-09", transition is not None, f"Paid within {budget:g} s", finding, exchange=link.page, where=where
    )
    return transition


async def _judge_other_link(case: Case, other_link: OpenedLink) -> None:
    """Judge the unpaid link when the paid one does not show Paid.

    Raises:
        Inconclusive: Neither of them shows Paid.
    """
    view, answer = await look_again(case, other_link)
    if not view.turned_paid(other_link.before):
        raise Inconclusive("the control, an honest payment, turned neither its own page nor the other page to Paid")
    where = {"payment": _EQUAL_AMOUNT_OTHER_MEMO}
    case.expect(
        "GW-CHK-11", False, "not Paid", "Paid, and the link whose memo it was is not", exchange=answer, where=where
    )


async def _pay_two_memos(case: Case, wallet: CheckoutPayer) -> list[OpenedLink]:
    # Another amount than the links above. One of this pair stays unpaid, and must not attract their payments when a run
    # is replayed.
    amount = odd_amount(case)
    pair = await run_concurrently(open_link(case, microunits=amount) for _ in range(2))
    try:
        await wallet.settle_with_memos(pair[0].bill, [one.memo for one in pair])
    except Inconclusive as reason:
        case.note(str(reason))
        return []
    return pair


async def _judge_one_at_most(case: Case, pair: Sequence[OpenedLink], last_transition: PaidTransition) -> None:
    if not pair:
        return
    await settle_down(last_transition)
    page_views = [(await look_again(case, one), one) for one in pair]
    paid_answers = [answer for (view, answer), one in page_views if view.turned_paid(one.before)]
    where = {"payment": "one transfer under the memos of two links"}
    requirement = "one link at most Paid by one transfer"
    case.expect(
        "GW-CHK-11",
        len(paid_answers) <= 1,
        requirement,
        f"{len(paid_answers)} are",
        exchange=page_views[-1][0][1],
        where=where,
    )


@check(
    "GW-CHK-12",
    SILENCE,
    surface="gateway",
    lane="each",
    fix="Check the transaction's result first. A failed transaction is on the chain, with its memo, but paid nothing.",
)
async def failed_payment(case: Case) -> None:
    """A failed transaction does not turn the link Paid.

    Pays links correctly from accounts that hold nothing, and in transactions that fail later, as far as the lane's
    chain has such. Then makes one payment that succeeds. Expects that only that one is Paid.
    """
    wallet = await payer(case)
    await judge_not_paid(case, "GW-CHK-12", wallet, wallet.list_failing_payments())


@check(
    "GW-CHK-12",
    SILENCE,
    "GW-CHK-19",
    CODE_ROW,
    surface="gateway",
    lane="each",
    exclusive=Exclusive.CHAIN,
    fix="A transaction that the node has accepted is not yet a payment, but reserves its link. A confirmed "
    "transaction pays the link.",
)
async def pending_payment(case: Case) -> None:
    """A pending transaction does not turn the link Paid.

    Makes the node keep one correct payment out of its blocks and drop another from its pool. Pays a third link
    meanwhile, and then releases the first. Expects that only the third is Paid while the first waits, that the first
    turns to Paid once it is confirmed, and the second never does.

    If the target claims such calls, shows the waiting payment to it. Expects that neither the answer nor the status of
    the link says paid. If the answer says that it is not confirmed yet, abandons its link. Expects a client error, and
    the status `active`, and of a target that claims the specification the codes of 3.2.
    """
    node_payer, wallet = await case.session.payers.for_gateway(case.lane), await payer(case)
    names = await node_payer.fault_names() if isinstance(node_payer, Controlled) else ()
    if not isinstance(node_payer, Controlled) or "withhold" not in names:
        for row in ("GW-CHK-12", SILENCE, "GW-CHK-19", CODE_ROW):
            case.mark_documented(row, "this node cannot be made to hold a transaction back (no fault `withhold`)")
        return
    waiting_link, dropped_link, first_link, second_link = await open_several_links(case, 4)
    # The first payment also fills the payer's account. A node fault would otherwise hit the funding transaction.
    await pay_rightly(case, wallet, first_link)
    # Registered as stray payments, so that other checks do not judge an event that reports them.
    with case.session.stray_payments.collect_for(case.check.id) as stray_ids:
        if "reject_late" in names:
            # `reject_late`: the node accepts the transaction and then drops it from its pool. `withhold`: it keeps the
            # transaction out of every block until the release.
            async with node_payer.fault("reject_late"):
                stray_ids.add(await wallet.submit(dropped_link.bill))
        async with node_payer.fault("withhold"):
            tx_id = await wallet.submit(waiting_link.bill)
        stray_ids.add(tx_id)
    try:
        transition = await pay_rightly(case, wallet, second_link)
        await settle_down(transition)
        unpaid_links = [UnpaidLink(waiting_link, "submitted, in no block", tx_id)]
        if "reject_late" in names:
            unpaid_links.append(UnpaidLink(dropped_link, "accepted by the node and dropped"))
        for unpaid in unpaid_links:
            await judge_page_unpaid(case, "GW-CHK-12", unpaid.link, transition, unpaid.description)
        await judge_unwanted_events(case, second_link, unpaid_links)
        await judge_abandoned(case, waiting_link, tx_id)
        if CODE_ROW not in case.judged_rows:
            case.mark_not_applicable(CODE_ROW, "no call was refused for a pending payment")
    finally:
        # Always released, because a withheld payment would block the payer's account for every later check of this
        # lane.
        await node_payer.control("release")
    await wallet.wait_for_success(tx_id)
    if await wait_for_paid(case, waiting_link) is None:
        case.mark_inconclusive("GW-CHK-12", "once confirmed it did not turn to Paid either", exchange=waiting_link.page)


@check(
    "GW-CHK-13",
    SILENCE,
    surface="gateway",
    lane="each",
    fix="Compare the amount with the credit of the one bound transfer to the payout address. Do not add transfers up. "
    "Do not count a close-out, another transfer or an amount that is returned.",
)
async def payment_of_too_little(case: Case) -> None:
    """A transaction with less than the exact amount does not turn the link Paid.

    Pays links with one unit less, half and a thousandth. Also makes transactions that move the whole amount, but not
    under the memo, or only temporarily. Then makes one correct payment. Expects that only that one is Paid.
    """
    wallet = await payer(case)
    await judge_not_paid(case, "GW-CHK-13", wallet, wallet.list_short_payments())


@check(
    "GW-LINK-24",
    SILENCE,
    surface="gateway",
    lane="each",
    fix="Compare the recipient of the one bound transfer with the payout address of the link's tenant, or with the "
    "token account derived from it. The amount of a close-out goes to another account.",
)
async def payment_to_somebody_else(case: Case) -> None:
    """A transaction to another recipient than the payout address does not turn the link Paid.

    Pays links with the memo and the amount to the payer itself, alone and with something else for the payee in the same
    transaction. Pays one to the payout address of another tenant, if the profile has one with another address. On
    Algorand also closes the amount out to a third account. Then makes one correct payment. Expects that only that one
    is Paid.
    """
    wallet = await payer(case)
    await judge_not_paid(
        case, "GW-LINK-24", wallet, [*wallet.list_stray_payments(), *_ways_to_another_tenant(case, wallet)]
    )


def _ways_to_another_tenant(case: Case, wallet: CheckoutPayer) -> Sequence[WrongPayment]:
    """Return a payment to another tenant's address, which the target watches because of an open link of that tenant."""
    network = network_of(case)
    own_tenant, *other_tenants = case.session.tenants.find_all_on(network)
    for other_tenant in other_tenants:
        if other_tenant.payout[network] != own_tenant.payout[network]:
            break
    else:
        case.note(f"no payment to another tenant: no second tenant has another payout address on {network}")
        return []

    async def pay(bill: CheckoutRequest) -> str:
        with contextlib.suppress(Inconclusive):  # this tenant's keys may be for other networks only
            await open_link(case, tenant=other_tenant)
        return await wallet.settle(bill.with_changes(address=other_tenant.payout[network]), memo_carrier(case))

    return [WrongPayment("to another tenant of the service", pay)]
