"""Unmatched payments: money that counted for no link, listed with its reason and marked as given back (P-CK-10).

The dashboard lists those of one tenant, the operator's command those of all tenants. The rules are the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from reference.gateway import refusals
from reference.gateway.page_parts import atomic_pretty
from reference.protocol.link_payment import LinkState
from reference.protocol.networks import NETWORKS, canonical_tx_id
from reference.protocol.time_text import utc_text
from reference.store.link_payments import UNMATCHED_STATES, Payment, Payments, PaymentState, UnmatchedPayment
from reference.store.payment_text_search import ALL_PAYMENTS, PaymentSearch
from reference.web.clock import WpClock
from reference.web.errors import Refused, Unprocessable

# A late payment's reason is how its link had ended.
_REASONS = {
    PaymentState.SHORT: "wrong_amount",
    PaymentState.SURPLUS: "surplus",
    PaymentState.OTHER_ASSET: "wrong_asset",
    PaymentState.AMBIGUOUS: "ambiguous_memo",
}


class UnmatchedPayments:
    """Lists unmatched payments, and records those that were given back."""

    def __init__(self, clock: WpClock, payments: Payments) -> None:
        self._clock = clock
        self._payments = payments

    async def of_tenant(self, tenant_id: str, search: PaymentSearch = ALL_PAYMENTS) -> list[dict[str, Any]]:
        """Return those of a tenant, given back or not, in the order of the states, each the newest first.

        `refund_tx_id` and `refunded_at` are null until a refund is recorded.
        """
        return [build_unmatched_members(one) for one in await self.select(tenant_id, search)]

    async def of_state(self, tenant_id: str, state: PaymentState) -> list[dict[str, Any]]:
        """Return those of a tenant with one state, given back or not, the newest first."""
        return [build_unmatched_members(one) for one in await self._payments.list_unmatched(tenant_id, state)]

    async def select(self, tenant_id: str, search: PaymentSearch, *, most: int = 500) -> list[UnmatchedPayment]:
        """Return those of a tenant that a search selects, at most so many of each state, in the order of the states."""
        return [
            one
            for state in UNMATCHED_STATES
            for one in await self._payments.list_unmatched(tenant_id, state, most=most, search=search)
        ]

    async def of_all(self, *, is_refunded: bool, most: int) -> Sequence[UnmatchedPayment]:
        """Return those of all tenants that are given back, or those that are not, the newest first."""
        # Each state is queried separately, with the limit of the whole list, because any one of them may fill it.
        entries = [
            one
            for state in UNMATCHED_STATES
            for one in await self._payments.list_unmatched_of_all(state, is_refunded=is_refunded, most=most)
        ]
        return sorted(entries, key=lambda one: (-one.payment.seen_at, one.payment.id))[:most]

    async def refund(self, payment_id: str, transaction: str, *, tenant_id: str | None = None) -> None:
        """Record that a payment was given back. From then on it can pay nothing.

        Args:
            payment_id: The payment.
            transaction: The transaction that gave it back.
            tenant_id: The tenant that it must belong to, None for any.

        Raises:
            Refused: 404, the payment is unknown; 409, it was given back already or has paid something meanwhile.
            Unprocessable: The text is not another transaction id of its network.
        """
        payment = await self._payments.find_unmatched(payment_id, tenant_id=tenant_id)
        if payment is None:
            raise refusals.not_found()
        try:
            refund_tx_id = canonical_tx_id(NETWORKS[payment.network], transaction)
        except ValueError as fault:
            raise _no_refund(str(fault)) from fault
        # The likeliest mistake of an operator is to paste the transaction that paid.
        if refund_tx_id == payment.tx_id:
            raise _no_refund("that is the transaction that paid")
        if not await self._payments.record_refund(payment, refund_tx_id, now=self._clock.now()):
            raise Refused(409, "payment_not_refundable", "this payment was given back already, or has paid something")


def build_unmatched_members(entry: UnmatchedPayment) -> dict[str, Any]:
    """Return an unmatched payment as JSON, with its link and the reason.

    `amount` is what moved, in atomic units of the asset `asset_id`; `surplus` is the part above the link's amount.
    """
    return {
        **build_payment_members(entry.payment),
        "state": entry.state,
        "asset_id": entry.asset_id or NETWORKS[entry.payment.network].asset_id,
        "surplus": None if entry.surplus is None else str(entry.surplus),
        "label": entry.link.label,
        "token": entry.link.token,
        "reason": _reason(entry),
        "refund_tx_id": entry.refund_tx_id,
        "refunded_at": None if entry.refunded_at is None else utc_text(entry.refunded_at),
    }


def amount_text(members: Mapping[str, Any]) -> str:
    """Return for people what an unmatched payment moved, or of a surplus the part above the link's amount."""
    network = NETWORKS.get(members["network"])
    if network is None or members["asset_id"] != network.asset_id:
        return f"{members['amount']} units of asset {members['asset_id']}"
    moved_text = atomic_pretty(int(members["amount"]), network)
    return (
        moved_text
        if members["surplus"] is None
        else f"{atomic_pretty(int(members['surplus']), network)} of {moved_text}"
    )


def build_payment_members(payment: Payment) -> dict[str, Any]:
    """Return a payment as JSON; `amount` is atomic units as text (P-CK-10)."""
    return {
        "payment_id": payment.id,
        "state": payment.state,
        "link_id": payment.link_id,
        "network": payment.network,
        "tx_id": payment.tx_id,
        "amount": str(payment.value),
        "payer": payment.payer,
        "block_time": utc_text(payment.block_time),
        "seen_at": utc_text(payment.seen_at),
        "reversed_at": None if payment.reversed_at is None else utc_text(payment.reversed_at),
    }


def _no_refund(why: str) -> Unprocessable:
    return Unprocessable([{"loc": ["body", "transaction"], "msg": why, "type": "transaction_form"}])


def _reason(entry: UnmatchedPayment) -> str:
    """Return why a payment counted for no link: its own fault, or what had ended its link and when."""
    if entry.state in _REASONS:
        return _REASONS[entry.state]
    if entry.link_state in {LinkState.PAID, LinkState.CANCELLED}:
        return entry.link_state
    return "after_expiry" if entry.payment.block_time > entry.link.expires_at else "seen_after_expiry"
