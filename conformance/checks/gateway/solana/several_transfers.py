"""GW-CHK-21: the transfers of one transaction, if the target claims to follow specification 3.5."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from conformance.engine.check import Case, check
from conformance.engine.concurrent_check_steps import run_concurrently
from conformance.lanes.solana.instructions import Order, memo, pubkey
from conformance.lanes.solana.node import CONFIRMED
from conformance.lanes.solana.payer import SolanaPayer
from conformance.outcome import Inconclusive
from conformance.surfaces.gateway.orders import OpenedLink, odd_amount, open_link, pay_rightly, payer, wait_for_paid

# The four links of one transaction, in the order of their amounts.
_AMOUNTS: Final = ("the least", "the second", "the third", "the greatest")
# For each transaction: whether links, memos and transfers are in the order of falling amounts. A target that takes the
# first sufficient transfer fails with falling transfers, unless it also processes links by falling amounts. A target
# that takes the last one fails with rising transfers. Any other fixed order of a target fits four links by chance in
# one of 24 cases.
_ORDERS: Final = (
    *((True, False, True), (False, True, True), (False, False, True)),
    *((True, False, False), (False, True, False), (True, True, False)),
)


@check(
    "GW-CHK-21",
    surface="gateway",
    lane="solana",
    fix="Of the unused matching transfers of a transaction, credit the one of exactly the link's amount. If none has "
    "that amount, credit the first.",
)
async def each_link_takes_its_own_transfer(case: Case) -> None:
    """A transaction with a transfer for each of four links pays all, whichever link is processed first (P-CK-08).

    Creates groups of four links of different amounts, and pays each group by one transaction with all memos and a
    transfer of each amount. Links, memos and transfers are in falling order of amounts in some groups, and in rising
    order in others. Expects Paid on every page: a target that takes any sufficient transfer leaves too little for
    another link.
    """
    wallet, link_groups = await case.session.payers.for_gateway(case.lane), []
    if not isinstance(wallet, SolanaPayer):
        raise Inconclusive("the payer of this lane cannot put several transfers into one transaction")
    for is_falling, memos, transfers in _ORDERS:
        # Steps of two keep the amounts odd and different. They are so small that a larger transfer also suffices for a
        # smaller link.
        least_amount = odd_amount(case)
        amounts = [least_amount + 2 * place for place in range(len(_AMOUNTS))]
        links = [await open_link(case, microunits=amount) for amount in amounts[:: -1 if is_falling else 1]]
        links.sort(key=lambda one: one.order.microunits)
        link_groups.append(links)
        await _pay_together(wallet, links[:: -1 if memos else 1], links[:: -1 if transfers else 1])
    control = await open_link(case)
    await pay_rightly(case, await payer(case), control)
    flips = await run_concurrently(wait_for_paid(case, link) for links in link_groups for link in links)
    for place, transition in enumerate(flips):
        number, place_in_four = divmod(place, len(_AMOUNTS))
        link = link_groups[number][place_in_four]
        # Which link of a transaction stays unpaid may differ in a replay, so `where` names only the transfers' order.
        where = {"transfers": "by falling amounts" if _ORDERS[number][2] else "by rising amounts"}
        finding = f"{_AMOUNTS[place_in_four]} of four is {'not Paid' if transition is None else 'Paid'}"
        case.expect("GW-CHK-21", transition is not None, "every link Paid", finding, exchange=link.page, where=where)


async def _pay_together(wallet: SolanaPayer, memos: Sequence[OpenedLink], transfers: Sequence[OpenedLink]) -> None:
    """Pay links by one transaction: their memos in one order, their transfers in another."""
    parts = [memo(wallet.main.key, link.memo.encode()) for link in memos]
    for link in transfers:
        bill = link.bill
        mint, payee = pubkey(bill.asset, "asset"), pubkey(bill.address, "address")
        references = () if bill.reference is None else (pubkey(bill.reference, "reference"),)
        order = Order(mint, payee, bill.amount, references[0] if references else payee, bill.memo)
        parts.append((await wallet.transfer(order, references=references)).instruction())
    await wallet.send(parts, wait=CONFIRMED)
