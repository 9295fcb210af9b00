"""GW-CHK-21: the transfers of one transaction, where the target claims to follow specification 3.5."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from conformance.engine.check import Case, check
from conformance.engine.concurrency import run_concurrently
from conformance.lanes.solana.instructions import Order, memo, pubkey
from conformance.lanes.solana.node import CONFIRMED
from conformance.lanes.solana.payer import SolanaPayer
from conformance.outcome import Inconclusive
from conformance.surfaces.gateway.orders import Opened, flip, odd_amount, opened, paid_rightly, payer

# Of each three, in the order of their amounts.
_AMOUNTS: Final = ("the least", "the one between", "the greatest")


@check(
    "GW-CHK-21",
    surface="gateway",
    lane="solana",
    fix="Of a transaction's unused fitting transfers let a link take the one of exactly its amount, else the first.",
)
async def each_link_takes_its_own_transfer(case: Case) -> None:
    """A transaction with a transfer for each of three links pays all, whichever is looked at first (P-CK-08).

    Creates threes of links of different amounts, and pays each three by one transaction with all memos and a transfer
    of each amount, the greatest one first; the greatest link's memo is first in one half of them and was made first in
    the other. Expects Paid on every page: who takes any transfer that is enough leaves too little for another one.
    """
    who, threes = await case.session.gateway_payer("solana"), []
    if not isinstance(who, SolanaPayer):
        raise Inconclusive("the payer of this lane pays no several transfers at once")
    for number in range(4):
        # Who takes any is found out unless he looks at the greatest first and at the least last.
        least = odd_amount(case)
        amounts = [least + 2 * place for place in range(len(_AMOUNTS))]
        links = [await opened(case, microunits=amount) for amount in (amounts if number % 2 else amounts[::-1])]
        links.sort(key=lambda one: one.order.microunits)
        threes.append(links)
        await _pay_together(who, links if number < 2 else links[::-1], links[::-1])
    control = await opened(case)
    await paid_rightly(case, await payer(case), control)
    flips = await run_concurrently(flip(case, link) for links in threes for link in links)
    for place, done in enumerate(flips):
        number, which = divmod(place, len(_AMOUNTS))
        link = threes[number][which]
        where = {"transaction": str(number + 1), "amount": _AMOUNTS[which]}
        found = "not Paid" if done is None else "Paid"
        case.expect("GW-CHK-21", done is not None, "Paid", found, exchange=link.page, where=where)


async def _pay_together(who: SolanaPayer, memos: Sequence[Opened], transfers: Sequence[Opened]) -> None:
    """Pay links by one transaction: their memos in one order, their transfers in another."""
    parts = [memo(who.main.key, one.memo.encode()) for one in memos]
    for one in transfers:
        bill = one.bill
        mint, payee = pubkey(bill.asset, "asset"), pubkey(bill.address, "address")
        references = () if bill.reference is None else (pubkey(bill.reference, "reference"),)
        order = Order(mint, payee, bill.amount, references[0] if references else payee, bill.memo)
        parts.append((await who.transfer(order, references=references)).instruction())
    await who.send(parts, wait=CONFIRMED)
