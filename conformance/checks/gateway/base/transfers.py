"""GW-CHK-19: the transfers of one transaction, where the target claims to follow specification 3.5."""

from __future__ import annotations

from conformance.engine.check import Case, check
from conformance.engine.concurrency import run_concurrently
from conformance.lanes.base.checkout import BaseCheckout
from conformance.outcome import Inconclusive
from conformance.surfaces.gateway.calls import CHECKOUT, brief
from conformance.surfaces.gateway.orders import flip, opened, paid_rightly, payer, several, way

_ROW = "GW-CHK-19"


@check(
    _ROW,
    surface="gateway",
    lane="base",
    fix="Look at each transfer of a transaction, and note which have paid a link by their place in it.",
)
async def one_transaction_pays_two_links(case: Case) -> None:
    """Each of two links is paid by its own transfer of one transaction (P-CK-08).

    Creates two links and pays both in one transaction of a contract, each by an authorization whose nonce is of its
    memo. Then pays a third one alone. Expects the status `paid` of each, with the transaction that paid it.
    """
    if way(case) not in {None, "eip3009"}:
        case.not_applicable(_ROW, "the memo is in a transaction's call data, which is of one transfer")
        return
    who, pair = await payer(case), await several(case, 2)
    if not isinstance(who, BaseCheckout):
        raise Inconclusive("the payer of this lane cannot pay several links at once")
    tx_id = await who.settle_together([one.bill for one in pair])
    case.client.names.name(tx_id, "TX_ID")
    await paid_rightly(case, who, await opened(case))
    await run_concurrently(flip(case, one) for one in pair)
    for place, link in enumerate(pair):
        status = await case.client.call("GET", f"{case.session.gateway}{CHECKOUT}{link.order.token}/status")
        told = status.object()
        held = told.get("status") == "paid" and str(told.get("tx_id")).lower() == tx_id.lower()
        where = {"transfer": ("the first of two", "the second of two")[place]}
        found = brief(status)
        case.expect(_ROW, held, "paid, and the transaction", found, exchange=status, where=where)
