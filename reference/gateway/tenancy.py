"""What can be done with tenants, whoever asks: the internal API or the dashboard (profile 3.9)."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any

from reference.chains.lane import Lane
from reference.gateway import refusals
from reference.gateway.credentials import fresh_key
from reference.gateway.settings import GatewaySettings
from reference.gateway.webhooks import Webhooks
from reference.protocol.networks import NETWORKS
from reference.protocol.times import utc_text
from reference.protocol.trial import KeyMode
from reference.store.links import Links
from reference.store.payments import Payment, Payments, PaymentState
from reference.store.tenants import ApiKey, Tenant, Tenants
from reference.web.clock import WpClock
from reference.web.errors import Unprocessable

_DAY = 86400


class Tenancy:
    """Makes tenants and changes them. Every method that names a tenant raises `Refused` 404 when there is none."""

    def __init__(
        self,
        settings: GatewaySettings,
        clock: WpClock,
        tenants: Tenants,
        links: Links,
        payments: Payments,
        lanes: Mapping[str, Lane],
        webhooks: Webhooks,
    ) -> None:
        self._settings = settings
        self._clock = clock
        self._tenants = tenants
        self._links = links
        self._payments = payments
        self._lanes = lanes
        self._webhooks = webhooks

    async def create(self, name: str) -> dict[str, Any]:
        """Make a tenant on trial with a test key, whose text is in the answer and nowhere else."""
        now = self._clock.now()
        tenant = Tenant(str(uuid.uuid4()), name, "trial", "trial", now, now + self._settings.trial_days * _DAY)
        key, text = fresh_key(tenant.id, "test", self._settings.prefix, now=now)
        await self._tenants.add(tenant, key)
        return {**_described(tenant), "api_key": text, "key_id": key.id}

    async def record(self, tenant_id: str) -> dict[str, Any]:
        """Return everything known of a tenant but secrets."""
        tenant = await self.find(tenant_id)
        payouts = await self._tenants.payouts(tenant_id)
        return {
            **_described(tenant),
            "plan": tenant.plan,
            "networks": {key: {"payout_address": address} for key, address in payouts.items()},
            "destinations": await self._webhooks.destinations(tenant_id),
            "keys": [_shown(key) for key in await self._tenants.keys(tenant_id)],
            "allowance_microunits": self._settings.mainnet_allowance_microunits,
            "used_microunits": await self._links.paid_on_mainnet(tenant_id),
        }

    async def payments(self, tenant_id: str, state: PaymentState) -> list[dict[str, Any]]:
        """Return a tenant's payments, newest first; `amount` is atomic units as text (P-CK-10)."""
        await self.find(tenant_id)
        return [_listed(payment) for payment in await self._payments.of_tenant(tenant_id, state)]

    async def find(self, tenant_id: str) -> Tenant:
        """Return a tenant."""
        tenant = await self._tenants.get(tenant_id)
        if tenant is None:
            raise refusals.not_found()
        return tenant

    async def add_key(self, tenant_id: str, mode: KeyMode) -> dict[str, Any]:
        """Make a further key; a live one only after approval."""
        tenant = await self.find(tenant_id)
        if mode == "live" and tenant.kyc_status != "approved":
            raise refusals.kyb_required(None)
        key, text = fresh_key(tenant_id, mode, self._settings.prefix, now=self._clock.now())
        await self._tenants.add_key(key)
        return {"key_id": key.id, "api_key": text, "mode": mode}

    async def rotate_key(self, tenant_id: str, key_id: str) -> dict[str, Any]:
        """Make a key in place of another, which stays valid for the overlap (P-AU-04)."""
        now = self._clock.now()
        old = await self._accepted(tenant_id, key_id, now)
        until = now + self._settings.key_overlap_days * _DAY
        key, text = fresh_key(tenant_id, old.mode, self._settings.prefix, now=now)
        if not await self._tenants.rotate_key(key_id, key, until=until):
            raise refusals.not_found()
        return {"key_id": key.id, "api_key": text, "mode": key.mode, "old_valid_until": utc_text(until)}

    async def delete_key(self, tenant_id: str, key_id: str) -> None:
        """End a key at once; one that has lapsed is deleted like any other (P-AU-04)."""
        await self.find(tenant_id)
        if not await self._tenants.revoke_key(tenant_id, key_id, now=self._clock.now()):
            raise refusals.not_found()

    async def set_payouts(self, tenant_id: str, addresses: Mapping[str, str]) -> None:
        """Replace the ordered list of payout addresses; links that exist keep theirs.

        Raises:
            Refused: 400, a network is unknown or not offered.
            Unprocessable: An address is none of its network.
        """
        await self.find(tenant_id)
        for key, address in addresses.items():
            if key not in NETWORKS or key not in self._lanes:
                raise refusals.unsupported_network(key)
            if not self._lanes[key].is_address(address):
                where = ["body", key, "payout_address"]
                raise Unprocessable([{"loc": where, "msg": f"not an address of {key}", "type": "address_form"}])
        await self._tenants.replace_payouts(tenant_id, addresses)

    async def judge(self, tenant_id: str, kyc_status: str, plan: str | None) -> None:
        """Set what was decided about a tenant, and its plan when one is named."""
        tenant = await self.find(tenant_id)
        await self._tenants.judge(tenant_id, kyc_status=kyc_status, plan=plan or tenant.plan)

    async def _accepted(self, tenant_id: str, key_id: str, now: int) -> ApiKey:
        await self.find(tenant_id)
        for key in await self._tenants.keys(tenant_id):
            if key.id == key_id and key.revoked_at is None and (key.valid_until is None or key.valid_until > now):
                return key
        raise refusals.not_found()


def _described(tenant: Tenant) -> dict[str, Any]:
    return {
        "tenant_id": tenant.id,
        "name": tenant.name,
        "kyc_status": tenant.kyc_status,
        "trial_started_at": utc_text(tenant.trial_started_at),
        "trial_ends_at": utc_text(tenant.trial_ends_at),
    }


def _shown(key: ApiKey) -> dict[str, Any]:
    return {
        "key_id": key.id,
        "mode": key.mode,
        "created_at": utc_text(key.created_at),
        "valid_until": None if key.valid_until is None else utc_text(key.valid_until),
        "revoked_at": None if key.revoked_at is None else utc_text(key.revoked_at),
    }


def _listed(payment: Payment) -> dict[str, Any]:
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
