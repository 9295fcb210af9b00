"""What payers and tenants do to a link: show a payment, cancel, walk away (P-CK-06, P-CK-07)."""

from __future__ import annotations

import hmac
from collections.abc import Callable, Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, StrictStr

from reference.chains.lane import ChainUnavailable, Lane
from reference.gateway import refusals
from reference.gateway.checkout.settling import LinkEnded, Settling, TransferUsed
from reference.gateway.checkout.watcher import Watcher
from reference.gateway.credentials import digest_of
from reference.gateway.settings import GatewaySettings
from reference.protocol import receipts
from reference.protocol.checkout import LinkState, NotPaid
from reference.protocol.hashes import settled_payment_ref
from reference.protocol.networks import NETWORKS, canonical_tx_id, network_of
from reference.protocol.times import utc_text
from reference.store.links import Link
from reference.store.payments import Payment
from reference.web.clock import WpClock

Claims = Mapping[str, Any]


class VerifyRequest(BaseModel):
    """A transaction that is said to pay a link; unknown members are ignored (P-CV-14)."""

    model_config = ConfigDict(strict=True, extra="ignore", frozen=True, hide_input_in_errors=True)

    tx_id: StrictStr = Field(min_length=10, max_length=128)
    chain: StrictStr | None = None


class CancelRequest(BaseModel):
    """The tenant's word that a link is over."""

    model_config = ConfigDict(strict=True, extra="ignore", frozen=True, hide_input_in_errors=True)

    cancel_secret: StrictStr


class AbandonRequest(BaseModel):
    """The payer's word that he will not pay."""

    model_config = ConfigDict(strict=True, extra="ignore", frozen=True, hide_input_in_errors=True)


class Actions:
    """Carries out what is asked for a link, or raises `Refused`."""

    def __init__(
        self,
        settings: GatewaySettings,
        clock: WpClock,
        settling: Settling,
        lanes: Mapping[str, Lane],
        watchers: Mapping[str, Watcher],
        *,
        sign: Callable[[Claims], str],
        did: str,
    ) -> None:
        self._settings = settings
        self._clock = clock
        self._settling = settling
        self._lanes = lanes
        self._watchers = watchers
        self._sign = sign
        self._did = did

    # The three actions.

    async def verify(self, link: Link, request: VerifyRequest) -> dict[str, Any]:
        """Look at one transaction now, and let it pay the link if it does.

        Raises:
            Refused: The link has an end, or the payment is not one of this link.
            ChainUnavailable: The chain cannot be asked.
        """
        await self._refuse_ended(link)
        if self._clock.now() > link.expires_at:
            await self._watcher(link).look(link)  # the last look may end it
            await self._refuse_ended(link)
        tx_id = _transaction(link, request)
        seen = await self._lane(link).observe(tx_id)
        try:
            payment = await self._settling.pay(link, tx_id, seen)
        except NotPaid as fault:
            if fault.reason == "self_payment":
                raise refusals.self_payment_blocked() from fault
            raise refusals.not_verified(fault.reason) from fault
        except TransferUsed as used:
            if used.cross_tenant:
                raise refusals.cross_tenant_replay() from used
            raise refusals.not_verified("transfer_used") from used
        except LinkEnded:
            await self._refuse_ended(link)
            raise
        claims = self.attestation(payment)
        return {
            "status": LinkState.PAID.value,
            "payment_ledger_id": payment.id,
            "redirect_url": link.redirect_url,
            "settlement_attestation": claims,
            "settlement_attestation_jws": self._sign(claims),
        }

    async def cancel(self, link: Link, request: CancelRequest) -> dict[str, str]:
        """End a link by its tenant's word.

        Raises:
            Refused: The secret is another's, or the link has an end.
        """
        if not hmac.compare_digest(digest_of(request.cancel_secret), link.cancel_digest):
            raise refusals.invalid_cancel_secret()
        await self._end(link)
        return {"status": LinkState.CANCELLED.value}

    async def abandon(self, link: Link) -> dict[str, str]:
        """End a link by its payer's word, unless his payment is on its way.

        Raises:
            Refused: It is, or the link has another end.
            ChainUnavailable: Nobody can tell.
        """
        state = await self._settling.links.state(link.id)
        if state == LinkState.ACTIVE:
            look = await self._watcher(link).look(link)
            await self._refuse_ended(link, unless=LinkState.CANCELLED)
            if link.id in look.held:
                raise refusals.payment_pending(look.held[link.id])
            if not look.complete:
                raise ChainUnavailable("the search did not reach the head")
            await self._end(link, unless=LinkState.CANCELLED)
        await self._refuse_ended(link, unless=LinkState.CANCELLED)
        return {"status": LinkState.CANCELLED.value}

    # What they share.

    async def _end(self, link: Link, unless: LinkState | None = None) -> None:
        await self._refuse_ended(link, unless)
        if not await self._settling.end(link, LinkState.CANCELLED):
            await self._refuse_ended(link, unless)

    async def _refuse_ended(self, link: Link, unless: LinkState | None = None) -> None:
        status = await self._settling.status(link)
        if status.state in {LinkState.ACTIVE, unless}:
            return
        if status.state is LinkState.PAID:
            raise refusals.already_paid(status.tx_id)
        if status.state is LinkState.EXPIRED:
            raise refusals.link_expired(utc_text(link.expires_at))
        raise refusals.link_cancelled()

    def attestation(self, payment: Payment) -> dict[str, Any]:
        """Return the claims that a payment was settled (2.3)."""
        network = NETWORKS[payment.network]
        return dict(
            receipts.settlement_attestation(
                provider_did=self._did,
                timestamp_ms=self._clock.now_ms(),
                result="SETTLED",
                settled_payment_ref=settled_payment_ref(self._settings.word, payment.tx_id, network.key),
                settlement_chain=network.key,
                asset_id=network.asset_id,
                amount_minor=payment.value,
                jurisdiction_flags=self._settings.jurisdiction_flags,
            )
        )

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


def _transaction(link: Link, request: VerifyRequest) -> str:
    """Return the canonical id of the transaction that is shown (P-NW-04).

    Raises:
        Refused: It is said to be of another network, or it is no id.
    """
    network = NETWORKS[link.network]
    if request.chain is not None and network_of(request.chain) is not network:
        raise refusals.not_verified("wrong_chain")
    try:
        return canonical_tx_id(network, request.tx_id)
    except ValueError as fault:
        raise refusals.not_verified("tx_not_found") from fault
