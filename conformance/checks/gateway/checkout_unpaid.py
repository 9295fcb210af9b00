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
from typing import Final

from conformance.engine.check import Case, check, log_shortened_part
from conformance.engine.concurrency import run_concurrently
from conformance.engine.exclusive import Exclusive
from conformance.judging.gateway.status import judge_abandoned, judge_same_status, paid_status
from conformance.lanes.checkout_request import Bill, CheckoutPayer, Way
from conformance.lanes.node_control import Controlled
from conformance.outcome import Inconclusive
from conformance.pages.view import is_state
from conformance.surfaces.gateway.orders import (
    Flip,
    Opened,
    again,
    first_flip,
    flip,
    network_of,
    odd_amount,
    opened,
    opened_alike,
    paid_rightly,
    payer,
    settle_down,
    several,
    way,
)
from conformance.surfaces.webhooks.silence import ROW as SILENCE
from conformance.surfaces.webhooks.silence import Unpaid, judge_silence

_ANOTHERS: Final = "as much, with the memo of another link"


async def not_paid(case: Case, row: str, who: CheckoutPayer, ways: Sequence[Way]) -> None:
    """Pay a link in each of several wrong ways, and judge that none turns to Paid while a correct payment does.

    Raises:
        Inconclusive: This node allows none of the ways, or the correct payment does not turn its link to Paid either.
    """
    claimed = "gateway.checkout" in case.profile.claims.options
    ways = [one for one in ways if claimed or not one.claimed]
    wanted = [one for one in ways if way(case) is not None or not one.pinned]
    if len(wanted) < len(ways):
        log_shortened_part(case.log, replace(case.check, rows=(row,)), _unpinned(case), len(wanted), len(ways))
    # A separate link for each way: the page of a shared link would not show which payment turned it to Paid.
    *links, control = await several(case, len(wanted) + 1)

    async def pay(one: Way, link: Opened) -> str | None:
        with case.session.stray_payments.collect_for(case.check.id) as made:
            try:
                tx_id = await one.pay(link.bill)
            except Inconclusive as reason:
                case.note(f"{one.what}: {reason}")
                return None
            made.update(who.together(tx_id))
        return tx_id

    sent = await run_concurrently(map(pay, wanted, links))
    if not any(sent):
        raise Inconclusive("none of the wrong payments could be made; the notes give the reasons")
    done = await paid_rightly(case, who, control)
    await settle_down(done)
    await run_concurrently(
        _named(case, link, tx_id) for link, tx_id in zip(links, sent, strict=True) if tx_id is not None
    )
    for one, link, tx_id in zip(wanted, links, sent, strict=True):
        if tx_id is not None:
            await judge(case, row, link, done, one.what)
    pairs = zip(wanted, links, sent, strict=True)
    await judge_silence(case, control, [Unpaid(link, one.what, tx_id) for one, link, tx_id in pairs if tx_id])


def _unpinned(case: Case) -> str:
    """Return the reason for leaving out wrong payments if the profile does not bind how a memo is carried."""
    return f"wrong payments: the profile does not bind how a payment carries the memo; bind [gateway.memo] {case.lane}"


async def _named(case: Case, link: Opened, tx_id: str) -> None:
    """Show a transaction to the gateway as a link's payment. A target without such a call refuses it, which is fine."""
    url = link.order.url.rstrip("/")
    await case.client.call("POST", f"{url}/verify", json_body={"tx_id": tx_id})


async def judge(case: Case, row: str, link: Opened, honest: Flip, what: str) -> None:
    """Judge that a link's page does not show Paid: neither like the control's page, nor as a state."""
    view, answer = await again(case, link)
    said = view.turned_paid(link.before)
    # A new line with "paid" in it may be a sentence. Only the control's own lines, and texts that are a state, are
    # proof.
    certain = sorted(line for line in said if line in honest.lines or is_state(line))
    where = {"payment": what}
    if said and not certain:
        case.mark_inconclusive(row, f"{what}: the page shows {sorted(said)}, which may mean Paid", exchange=answer)
        return
    case.expect(row, not certain, "not Paid", "; ".join(certain), exchange=answer, where=where)


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
    who = await payer(case)
    await not_paid(case, "GW-CHK-10", who, who.unbound())


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
    who, amount = await payer(case), odd_amount(case)
    # Created one after the other: a server that credits by the amount credits the oldest link of it, or the newest, and
    # so the same one in every run.
    other = await opened(case, microunits=amount)
    link = await opened(case, microunits=amount)
    tx_id = await who.settle(link.bill, way(case))
    done = await first_flip(case, link, other)
    if done is None:
        await _took_the_other(case, other)
        return
    # Status and attestation are kept, because a second payment must not replace the transaction that paid the link.
    before = await paid_status(case, link)
    third = await _third(case, link)
    twice = await _paid_again(case, who, link)
    await settle_down(done)
    await _named(case, other, tx_id)
    await judge(case, "GW-CHK-11", other, done, _ANOTHERS)
    await judge_silence(case, link, [Unpaid(other, _ANOTHERS)])
    pair = []
    if way(case) is None:
        log_shortened_part(case.log, replace(case.check, rows=("GW-CHK-11",)), _unpinned(case), 1, 2)
    else:
        pair = await _two_memos(case, who)
    last = await _pays_alike(case, who, other) or done
    # The earlier payments were on the chain before this one, so the target has seen them by now.
    for alike in third if twice else ():
        await judge(case, "GW-CHK-11", alike, last, "as much, a second time under the memo of a link that is paid")
    for alike in third:
        await _pays_alike(case, who, alike)
    await _one_at_most(case, pair, last)
    await judge_same_status(case, link, before, {"payment": "a second one after"})


async def _third(case: Case, link: Opened) -> list[Opened]:
    """Open a link like one that is paid. Return an empty list, and note the reason, if that is impossible."""
    try:
        return [await opened_alike(case, link)]
    except Inconclusive as reason:
        case.note(f"no link like one that is paid: {reason}")
        return []


async def _paid_again(case: Case, who: CheckoutPayer, link: Opened) -> bool:
    """Pay a paid link once more, and return whether that was possible. The reason is noted if it was not."""
    try:
        await who.settle_again(link.bill, way(case))
    except Inconclusive as reason:
        case.note(f"no second payment under the memo of a paid link: {reason}")
        return False
    return True


async def _pays_alike(case: Case, who: CheckoutPayer, link: Opened) -> Flip | None:
    """Pay a link of the same amount as another link that this payer has paid, and judge that it turns to Paid."""
    await who.settle(link.bill, way(case))
    done, budget = await flip(case, link), case.profile.budgets.paid
    found, where = "not Paid" if done is None else "Paid", {"payment": "its payer's second one of this amount"}
    case.expect("GW-CHK-09", done is not None, f"Paid within {budget:g} s", found, exchange=link.page, where=where)
    return done


async def _took_the_other(case: Case, other: Opened) -> None:
    """Judge the unpaid link when the paid one does not show Paid.

    Raises:
        Inconclusive: Neither of them shows Paid.
    """
    view, answer = await again(case, other)
    if not view.turned_paid(other.before):
        raise Inconclusive("the control, an honest payment, turned neither its own page nor the other page to Paid")
    where = {"payment": _ANOTHERS}
    case.expect(
        "GW-CHK-11", False, "not Paid", "Paid, and the link whose memo it was is not", exchange=answer, where=where
    )


async def _two_memos(case: Case, who: CheckoutPayer) -> list[Opened]:
    # Another amount than the links above. One of this pair stays unpaid, and must not attract their payments when a run
    # is replayed.
    amount = odd_amount(case)
    pair = await run_concurrently(opened(case, microunits=amount) for _ in range(2))
    try:
        await who.with_memos(pair[0].bill, [one.memo for one in pair])
    except Inconclusive as reason:
        case.note(str(reason))
        return []
    return pair


async def _one_at_most(case: Case, pair: Sequence[Opened], last: Flip) -> None:
    if not pair:
        return
    await settle_down(last)
    looks = [(await again(case, one), one) for one in pair]
    paid = [answer for (view, answer), one in looks if view.turned_paid(one.before)]
    where = {"payment": "one transfer under the memos of two links"}
    expected = "one link at most Paid by one transfer"
    case.expect("GW-CHK-11", len(paid) <= 1, expected, f"{len(paid)} are", exchange=looks[-1][0][1], where=where)


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
    who = await payer(case)
    await not_paid(case, "GW-CHK-12", who, who.failing())


@check(
    "GW-CHK-12",
    SILENCE,
    "GW-CHK-19",
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

    If the target claims such calls, shows the waiting payment to it. If the answer says that it is not confirmed yet,
    abandons its link. Expects a client error, and the status `active`.
    """
    below, who = await case.session.payers.for_gateway(case.lane), await payer(case)
    names = await below.fault_names() if isinstance(below, Controlled) else ()
    if not isinstance(below, Controlled) or "withhold" not in names:
        for row in ("GW-CHK-12", SILENCE, "GW-CHK-19"):
            case.mark_documented(row, "this node cannot be made to hold a transaction back (no fault `withhold`)")
        return
    waiting, dropped, first, second = await several(case, 4)
    # The first payment also fills the payer's account. A node fault would otherwise hit the funding transaction.
    await paid_rightly(case, who, first)
    # Registered as stray payments, so that other checks do not judge an event that reports them.
    with case.session.stray_payments.collect_for(case.check.id) as made:
        if "reject_late" in names:
            # `reject_late`: the node accepts the transaction and then drops it from its pool. `withhold`: it keeps the
            # transaction out of every block until the release.
            async with below.fault("reject_late"):
                made.add(await who.submitted(dropped.bill))
        async with below.fault("withhold"):
            tx_id = await who.submitted(waiting.bill)
        made.add(tx_id)
    try:
        done = await paid_rightly(case, who, second)
        await settle_down(done)
        pending = [Unpaid(waiting, "submitted, in no block", tx_id)]
        if "reject_late" in names:
            pending.append(Unpaid(dropped, "accepted by the node and dropped"))
        for one in pending:
            await judge(case, "GW-CHK-12", one.link, done, one.what)
        await judge_silence(case, second, pending)
        await judge_abandoned(case, waiting, tx_id)
    finally:
        # Always released, because a withheld payment would block the payer's account for every later check of this
        # lane.
        await below.control("release")
    await who.landed(tx_id)
    if await flip(case, waiting) is None:
        case.mark_inconclusive("GW-CHK-12", "once confirmed it did not turn to Paid either", exchange=waiting.page)


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
    who = await payer(case)
    await not_paid(case, "GW-CHK-13", who, who.short())


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
    who = await payer(case)
    await not_paid(case, "GW-LINK-24", who, [*who.strayed(), *_to_another_tenant(case, who)])


def _to_another_tenant(case: Case, who: CheckoutPayer) -> Sequence[Way]:
    """Return a payment to another tenant's address, which the target watches because of an open link of that tenant."""
    network = network_of(case)
    own, *others = case.session.tenants.find_all_on(network)
    for other in others:
        if other.payout[network] != own.payout[network]:
            break
    else:
        case.note(f"no payment to another tenant: no second tenant has another payout address on {network}")
        return []

    async def pay(bill: Bill) -> str:
        with contextlib.suppress(Inconclusive):  # this tenant's keys may be for other networks only
            await opened(case, tenant=other)
        return await who.settle(bill.changed(address=other.payout[network]), way(case))

    return [Way("to another tenant of the service", pay)]
