"""GW-CHK-14: a payment in an asset other than the USDC of the link's network does not turn the link to Paid."""

from __future__ import annotations

from collections.abc import Sequence

from conformance.checks.gateway.checkout_wrong_payments import judge_not_paid
from conformance.engine.check import Case, check
from conformance.lanes.checkout_request import USDC, CheckoutRequest, WrongPayment
from conformance.lanes.payers import open_checkout_payer
from conformance.surfaces.gateway.orders import memo_carrier, open_link, payer
from conformance.surfaces.webhooks.unwanted_events import ROW as SILENCE


@check(
    "GW-CHK-14",
    SILENCE,
    surface="gateway",
    lane="each",
    fix="Compare the id, mint or contract of the asset with the USDC of the link's network, never its name or symbol. "
    "A transfer on a network must only pay links of that network.",
    pays_rail=True,
)
async def payment_in_another_asset(case: Case) -> None:
    """A transaction in another asset does not turn the link Paid.

    Pays links with the memo in native coin and in tokens of the same name and decimals. If the target claims
    specification 3.5, and calls are paid on another simulated network of the lane than links, also pays one in the USDC
    of that network. Then makes one correct payment. Expects that only that one is Paid.
    """
    # A sample link, because the ways to pay wrongly depend on the asset and network of the link.
    wallet, sample = await payer(case), await open_link(case)
    ways = await wallet.list_other_assets(sample.bill)
    await judge_not_paid(case, "GW-CHK-14", wallet, [*ways, *_on_the_other_network(case)])


def _on_the_other_network(case: Case) -> Sequence[WrongPayment]:
    """Return a payment with a link's own memo on another chain of the lane, in money of a simulator or test network."""
    gateway_chain, rail_chain = case.profile.gateway_chains.of(case.lane), case.profile.chains.of(case.lane)
    # Only with a separate node for links can the same memo be paid on the other chain without paying a link there.
    if gateway_chain is None or rail_chain is None or not case.profile.checkout_node_apart(case.lane):
        return []
    network = rail_chain.network
    if gateway_chain.network == network or network not in USDC:
        return []

    async def pay(bill: CheckoutRequest) -> str:
        elsewhere = open_checkout_payer(await case.session.payers.for_rail(case.lane))
        return await elsewhere.settle(bill.with_changes(asset=USDC[network]), memo_carrier(case))

    # The interface calls the network of a link preferred.
    return [WrongPayment(f"as its page says, on another network: {network}", pay, needs_checkout_claim=True)]
