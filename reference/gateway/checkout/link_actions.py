"""Actions on a link: verify a payment, cancel by the tenant, abandon by the payer (P-CK-06, P-CK-07)."""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, StrictStr

from reference.gateway import refusals
from reference.gateway.checkout.link_settlement import LinkEnded, LinkSettlement, TransferUsed
from reference.gateway.checkout.settlement_attestations import Attestor
from reference.gateway.checkout.watcher import Watcher
from reference.gateway.credentials import digest_of
from reference.gateway.settings import GatewaySettings
from reference.lanes.lane import ChainUnavailable, Lane
from reference.protocol import link_payment
from reference.protocol.link_payment import LinkEnding, LinkState, NotPaid
from reference.protocol.networks import NETWORKS, canonical_tx_id, network_of
from reference.protocol.time_text import utc_text
from reference.store.link_payments import Payment
from reference.store.links import Link
from reference.web.clock import WpClock
from reference.web.errors import Refused


class VerifyRequest(BaseModel):
    """A transaction that a caller presents for a link. Unknown members are ignored (P-CV-14)."""

    model_config = ConfigDict(strict=True, extra="ignore", frozen=True, hide_input_in_errors=True)

    tx_id: StrictStr = Field(min_length=10, max_length=128)
    chain: StrictStr | None = None


class CancelRequest(BaseModel):
    """The tenant's request to cancel a link."""

    model_config = ConfigDict(strict=True, extra="ignore", frozen=True, hide_input_in_errors=True)

    cancel_secret: StrictStr


class AbandonRequest(BaseModel):
    """The payer's request to abandon a link."""

    model_config = ConfigDict(strict=True, extra="ignore", frozen=True, hide_input_in_errors=True)


class LinkActions:
    """Carries out the actions on a link, or raises `Refused`."""

    def __init__(
        self,
        settings: GatewaySettings,
        clock: WpClock,
        settlement: LinkSettlement,
        lanes: Mapping[str, Lane],
        watchers: Mapping[str, Watcher],
        attestor: Attestor,
    ) -> None:
        self._settings = settings
        self._clock = clock
        self._settlement = settlement
        self._lanes = lanes
        self._watchers = watchers
        self._attestor = attestor

    async def status(self, link: Link) -> dict[str, Any]:
        """Return the status of a link, with the attestation if it is paid. Nothing changes."""
        status, payment = await self._settlement.status(link), await self._settlement.find_payment(link)
        if status.state is not LinkState.PAID or payment is None:
            return dict(status.members())
        return {**status.members(), **(await self._attestor.of(payment)).members()}

    # The three actions.

    async def verify(self, link: Link, request: VerifyRequest) -> dict[str, Any]:
        """Check one transaction now, and pay the link with it if it fits.

        The transaction that has paid the link already gets the same answer again, even if a watcher saw it first.

        Raises:
            Refused: The link has an end, or the payment is not one of this link.
            ChainUnavailable: The chain cannot be asked.
        """
        if (answer := await self._answer_of_ended(link, request)) is not None:
            return answer
        if self._clock.now() > link.expires_at:
            # A payment in a block of the last second may come to light now, and pays. If the search finds none, the
            # link expires.
            await self._watcher(link).search_now(link)
            if (answer := await self._answer_of_ended(link, request)) is not None:
                return answer
        try:
            payment = await self._pay(link, _shown_tx_id(link, request))
        except LinkEnded:
            if (answer := await self._answer_of_ended(link, request)) is not None:
                return answer
            raise
        return await self._answer(link, payment)

    async def _pay(self, link: Link, tx_id: str) -> Payment:
        transaction = await self._lane(link).observe(tx_id)
        try:
            return await self._settlement.pay(link, tx_id, transaction)
        except NotPaid as fault:
            # A payment from the payout address to itself moves nothing to the tenant, and has its own error code
            # (P-CK-06).
            if fault.reason == "self_payment":
                raise refusals.self_payment_blocked() from fault
            if link_payment.may_be_on_its_way(transaction, self._settlement.build_terms(link)):
                # Nodes of some lanes list nothing that waits for a block. Without this row, the payer could
                # abandon the link a moment later, and the money would come to a cancelled link (P-CK-07, decision
                # 0061).
                await self._settlement.payments.show(link.id, tx_id)
            await self._watcher(link).note_misdirected(tx_id, transaction)
            raise refusals.not_verified(fault.reason) from fault
        except TransferUsed as used:
            if used.cross_tenant:
                raise refusals.cross_tenant_replay() from used
            raise refusals.not_verified("transfer_used") from used

    async def _answer_of_ended(self, link: Link, request: VerifyRequest) -> dict[str, Any] | None:
        """Return the answer if the presented transaction has paid the link, or None if the link is active.

        Raises:
            Refused: It has another end, was paid by another transaction, or the chain has undone the payment.
        """
        payment = await self._settlement.find_payment(link)
        if payment is not None and _is_shown(payment, link, request):
            return await self._answer(link, payment)
        await self._refuse_ended(link)
        return None

    async def _answer(self, link: Link, payment: Payment) -> dict[str, Any]:
        """Return the answer for a paid link."""
        attestation = await self._attestor.of(payment)
        members = {"payment_ledger_id": payment.id, "redirect_url": link.redirect_url}
        return {"status": LinkState.PAID.value, **members, **attestation.members()}

    async def cancel(self, link: Link, request: CancelRequest) -> dict[str, str]:
        """End a link for its tenant.

        Raises:
            Refused: The secret is wrong, or the link has ended.
        """
        # The secret is checked before the state, so that a caller without it learns nothing. A constant-time comparison
        # gives away no prefix of the digest.
        if not hmac.compare_digest(digest_of(request.cancel_secret), link.cancel_digest):
            raise refusals.invalid_cancel_secret()
        await self._end(link)
        return {"status": LinkState.CANCELLED.value}

    async def abandon(self, link: Link) -> dict[str, str]:
        """End a link for its payer, unless a payment is on its way.

        Raises:
            Refused: A payment is on its way, or the link has ended in another way.
            ChainUnavailable: Whether a payment is on its way cannot be decided.
        """
        state = await self._settlement.links.state(link.id)
        if state == LinkState.ACTIVE:
            search = await self._watcher(link).search_now(link)
            await self._refuse_ended(link, unless=LinkState.CANCELLED)
            if link.id in search.links_on_the_way:
                raise refusals.payment_pending(search.links_on_the_way[link.id])
            # An incomplete search cannot exclude a payment. Better a 503 than money for a cancelled link (decision
            # 0021).
            if not search.is_complete:
                raise ChainUnavailable("the search did not reach the head")
            await self._end(link, unless=LinkState.CANCELLED)
        await self._refuse_ended(link, unless=LinkState.CANCELLED)
        return {"status": LinkState.CANCELLED.value}

    # Shared parts.

    async def _end(self, link: Link, unless: LinkState | None = None) -> None:
        await self._refuse_ended(link, unless)
        if not await self._settlement.end(link, LinkEnding.CALLED_OFF):
            await self._refuse_ended(link, unless)

    async def _refuse_ended(self, link: Link, unless: LinkState | None = None) -> None:
        status = await self._settlement.status(link)
        if status.state in {LinkState.ACTIVE, unless}:
            return
        if status.state is LinkState.PAID:
            raise refusals.already_paid(status.tx_id)
        if status.state is LinkState.EXPIRED:
            raise refusals.link_expired(utc_text(link.expires_at))
        raise refusals.link_cancelled()

    def _lane(self, link: Link) -> Lane:
        lane = self._lanes.get(link.network)
        if lane is None:
            raise ChainUnavailable("the network is not offered any more")
        return lane

    def _watcher(self, link: Link) -> Watcher:
        watcher = self._watchers.get(link.network)
        if watcher is None:
            raise ChainUnavailable("the network is not offered any more")
        return watcher


def _is_shown(payment: Payment, link: Link, request: VerifyRequest) -> bool:
    """Return whether a payment is the one that a caller presents."""
    try:
        return payment.tx_id == _shown_tx_id(link, request)
    except Refused:
        return False


def _shown_tx_id(link: Link, request: VerifyRequest) -> str:
    """Return the canonical id of the presented transaction (P-NW-04).

    Raises:
        Refused: The caller names another network, or the text is not an id.
    """
    network = NETWORKS[link.network]
    if request.chain is not None and network_of(request.chain) is not network:
        raise refusals.not_verified("wrong_chain")
    try:
        return canonical_tx_id(network, request.tx_id)
    except ValueError as fault:
        raise refusals.not_verified("tx_not_found") from fault
