"""GW-CHK-13 with a rail: if both are paid to one address, one transfer does not both buy a call and pay a link.

The interface demands an exact amount for a link and a price for a call. Of one transfer of that amount, one of them was
not paid. Which of the two the operator gives is open, so a breach only warns.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from conformance.assertions.rail.refusals import require_honest_payment_served
from conformance.discovery.rail import Operation
from conformance.engine.check import Case, check
from conformance.engine.concurrent_check_steps import run_concurrently
from conformance.engine.tenant_credentials import Credentials
from conformance.http.client import Answer
from conformance.lanes.payers import open_checkout_payer
from conformance.oracles.challenge_schema import atomic_amount
from conformance.outcome import Inconclusive
from conformance.surfaces.gateway.orders import (
    OpenedLink,
    look_again,
    memo_carrier,
    open_link,
    settle_down,
    wait_for_paid,
)
from conformance.surfaces.rail.algorand.payments import algorand_payer
from conformance.surfaces.rail.paid_answers import brief
from conformance.surfaces.rail.purchase import Challenge, challenge, name_live_values, present
from conformance.vocabulary.lanes.registry import FACTS

if TYPE_CHECKING:  # imported when that lane is paid on, since its libraries come with its extra
    from conformance.assertions.rail.solana.challenge_payments import Quoted
    from conformance.lanes.solana.instructions import TokenTransfer

_ROW = "GW-CHK-13"
_NO_SHARED_ADDRESS = "no tenant of the profile has the payout address that the rail has on this lane"
Send = Callable[[Case, Challenge, OpenedLink], Awaitable[str]]


@check(
    _ROW,
    surface="gateway",
    lane="each",
    fix="Count each transfer once per operator. If rail and gateway share a database, keep one table of used "
    "transfers. If not, let the rail refuse a transfer that has a link's memo, and let the gateway refuse a transfer "
    "that is welded to a call.",
    pays_rail=True,
)
async def one_transfer_for_a_call_and_a_link(case: Case) -> None:
    """One transfer to an address that rail and tenant share buys a call or pays a link, and not both.

    Asks for a call and creates a link of its price. Makes one transfer that carries the weld of the call and the memo
    of the link:

    * Solana: the reference is in the transfer, and the memo is before or after it. In further cases the transfer also
      names the link's own reference, or is followed by a transfer of one unit.
    * Algorand: both are in one note, in either order.
    * Base: not applicable, because a transfer by authorization has one nonce, which belongs to one of them.

    Presents some transfers to the rail before the gateway has credited its links, and some after. Expects that never
    both are given, while a call and a link that are paid separately are. Not applicable if no tenant has the rail's
    payout address.
    """
    if not case.profile.claims_surface("rail"):
        case.mark_not_applicable(_ROW, "the profile does not claim the surface rail")
        return
    ways = _WAYS.get(FACTS[case.lane].family)
    if ways is None:
        case.mark_not_applicable(
            _ROW, "a transfer by authorization has one nonce, which belongs to a challenge or to a link"
        )
        return
    operation = case.session.catalog.operations[0]
    shared_address = await _find_shared_address(case, operation)
    if shared_address is None:
        case.mark_not_applicable(_ROW, _NO_SHARED_ADDRESS)
        return
    # A control for the rail: without it a rail that refuses every payment would pass.
    await require_honest_payment_served(case, operation)
    combinations = [(what, send, first) for what, send in ways.items() for first in ("the call", "the link")]
    pairs = await run_concurrently(_Pair.create(case, operation, shared_address, *one) for one in combinations)
    # Two services that share no table race for the transfer. Half of the pairs reach the rail first, the other half the
    # gateway.
    await run_concurrently(pair.show(case) for pair in pairs if pair.first_credited == "the call")
    await _pay_separate_link(case, shared_address)
    await run_concurrently(pair.show(case) for pair in pairs if pair.first_credited == "the link")
    for pair in pairs:
        await pair.judge(case)


@dataclass(frozen=True, slots=True)
class _SharedAddress:
    """Where rail and tenant are both paid: the tenant, the network, and the price of a call in atomic units."""

    tenant: Credentials
    network: str
    price: int


async def _find_shared_address(case: Case, operation: Operation) -> _SharedAddress | None:
    """Return the tenant whose payout address is the rail's, with network and price; or None."""
    chain = case.profile.chains.of(case.lane)
    entry = (await challenge(case, operation)).entry(case.lane)
    price = atomic_amount(entry.get("maxAmountRequired"))
    for tenant in case.profile.tenants:
        credentials = case.session.tenants.get(tenant)
        network = None if chain is None else case.profile.own_network(chain.network)
        if network is not None and price and credentials.payout.get(network) == entry.get("payTo"):
            return _SharedAddress(credentials, network, price)
    return None


async def _open_link(case: Case, shared_address: _SharedAddress) -> OpenedLink:
    return await open_link(
        case, microunits=shared_address.price, network=shared_address.network, tenant=shared_address.tenant
    )


async def _pay_separate_link(case: Case, shared_address: _SharedAddress) -> None:
    """Pay a link of the same address correctly, and give the target as long again for the links of the pairs.

    Raises:
        Inconclusive: The link does not turn to Paid.
    """
    link = await _open_link(case, shared_address)
    await open_checkout_payer(await case.session.payers.for_rail(case.lane)).settle(link.bill, memo_carrier(case))
    transition = await wait_for_paid(case, link)
    if transition is None:
        raise Inconclusive("the control, an honest payment, did not turn its page to Paid")
    await settle_down(transition)


@dataclass(slots=True)
class _Pair:
    """A call and a link, and the one transfer that was made for both.

    Attributes:
        way: How the transfer was made.
        first_credited: Which of the two is credited first.
        quote: The call.
        link: The link.
        tx_id: The transfer.
        answer: The rail's answer.
    """

    way: str
    first_credited: str
    quote: Challenge
    link: OpenedLink
    tx_id: str
    answer: Answer | None = None

    @classmethod
    async def create(
        cls, case: Case, operation: Operation, shared_address: _SharedAddress, way: str, send: Send, first_credited: str
    ) -> _Pair:
        """Ask for a call, create a link, and make one transfer for both."""
        quote, link = await challenge(case, operation), await _open_link(case, shared_address)
        return cls(way, first_credited, quote, link, await send(case, quote, link))

    async def show(self, case: Case) -> None:
        """Present the transfer to the rail."""
        proof = {"tx_id": self.tx_id, "payment_reference": self.quote.reference(case.lane)}
        name_live_values(case, proof)
        self.answer = await present(case, self.quote.operation, proof, body=self.quote.body)

    async def judge(self, case: Case) -> None:
        """Judge that not both were given."""
        assert self.answer is not None  # noqa: S101 - `show` comes first
        view, page = await look_again(case, self.link)
        paid_lines = view.turned_paid(self.link.before)
        is_both = self.answer.status == 200 and bool(paid_lines)
        finding = f"the call was answered {brief(self.answer)} and the page says {sorted(paid_lines)}"
        where = {"payment": self.way, "credited first": self.first_credited}
        case.expect(_ROW, not is_both, "a call or a paid link", finding, exchange=page, where=where)


def _solana_sender(
    arrange: Callable[[Quoted, OpenedLink, TokenTransfer], list[Any]], *, with_reference: bool = False
) -> Send:
    async def send(case: Case, quote: Challenge, link: OpenedLink) -> str:
        from conformance.assertions.rail.solana.challenge_payments import Quoted  # noqa: PLC0415 - it imports the lane's libraries
        from conformance.lanes.solana.instructions import pubkey  # noqa: PLC0415 - as above

        transfer_order = await Quoted.of(case, quote)
        own_references = [pubkey(link.bill.reference, "reference")] if with_reference and link.bill.reference else []
        references = (transfer_order.order.reference, *own_references)
        return await transfer_order.send(lambda made: arrange(transfer_order, link, made), references=references)

    return send


def _memo_instruction(transfer_order: Quoted, link: OpenedLink) -> Any:
    from conformance.lanes.solana.instructions import memo  # noqa: PLC0415 - as above

    return memo(transfer_order.payer.main.key, link.memo.encode())


def _unit_transfer(transfer: TokenTransfer) -> Any:
    return transfer.with_changes(amount=1, references=()).instruction()


def _algorand_sender(form: str) -> Send:
    async def send(case: Case, quote: Challenge, link: OpenedLink) -> str:
        payer, entry = await algorand_payer(case), quote.entry(case.lane)
        note = form.format(token=quote.reference(case.lane), memo=link.memo).encode()
        asset, price = payer.asset_id(entry), atomic_amount(entry.get("maxAmountRequired")) or 0
        return await payer.transfer(asset=asset, receiver=str(entry["payTo"]), amount=price, note=note)

    return send


_WAYS: Mapping[str, Mapping[str, Send]] = {
    "algorand": {
        "the memo and the token in one note": _algorand_sender("{memo} {token}"),
        "the token and the memo in one note": _algorand_sender("{token} {memo}"),
    },
    "solana": {
        "the memo before": _solana_sender(
            lambda quoted, link, made: [_memo_instruction(quoted, link), made.instruction()]
        ),
        "the memo behind": _solana_sender(
            lambda quoted, link, made: [made.instruction(), _memo_instruction(quoted, link)]
        ),
        "the link's reference named, too": _solana_sender(
            lambda quoted, link, made: [_memo_instruction(quoted, link), made.instruction()], with_reference=True
        ),
        "followed by a transfer of one unit": _solana_sender(
            lambda quoted, link, made: [_memo_instruction(quoted, link), made.instruction(), _unit_transfer(made)]
        ),
    },
}
