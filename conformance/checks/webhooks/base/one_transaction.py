"""WH-BODY-14 where one transaction pays two links: each event has an id of its own."""

from __future__ import annotations

from collections.abc import Sequence

from conformance.engine.check import Case, check
from conformance.engine.concurrent_check_steps import run_concurrently
from conformance.lanes.base.checkout import BaseCheckout
from conformance.lanes.checkout_request import CheckoutRequest
from conformance.surfaces.gateway.orders import memo_carrier, open_several_links, payer
from conformance.surfaces.webhooks.paid_links import PaidLink, pay_link
from conformance.webhook_receiver.inbox import Received


@check(
    "WH-BODY-14",
    surface="webhooks",
    lane="base",
    fix="Draw a fresh UUID for each event when it is written. Do not derive it from the transaction.",
)
async def payments_of_one_transaction_have_ids_of_their_own(case: Case) -> None:
    """Two links that are paid by one transaction give two different ids.

    Pays two links by one transaction of a contract, each by an authorization whose nonce is derived from its memo.
    Expects that their events share no id. If the target does not report both payments, GW-CHK-19 decides.
    """
    wallet = await payer(case)
    if not isinstance(wallet, BaseCheckout) or memo_carrier(case) not in {None, "eip3009"}:
        case.mark_not_applicable("WH-BODY-14", "a transaction of this lane's payer can pay one link only")
        return
    pair = await open_several_links(case, 2)
    tx_ids = list[str]()

    async def pay_both(_: CheckoutRequest) -> str:
        """Pay both links at the first call, and return their transaction."""
        if not tx_ids:
            tx_ids.append(await wallet.settle_together([link.bill for link in pair]))
        return tx_ids[0]

    sales = [await pay_link(case, link, pay=pay_both) for link in pair]
    # Both events mention the transaction, so an event belongs to the link whose token or label it has.
    events = await run_concurrently(_wait_for_own_events(case, sale) for sale in sales)
    if not all(events):
        case.mark_not_applicable("WH-BODY-14", "not both links of one transaction were reported, see GW-CHK-19")
        return
    first_ids, second_ids = ({str(one.id) for one in found} for found in events)
    common_ids = sorted(first_ids & second_ids)
    finding = f"both have {', '.join(common_ids)}" if common_ids else "ids that differ"
    where = {"payments": "two links by one transaction"}
    case.expect("WH-BODY-14", not common_ids, "ids that differ", finding, exchange=events[1][0], where=where)


async def _wait_for_own_events(case: Case, sale: PaidLink) -> Sequence[Received]:
    words = sale.link.order.mark, sale.link.order.token
    return await case.session.inbox.wait(
        lambda one: one.confirms and one.mentions(words), seconds=case.profile.budgets.paid
    )
