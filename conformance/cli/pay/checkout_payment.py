"""Payment of a checkout link: the demand on its page, the transfer, and the wait until the page shows Paid."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any, Final

from conformance.cli.pay.attempt import Attempt, PaymentOpen, PaymentStopped
from conformance.cli.pay.payment_file import Channel, State
from conformance.engine.session import Session
from conformance.http.client import Client
from conformance.lanes.signed_payment import Fate, SignsBills
from conformance.outcome import Inconclusive
from conformance.surfaces.gateway.checkout_payment import (
    PaymentRefused,
    names_another_payment,
    read_demand,
    wait_for_paid,
)

Agree = Callable[[int, str, str], Awaitable[None]]

# Number of stored lines of a page, and characters of each. A page chooses its text, and must not fill the file.
_MOST_LINES: Final = 50
_LONGEST_LINE: Final = 500


async def pay_link(session: Session, client: Client, attempt: Attempt, agree: Agree) -> dict[str, Any]:
    """Pay the link of a checkout page and wait until the page shows Paid; see `finish_link`.

    Raises:
        PaymentRefused: The page must not be paid, or the user did not agree to the amount; nothing was paid.
        Inconclusive: A node or a browser did not work; nothing was paid.
        Unreachable: The page's host did not answer; nothing was paid.
    """
    url = attempt.address.url
    demand = await read_demand(session, client, url, attempt.lane, attempt.steps.say, agree)
    bill = demand.bill
    attempt.begin(
        channel=Channel.CHECKOUT,
        body=None,
        lane=demand.lane,
        network=demand.network,
        units=demand.microunits,
        payee=bill.address,
        reference=bill.memo,
        entry={"asset": bill.asset},
        worth_until=int(time.time()),
        # A page may already contain words such as "Paid" before the payment. Only new lines count
        # later.
        paid_lines=[line[:_LONGEST_LINE] for line in sorted(demand.paid_lines)[:_MOST_LINES]],
    )
    attempt.payer = payer = await session.payers.for_gateway(demand.lane)
    # The node's own chain id is compared with the page's network, so that no money goes to another
    # chain.
    demand.check_chain(payer.caip2)
    till = await session.payers.for_checkout(demand.lane)
    if not isinstance(till, SignsBills):
        raise Inconclusive(
            f"the payer of {demand.lane} signs no transaction that can be stored before it is sent. Nothing was paid"
        )
    way = (session.profile.gateway_bindings.memo or {}).get(demand.lane)
    attempt.keep_signed(await till.sign(bill, way))
    return await finish_link(session, client, attempt)


async def finish_link(session: Session, client: Client, attempt: Attempt) -> dict[str, Any]:
    """Complete a signed payment of a link from the state that an earlier process left.

    Raises:
        PaymentOpen: The page does not show Paid yet. `PaymentStopped` if another transaction paid the link.
        PaymentRefused: The chain shows that nothing was paid.
        Inconclusive: The node refused the transaction at its first sending; nothing was paid.
    """
    if attempt.payment.record.state is State.SIGNED:
        await attempt.bring_to_chain()
    record, tx_id = attempt.payment.record, attempt.signed_payment.tx_id
    url = attempt.address.url
    seconds_left = max(0.0, attempt.ends - asyncio.get_running_loop().time())
    seconds = await wait_for_paid(session, client, url, frozenset(record.paid_lines), seconds_left)
    if seconds is None:
        is_paid = record.state is State.PAID
        attempt.payment.save(last_answer="the page does not show Paid")
        payment_text = f"paid by {tx_id}" if is_paid else f"{tx_id} is signed, but not on the chain yet"
        raise PaymentOpen(
            f"{payment_text}, but the page does not show Paid. A payment that arrived too late is listed for the "
            f"shop, where the transaction id identifies it"
        )
    if attempt.payment.record.state is State.SIGNED:
        await _refuse_foreign(attempt)
    # Another payer may have paid the link first. The money of this payment is then at the shop, and pays nothing.
    other_payment = None if tx_id is None else await names_another_payment(client, url, tx_id)
    if other_payment is not None:
        attempt.payment.save(last_answer="paid by another transaction")
        await attempt.give_back()
        raise PaymentStopped(
            f"{tx_id} moved the money, but another transaction, {other_payment}, paid the link. The shop has this "
            "payment in its list of those that counted for no link: ask for it back, by the transaction id"
        )
    attempt.steps.say("Paid", f"the page shows it after {seconds:.1f} s")
    attempt.payment.save(state=State.SERVED, last_answer="Paid")
    await attempt.give_back()
    return {
        "checkout_url": url,
        "status": "paid",
        "lane": record.lane,
        "network": record.network,
        "asset": record.entry.get("asset"),
        "address": record.payee,
        "amount_microunits": record.units,
        "memo": record.reference,
        "tx_id": tx_id,
        "seconds": round(seconds, 3),
    }


async def _refuse_foreign(attempt: Attempt) -> None:
    """Check on the chain that a page's Paid is caused by this payment, since another one may have paid the link.

    Raises:
        PaymentOpen: The payment is not on the chain yet, or the chain cannot be asked.
        PaymentRefused: The chain shows that nothing was paid.
    """
    fate = await attempt.look_on_chain()
    if fate in {Fate.LAPSED, Fate.FAILED}:
        await attempt.record_nothing_paid()
        raise PaymentRefused(f"the page shows Paid by another payment, and this one is {fate}. Nothing was paid")
    if fate is not Fate.LANDED:
        raise PaymentOpen(
            f"the page shows Paid, perhaps by another payment: {attempt.signed_payment.tx_id} is not final on the "
            "chain. If it becomes final, the shop finds it by the transaction id"
        )
