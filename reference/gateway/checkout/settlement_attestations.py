"""Settlement attestations of paid links: each is signed once, and is the same for every caller (2.3, P-CK-06)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from reference.gateway.settings import GatewaySettings
from reference.protocol import receipts
from reference.protocol.hashes import settled_payment_ref
from reference.protocol.keys import from_base64url
from reference.protocol.networks import NETWORKS
from reference.store.link_payments import Payment
from reference.store.settlement_attestations import Attestations

Claims = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Attestation:
    """A settlement attestation.

    Attributes:
        jws: Compact JWS.
    """

    jws: str

    @property
    def claims(self) -> dict[str, Any]:
        """Its payload."""
        payload: dict[str, Any] = orjson.loads(from_base64url(self.jws.split(".")[1]))
        return payload

    def members(self) -> dict[str, Any]:
        """Return the members of an answer that contain it."""
        return {"settlement_attestation": self.claims, "settlement_attestation_jws": self.jws}


class Attestor:
    """Attests payments of links."""

    def __init__(
        self, settings: GatewaySettings, attestations: Attestations, *, sign: Callable[[Claims], str], did: str
    ) -> None:
        """Take the settings, the store of attestations, and the function that signs."""
        self._settings = settings
        self._attestations = attestations
        self._sign = sign
        self._did = did

    async def of(self, payment: Payment) -> Attestation:
        """Return the attestation of a payment."""
        # It is signed at its first request instead of with the payment, so that no payment waits for a key (decision
        # 0052). Then it never changes, even if keys or settings do.
        jws = await self._attestations.of_payment(payment.id)
        return Attestation(jws or await self._attestations.keep(payment.id, self._sign(self._claims(payment))))

    def _claims(self, payment: Payment) -> Claims:
        network = NETWORKS[payment.network]
        return receipts.settlement_attestation(
            provider_did=self._did,
            timestamp_ms=payment.seen_at * 1000,
            result="SETTLED",
            settled_payment_ref=settled_payment_ref(self._settings.word, payment.tx_id, network.key),
            settlement_chain=network.key,
            asset_id=network.asset_id,
            amount_minor=payment.value,
            jurisdiction_flags=self._settings.jurisdiction_flags,
        )
