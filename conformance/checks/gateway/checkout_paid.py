"""GW-CHK-09, -15, -16 and GW-LINK-24: a correct payment turns the page to Paid, and the tenant receives the money."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from conformance.engine.check import Case, check
from conformance.engine.clock import now, pass_time
from conformance.engine.concurrent_check_steps import run_concurrently
from conformance.engine.exclusive import Exclusive
from conformance.engine.quick_policy import sample
from conformance.lanes.checkout_request import MEMO_WAYS, CheckoutPayer, WrongPayment
from conformance.outcome import Inconclusive
from conformance.surfaces import binding_hints
from conformance.surfaces.gateway.calls import CHECKOUT
from conformance.surfaces.gateway.orders import (
    OpenedLink,
    PaidTransition,
    look_again,
    memo_carrier,
    on_first_lane,
    open_link,
    open_several_links,
    pay_rightly,
    payer,
    settle_down,
    wait_for_paid,
)
from conformance.text.times import utc_time

_LATER_LOOKS = 3
_HTTP_OK = 200
_LIFETIME, _AFTERWARDS = 120, 5


async def _pay_by_bound_way(
    case: Case, wallet: CheckoutPayer, link: OpenedLink
) -> tuple[OpenedLink, str, PaidTransition | None]:
    """Pay a link and return the last link tried, its transaction, and its turn to Paid, if any.

    The payment carries the memo in the way that the profile binds, else in each usual way in turn, with a new link for
    each.
    """
    bound_way = memo_carrier(case)
    ways = MEMO_WAYS[case.lane] if bound_way is None else (bound_way,)
    # A new link for each way: a payment that a target does not recognise could otherwise still turn the page later.
    for place, memo_way in enumerate(ways):
        attempt = link if place == 0 else await open_link(case)
        tx_id = await wallet.settle(attempt.bill, memo_way)
        transition = await wait_for_paid(case, attempt)
        if transition is not None or memo_way == ways[-1]:
            return attempt, tx_id, transition
        case.note(f"a payment with its memo by {memo_way} did not turn the page to Paid")
    raise Inconclusive(f"the suite knows no way to bind a memo on the lane {case.lane}")


@check(
    "GW-CHK-09",
    "GW-CHK-16",
    "GW-LINK-24",
    surface="gateway",
    lane="each",
    fix="Watch the chain for the link's memo without a call. Show Paid once the transaction is confirmed, and keep it. "
    "Let payers pay to the tenant's own address.",
)
async def right_payment_is_paid(case: Case) -> None:
    """A confirmed transaction with the link's memo turns its page to Paid by itself, for good, and pays the tenant.

    Pays a link exactly as its page says, from a new account, and reads the page repeatedly. Expects Paid within the
    budget and on every later read. Expects that the transaction moved the amount from the payer to the tenant's payout
    address and nothing to another account, and that the tenant still holds it afterwards.
    """
    wallet, link = await payer(case), await open_link(case)
    link_order = link.order
    balance_before = await wallet.read_holding(link_order.payout, link_order.asset)
    link, tx_id, transition = await _pay_by_bound_way(case, wallet, link)
    # Without a bound way the suite may have guessed the wrong one, so the target is not to blame.
    if transition is None and memo_carrier(case) is None:
        raise Inconclusive(f"unbound: no usual way to carry a memo is found; bind [gateway.memo] {case.lane}")
    if transition is None and link.before.unseen_parts is not None and "state" in link.before.missing_names:
        raise Inconclusive(f"[gateway.checkout_selectors] state shows nothing on the page: {link.before.unseen_parts}")
    budget = case.profile.budgets.paid
    finding = "not Paid" if transition is None else "Paid"
    hint = binding_hints.of_page("state", "that it is paid", link.before.selectors, link.before.missing_names)
    case.expect(
        "GW-CHK-09", transition is not None, f"Paid within {budget:g} s", finding, exchange=link.page, hint=hint
    )
    if transition is None:
        raise Inconclusive("the page did not turn to Paid, so the rows about a paid link cannot be decided")
    await _judge_stays_paid(case, link, transition)
    link_order = link.order
    credits_by_owner = {
        _compared_spelling(owner): amount
        for owner, amount in (await wallet.read_credits(tx_id, link_order.asset)).items()
    }
    # Non-custodial (chapter 3): the transaction credits exactly two accounts. A third one would be a fee or a detour.
    is_right = sorted(credits_by_owner.values()) == [-link_order.microunits, link_order.microunits]
    is_right = is_right and credits_by_owner.get(_compared_spelling(link_order.payout)) == link_order.microunits
    requirement = f"{link_order.microunits} from the payer to {link_order.payout}, nothing to another account"
    case.expect("GW-LINK-24", is_right, requirement, credits_by_owner, exchange=transition.answer)
    # The payout account may have received more meanwhile, so its balance is compared with "at least".
    balance_after = await wallet.read_holding(link_order.payout, link_order.asset)
    is_kept = balance_after >= balance_before + link_order.microunits
    case.expect(
        "GW-LINK-24",
        is_kept,
        "the tenant holds the amount",
        f"{balance_after - balance_before} more",
        exchange=transition.answer,
    )


@check(
    "GW-CHK-09",
    surface="gateway",
    lane="each",
    fix="Search the whole transaction for memo and transfer, regardless of its sender and of its other contents. On "
    "Solana read all instructions, and resolve accounts by the static keys and then meta.loadedAddresses.",
    quick=sample("shapes"),
)
async def payment_in_another_shape_is_paid(case: Case) -> None:
    """A confirmed transaction with the link's memo turns its page to Paid in each shape that real wallets produce.

    Pays one link the usual way and one for each shape:

    * Solana: a legacy transaction, the memo after the transfer, account creation in front, a compute budget and a guard
      program's instructions around, accounts from lookup tables, and all of these together.
    * Algorand: in a group whose other transaction pays the fee or opts in.
    * Base: by an authorization that a relayer or a contract submits.

    Expects Paid on each page. On Algorand and Base an unpaid page only warns.

    If the target claims the checkout's calls, and the lane has a further way to carry a memo, also pays a link in that
    way. A page that stays unpaid fails if `verify` then accepts the transaction as the link's payment: the memo is
    recognised, but only after a manual step.
    """
    wallet = await payer(case)
    other_ways = _other_memo_ways(case, wallet)
    shapes = [*case.sample(await wallet.list_other_shapes(memo_carrier(case))), *other_ways]
    *links, control = await open_several_links(case, len(shapes) + 1)

    async def pay(shape: WrongPayment, link: OpenedLink) -> str | None:
        try:
            return await shape.pay(link.bill)
        except Inconclusive as reason:
            case.note(f"{shape.name}: {reason}")
            return None

    # All shapes are on the chain before the control, so the control's turn to Paid proves that the target saw them.
    tx_ids = await run_concurrently(map(pay, shapes, links))
    usual_transition = await pay_rightly(case, wallet, control)
    case.expect("GW-CHK-09", True, "Paid", "Paid", exchange=usual_transition.answer, where={"payment": "the usual one"})
    attempts = [
        (shape, link, tx_id) for shape, link, tx_id in zip(shapes, links, tx_ids, strict=True) if tx_id is not None
    ]
    flips = await run_concurrently(wait_for_paid(case, link) for _, link, _ in attempts)
    for (shape, link, tx_id), transition in zip(attempts, flips, strict=True):
        where = {"payment": shape.name}
        if transition is None and shape in other_ways:
            await _judge_verified_only(case, link, tx_id, shape.name)
            continue
        finding = "not Paid" if transition is None else "Paid"
        case.expect(
            "GW-CHK-09", transition is not None, "Paid", finding, exchange=link.page, where=where, beyond=shape.beyond
        )


def _other_memo_ways(case: Case, wallet: CheckoutPayer) -> Sequence[WrongPayment]:
    """Return a payment for each way of the lane to carry a memo except the bound one (by default the usual one).

    Only the answer of `verify` shows whether the target accepts such a way. So the list is empty without that call.
    """
    if not case.profile.claims.includes("gateway.checkout"):
        return []
    usual_way = memo_carrier(case) or MEMO_WAYS[case.lane][0]

    def carry(memo_way: str) -> WrongPayment:
        return WrongPayment(f"the memo carried by {memo_way}", lambda bill: wallet.settle(bill, memo_way))

    return [carry(memo_way) for memo_way in MEMO_WAYS[case.lane] if memo_way != usual_way]


async def _judge_verified_only(case: Case, link: OpenedLink, tx_id: str, shape_name: str) -> None:
    """Judge a payment that did not turn its page to Paid.

    A target may reject a way to carry the memo. It must not accept the way only after the payer called `verify`.
    """
    url = f"{case.session.gateway}{CHECKOUT}{link.order.token}/verify"
    # The control was Paid meanwhile, so the target does watch this chain.
    answer = await case.client.call("POST", url, json_body={"tx_id": tx_id})
    if answer.status != _HTTP_OK or answer.read_object().get("status") != "paid":
        case.note(f"{shape_name}: the target does not accept this way, which the interface leaves open")
        return
    finding, where = "not Paid until verify accepted the transaction", {"payment": shape_name}
    case.expect("GW-CHK-09", False, "Paid without any manual step", finding, exchange=answer, where=where)


def _compared_spelling(address: str) -> str:
    """Return an address in the one spelling that is compared: hex in lower case, all others as they are (P-NW-04)."""
    return address.lower() if address.lower().startswith("0x") else address


async def _judge_stays_paid(
    case: Case, link: OpenedLink, transition: PaidTransition, where: Mapping[str, str] | None = None
) -> None:
    for _ in range(_LATER_LOOKS):
        await settle_down(transition)
        # Several reads, some time apart: a server that answers Paid from a cache would return to unpaid here.
        view, answer = await look_again(case, link)
        is_paid = bool(view.turned_paid(link.before))
        case.expect("GW-CHK-16", is_paid, "Paid on later reads", view.text[:200], exchange=answer, where=where)


@check(
    "GW-CHK-16",
    surface="gateway",
    exclusive=Exclusive.CLOCK,
    fix="Let expires_at end active links only. A paid link stays paid for ever.",
)
async def a_paid_link_outlives_its_time(case: Case) -> None:
    """Once Paid, the link stays Paid on later reads, also when its time is over.

    Creates a link (of two minutes, if the target takes `expires_in_seconds`), pays it, and lets the time pass until its
    `expires_at`. Expects Paid on its page. If the check cannot make time pass for the target, the row is documented.
    """
    lane_case = await on_first_lane(case)
    try:
        link = await open_link(lane_case, members={"expires_in_seconds": _LIFETIME})
    except Inconclusive:  # the interface does not name this member
        link = await open_link(lane_case)
    # The time of the answer and not the requested one: a target may ignore the member, and then the link lasts longer.
    expires = utc_time(link.order.answer.read_object().get("expires_at"))
    if expires is None:
        raise Inconclusive("expires_at cannot be read, which GW-LINK-14 judges")
    transition = await pay_rightly(lane_case, await payer(lane_case), link)
    try:
        await pass_time(lane_case, max(0, int(expires.timestamp()) - now(case)) + _AFTERWARDS)
    except Inconclusive as reason:
        case.mark_documented("GW-CHK-16", f"the time of a paid link does not come to its end: {reason}")
        return
    await _judge_stays_paid(case, link, transition, {"time": "after expires_at"})


@check(
    "GW-CHK-15",
    surface="gateway",
    lane="algorand",
    fix="Look at the chain about every second. A block of Algorand is final as soon as it exists.",
)
async def algorand_payment_is_paid_soon(case: Case) -> None:
    """On Algorand the page turns to Paid about five seconds after the transaction.

    Pays a link and measures from the transaction's block. Expects Paid within the budget (`[budgets] paid`).
    """
    wallet, link = await payer(case), await open_link(case)
    await wallet.settle(link.bill, memo_carrier(case))
    transition = await wait_for_paid(case, link)
    finding = "not Paid" if transition is None else f"{transition.seconds:.1f} s"
    if transition is not None:
        case.note(f"Paid {transition.seconds:.1f} s after the transaction's block")
    budget = case.profile.budgets.paid
    case.expect("GW-CHK-15", transition is not None, f"Paid within {budget:g} s", finding, exchange=link.page)
