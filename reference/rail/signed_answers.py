"""Answers of paid calls: the service runs, and its result is signed (2.3, 5.9)."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import orjson

from reference.protocol import challenge, networks, receipts
from reference.protocol.hashes import response_hash, settled_payment_ref
from reference.protocol.jws import sign_compact
from reference.protocol.keys import SigningKey
from reference.rail.services import Service, ServiceContext
from reference.rail.settings import RailSettings
from reference.store.redemption_rows import Answer, Redemption
from reference.web.clock import WpClock
from reference.web.keyring import Keyring


class Signer:
    """Runs services and signs receipts with the rail's active key."""

    def __init__(
        self,
        settings: RailSettings,
        clock: WpClock,
        key_ring: Callable[[], Keyring],
        *,
        did: str,
        platform_keys: Callable[[Keyring], tuple[Mapping[str, Any], ...]],
    ) -> None:
        self._settings = settings
        self._word = settings.word
        self._clock = clock
        self._key_ring = key_ring
        self._did = did
        self._platform_keys = platform_keys

    def make_answer(self, row: Redemption, service: Service, request: Any) -> Answer:
        """Run the service and sign what it answered (5.9)."""
        network = networks.NETWORKS[row.network]
        reference = settled_payment_ref(self._word, row.tx_id, network.key)
        now_ms = self._clock.now_ms()
        # Read once: a rotation between two signatures would give one answer receipts of two keys.
        ring = self._key_ring()
        key = ring.active
        context = ServiceContext(
            word=self._word,
            key=key,
            did=self._did,
            platform_keys=self._platform_keys(ring),
            jurisdiction_flags=self._settings.jurisdiction_flags,
            now_ms=now_ms,
            settled_payment_ref=reference,
        )
        result = service.execute(request, context)
        result_hash = response_hash(result)
        receipt = receipts.payable_receipt(
            word=self._word,
            provider_did=self._did,
            issued_at_ms=now_ms,
            service_id=service.id,
            request_hash=row.request_hash,
            response_hash=result_hash,
            settled_payment_ref=reference,
            payment_reference_hash=challenge.payment_reference_hash(row.token),
            network=network.caip2,
            asset=network.asset_id,
            pay_to=row.pay_to,
            amount_microunits=int(row.amount),
        )
        attestation = self._sign_attestation(row, "SETTLED", reference, now_ms, key)
        body = orjson.dumps(
            {
                "service_id": service.id,
                "result": result,
                "payable_receipt": sign_compact(receipt, key),
                "settlement_attestation": attestation,
                "settled_payment_ref": reference,
                "request_hash": row.request_hash,
                "response_hash": result_hash,
            }
        )
        return Answer(body, encode_payment_response(row, network.caip2), attestation)

    def make_attestation(self, row: Redemption, result: receipts.SettlementResult) -> str:
        """Return the signed statement that a payment was settled or reversed."""
        reference = settled_payment_ref(self._word, row.tx_id, row.network)
        return self._sign_attestation(row, result, reference, self._clock.now_ms(), self._key_ring().active)

    def _sign_attestation(
        self, row: Redemption, result: receipts.SettlementResult, reference: str, now_ms: int, key: SigningKey
    ) -> str:
        network = networks.NETWORKS[row.network]
        claims = receipts.settlement_attestation(
            provider_did=self._did,
            timestamp_ms=now_ms,
            result=result,
            settled_payment_ref=reference,
            settlement_chain=network.key,
            asset_id=network.asset_id,
            amount_minor=int(row.amount),
            jurisdiction_flags=self._settings.jurisdiction_flags,
        )
        return sign_compact(claims, key)


class PlatformKeys:
    """The keys that receipts are verified against when the caller gives none: the rail's own, then the trusted ones."""

    def __init__(self, trusted_keys: Callable[[], Sequence[Mapping[str, Any]]]) -> None:
        self._trusted_keys = trusted_keys
        self._cache: tuple[object, object, tuple[Mapping[str, Any], ...]] = (None, None, ())

    def __call__(self, ring: Keyring) -> tuple[Mapping[str, Any], ...]:
        """Return the keys as they are now; the list is built again if the ring or the trusted keys changed."""
        trusted_keys = self._trusted_keys()
        of_ring, of_others, keys = self._cache
        # Both sources return the same object while their files are unchanged, so identity replaces a comparison of
        # keys.
        if ring is not of_ring or trusted_keys is not of_others:
            keys = (*(key.jwk() for key in ring.published_keys), *trusted_keys)
            self._cache = (ring, trusted_keys, keys)
        return keys


def encode_payment_response(row: Redemption, caip2: str) -> str:
    """Return the value of `PAYMENT-RESPONSE` for a served payment."""
    response = {"success": True, "transaction": row.tx_id, "network": caip2, "payer": row.payer, "amount": row.amount}
    return base64.b64encode(orjson.dumps(response)).decode()
