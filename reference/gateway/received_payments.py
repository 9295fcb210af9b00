"""Received payments of a tenant, and their signed receipts, verified as the checkout returns them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from reference.gateway import refusals
from reference.gateway.checkout.settlement_attestations import Attestor
from reference.gateway.settings import GatewaySettings
from reference.gateway.tenant_administration import PAGE_ROWS, Page
from reference.gateway.unmatched_payments import build_payment_members
from reference.protocol.receipt_verification import verify_receipt
from reference.store.payment_text_search import ALL_PAYMENTS, PaymentSearch
from reference.store.received_payments import ReceivedPayment, ReceivedPayments, Total
from reference.web.clock import WpClock

_RECENT_SECONDS = 30 * 86400
# A search for a text runs at most this many statements, each with its limit of rows. Then the page is returned with
# what it has, so that one search cannot occupy the worker.
_MOST_SCANS = 20


@dataclass(frozen=True, slots=True)
class Receipt:
    """The receipt of one payment.

    Attributes:
        payment: The payment with its link's label.
        jws: The signed receipt, a compact JWS; empty where the chain has undone the payment.
        claims: Its claims.
        report: The report of its verification with the gateway's keys, as POST /v1/receipt/verify returns it.
    """

    payment: Mapping[str, Any]
    jws: str
    claims: Mapping[str, Any]
    report: Mapping[str, Any]


class Receipts:
    """Lists the received payments of a tenant, with totals and receipts."""

    def __init__(
        self,
        settings: GatewaySettings,
        clock: WpClock,
        received_payments: ReceivedPayments,
        attestor: Attestor,
        platform_keys: Callable[[], Sequence[Mapping[str, Any]]],
    ) -> None:
        """Take the parts. `platform_keys` returns the gateway's public keys, the active one first."""
        self.jwks_url = f"{settings.public_url}/.well-known/jwks.json"
        self._clock = clock
        self._received_payments = received_payments
        self._attestor = attestor
        self._platform_keys = platform_keys

    async def list_page(self, tenant_id: str, after: str | None = None, search: PaymentSearch = ALL_PAYMENTS) -> Page:
        """Return a page of payments that paid their links, the newest first.

        A page of a search may have fewer rows than fit, or none, and still be followed by further ones.
        """
        entries, further = await self.load_part(tenant_id, after, search, most=PAGE_ROWS)
        return Page([_build_members(one) for one in entries], further)

    async def load_part(
        self, tenant_id: str, after: str | None, search: PaymentSearch, *, most: int
    ) -> tuple[Sequence[ReceivedPayment], str | None]:
        """Return a part of the payments of a search, and the id behind which the next part begins, or None."""
        entries: list[ReceivedPayment] = []
        for _ in range(_MOST_SCANS):
            # One row more than fits shows whether another page follows.
            room = most + 1 - len(entries)
            entries += await self._received_payments.list_page(tenant_id, most=room, after=after, search=search)
            if len(entries) > most:
                return entries[:most], entries[most - 1].payment.id
            if search.text:
                after = await self._received_payments.last_scanned(tenant_id, after=after, search=search)
            if not search.text or after is None:
                return entries, None
            await asyncio.sleep(0)  # other calls are served between two statements
        return entries, after

    async def totals(self, tenant_id: str) -> Sequence[Total]:
        """Return what was paid on each network, in all and in the last thirty days."""
        return await self._received_payments.totals(tenant_id, since=self._clock.now() - _RECENT_SECONDS)

    async def load_receipt(self, tenant_id: str, payment_id: str) -> Receipt:
        """Return the receipt of a payment of a tenant.

        Raises:
            Refused: 404, there is no such payment, or it is another tenant's.
        """
        entry = await self._received_payments.find(tenant_id, payment_id)
        if entry is None:
            raise refusals.not_found()
        if entry.payment.reversed_at is not None:
            return Receipt(_build_members(entry), "", {}, {})
        attestation = await self._attestor.of(entry.payment)
        # The receipt is verified each time it is shown, so that a tenant sees if a key was withdrawn since.
        report = verify_receipt(
            jws=attestation.jws, jwks=None, expected_payment_hash=None, platform_keys=self._platform_keys()
        )
        return Receipt(_build_members(entry), attestation.jws, attestation.claims, report)


def _build_members(entry: ReceivedPayment) -> dict[str, Any]:
    return {
        **build_payment_members(entry.payment),
        "label": entry.link.label,
        "asked_microunits": entry.link.amount_microunits,
    }
