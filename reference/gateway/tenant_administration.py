"""Administration of tenants, for the internal API and the dashboard (3.9)."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from reference.gateway import refusals
from reference.gateway.credentials import fresh_key
from reference.gateway.idempotency import Keep, keep_nothing
from reference.gateway.settings import GatewaySettings
from reference.gateway.unmatched_payments import UnmatchedPayments, build_payment_members
from reference.gateway.webhooks import Webhooks
from reference.lanes.lane import Lane
from reference.protocol.networks import NETWORKS
from reference.protocol.time_text import utc_text
from reference.protocol.trial_limits import KeyMode, LinkRefused, TenantStatus, admit_link, mode_of
from reference.store.link_payments import Payments, PaymentState, UnmatchedPayment
from reference.store.links import Links, LinkWithState
from reference.store.payment_text_search import ALL_PAYMENTS, PaymentSearch
from reference.store.tenants import ApiKey, Tenant, Tenants
from reference.web.clock import WpClock
from reference.web.errors import Unprocessable

_DAY = 86400
PAGE_ROWS = 50


@dataclass(frozen=True, slots=True)
class Page:
    """Part of a list.

    Attributes:
        rows: Its rows.
        after: Id of its last row if further ones follow, else None.
    """

    rows: Sequence[Mapping[str, Any]]
    after: str | None

    @classmethod
    def of(cls, candidates: Sequence[Mapping[str, Any]], name: str) -> Page:
        """Return the page of rows, of which there may be one more than fits; `name` names their ids."""
        rows = candidates[:PAGE_ROWS]
        return cls(rows, str(rows[-1][name]) if len(candidates) > len(rows) else None)


class TenantAdministration:
    """Creates and changes tenants. Every method with a tenant's id raises `Refused` 404 if the tenant is unknown."""

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
        self._unmatched_payments = UnmatchedPayments(clock, payments)
        self._lanes = lanes
        self._webhooks = webhooks

    async def create(self, name: str, keep: Keep = keep_nothing) -> dict[str, Any]:
        """Create a tenant on trial with a test key, whose text is only in the answer.

        `keep` may store the answer in the same transaction.
        """
        now = self._clock.now()
        tenant = Tenant(str(uuid.uuid4()), name, "trial", "trial", now, now + self._settings.trial_days * _DAY)
        key, text = fresh_key(tenant.id, "test", self._settings.prefix, now=now)
        answer = {**_tenant_members(tenant), "api_key": text, "key_id": key.id}
        await self._tenants.add(tenant, key, write=keep(answer))
        return answer

    async def record(self, tenant_id: str) -> dict[str, Any]:
        """Return the record of a tenant, without secrets."""
        tenant = await self.find(tenant_id)
        payouts = await self._tenants.payouts(tenant_id)
        return {
            **_tenant_members(tenant),
            "plan": tenant.plan,
            "networks": {key: {"payout_address": address} for key, address in payouts.items()},
            "destinations": await self._webhooks.destinations(tenant_id),
            "keys": [_key_members(key) for key in await self._tenants.keys(tenant_id)],
            "allowance_microunits": self._settings.mainnet_allowance_microunits,
            "used_microunits": await self._links.paid_on_mainnet(tenant_id),
        }

    async def payments(self, tenant_id: str, state: PaymentState) -> list[dict[str, Any]]:
        """Return a tenant's payments, newest first; `amount` is atomic units as text (P-CK-10)."""
        await self.find(tenant_id)
        if state is not PaymentState.PAID:
            return await self._unmatched_payments.of_state(tenant_id, state)
        return [build_payment_members(payment) for payment in await self._payments.of_tenant(tenant_id, state)]

    async def list_tenants(self, after: str | None = None) -> Page:
        """Return a page of tenants, the newest first."""
        candidates = await self._tenants.list_page(most=PAGE_ROWS + 1, after=after)
        return Page.of([{**_tenant_members(one), "plan": one.plan} for one in candidates], "tenant_id")

    async def links(self, tenant_id: str, after: str | None = None) -> Page:
        """Return a page of a tenant's links with their states, newest first."""
        await self.find(tenant_id)
        candidates = await self._links.of_tenant(tenant_id, most=PAGE_ROWS + 1, after=after)
        return Page.of([self._link_members(one) for one in candidates], "id")

    async def link(self, tenant_id: str, link_id: str) -> dict[str, Any]:
        """Return a link of a tenant with its state.

        Raises:
            Refused: 404, the link is unknown, or it is another tenant's.
        """
        entry = await self._links.of_tenant_by_id(tenant_id, link_id)
        if entry is None:
            raise refusals.not_found()
        return self._link_members(entry)

    async def list_unmatched(self, tenant_id: str, search: PaymentSearch = ALL_PAYMENTS) -> list[dict[str, Any]]:
        """Return a tenant's unmatched payments, as `UnmatchedPayments.of_tenant`."""
        await self.find(tenant_id)
        return await self._unmatched_payments.of_tenant(tenant_id, search)

    async def select_unmatched(self, tenant_id: str, search: PaymentSearch, *, most: int) -> list[UnmatchedPayment]:
        """Return a tenant's unmatched payments, as `UnmatchedPayments.select`."""
        await self.find(tenant_id)
        return await self._unmatched_payments.select(tenant_id, search, most=most)

    async def refund(self, tenant_id: str, payment_id: str, transaction: str) -> None:
        """Record that a payment of a tenant was given back, as `UnmatchedPayments.refund`."""
        await self._unmatched_payments.refund(payment_id, transaction, tenant_id=tenant_id)

    def list_offered_networks(self) -> list[str]:
        """Return the keys of the networks that are offered now, in the order of the network table."""
        return [key for key in NETWORKS if key in self._lanes]

    async def find_trial_refusal(self, tenant_id: str, mode: KeyMode) -> str | None:
        """Return the code with which the trial rules would refuse a link of the least amount now, or None (3.10).

        Args:
            tenant_id: The tenant.
            mode: `test` for test networks, `live` for mainnet.
        """
        tenant = await self.find(tenant_id)
        network = next(one for one in NETWORKS.values() if mode_of(one) == mode)
        trial_standing = TenantStatus(
            kyc_status=tenant.kyc_status,
            plan=tenant.plan,
            trial_ends_at=tenant.trial_ends_at,
            key_mode=mode,
            used_microunits=await self._links.paid_on_mainnet(tenant_id),
            allowance_microunits=self._settings.mainnet_allowance_microunits,
        )
        try:
            admit_link(trial_standing, network, 1, now=self._clock.now())
        except LinkRefused as refused:
            return refused.code
        return None

    async def find(self, tenant_id: str) -> Tenant:
        """Return a tenant."""
        tenant = await self._tenants.get(tenant_id)
        if tenant is None:
            raise refusals.not_found()
        return tenant

    async def add_key(self, tenant_id: str, mode: KeyMode, keep: Keep = keep_nothing) -> dict[str, Any]:
        """Create a further key, a live one only after approval. `keep` as in `create`."""
        await self._check_approval(tenant_id, mode)
        key, text = fresh_key(tenant_id, mode, self._settings.prefix, now=self._clock.now())
        answer = {"key_id": key.id, "api_key": text, "mode": mode}
        await self._tenants.add_key(key, write=keep(answer))
        return answer

    async def rotate_key(
        self, tenant_id: str, key_id: str, keep: Keep = keep_nothing, *, scopes: Collection[str]
    ) -> dict[str, Any]:
        """Create a key in place of another, which stays valid for the overlap (P-AU-04).

        Args:
            tenant_id: The tenant.
            key_id: The key that is replaced.
            keep: May store the answer in the same transaction.
            scopes: Those of the caller. A live key needs the scope to make one, and an approved tenant.

        Raises:
            Refused: 404, there is no such key; 403, the scope is missing; 422, the tenant is not approved.
        """
        now = self._clock.now()
        # Checked before anything is created: a rotation must not turn a revoked key into a valid one.
        old = await self._find_accepted_key(tenant_id, key_id, now)
        if old.mode == "live" and "live:activate" not in scopes:
            raise refusals.forbidden_scope("live:activate")
        await self._check_approval(tenant_id, old.mode)
        until = now + self._settings.key_overlap_days * _DAY
        key, text = fresh_key(tenant_id, old.mode, self._settings.prefix, now=now)
        answer = {"key_id": key.id, "api_key": text, "mode": key.mode, "old_valid_until": utc_text(until)}
        # The key may have been rotated or deleted since it was read. The statement decides, and nothing is added then.
        if not await self._tenants.rotate_key(key_id, key, until=until, write=keep(answer)):
            raise refusals.not_found()
        return answer

    async def delete_key(self, tenant_id: str, key_id: str) -> None:
        """Delete a key at once, also a lapsed one (P-AU-04)."""
        await self.find(tenant_id)
        if not await self._tenants.revoke_key(tenant_id, key_id, now=self._clock.now()):
            raise refusals.not_found()

    async def set_payouts(self, tenant_id: str, addresses: Mapping[str, str]) -> None:
        """Replace the ordered list of payout addresses. Existing links keep theirs.

        Raises:
            Refused: 400, a network is unknown or not offered.
            Unprocessable: Addresses are not of their networks.
        """
        await self.find(tenant_id)
        self.check_payouts(addresses)
        await self._tenants.replace_payouts(tenant_id, addresses)

    def check_payouts(self, addresses: Mapping[str, str]) -> None:
        """Accept the payout addresses of a tenant.

        Raises:
            Refused: 400, a network is unknown or not offered.
            Unprocessable: Addresses are not of their networks.
        """
        # The networks are checked before the addresses, because an unknown network has no rule for addresses.
        for key in addresses:
            if key not in NETWORKS or key not in self._lanes:
                raise refusals.unsupported_network(key)
        wrong = [key for key, address in addresses.items() if not self._lanes[key].is_address(address)]
        if wrong:
            raise Unprocessable([_address_fault(key) for key in wrong])

    async def judge(self, tenant_id: str, kyc_status: str, plan: str | None) -> None:
        """Set the decision about a tenant, and its plan if one is given."""
        tenant = await self.find(tenant_id)
        await self._tenants.judge(tenant_id, kyc_status=kyc_status, plan=plan or tenant.plan)

    async def _check_approval(self, tenant_id: str, mode: str) -> None:
        tenant = await self.find(tenant_id)
        # A live key before the approval would be of no use: its links would all be refused (P-TR-02).
        if mode == "live" and tenant.kyc_status != "approved":
            raise refusals.kyb_required(None)

    async def _find_accepted_key(self, tenant_id: str, key_id: str, now: int) -> ApiKey:
        await self.find(tenant_id)
        for key in await self._tenants.keys(tenant_id):
            if key.id == key_id and key.revoked_at is None and (key.valid_until is None or key.valid_until > now):
                return key
        raise refusals.not_found()

    def _link_members(self, entry: LinkWithState) -> dict[str, Any]:
        link = entry.link
        return {
            "id": link.id,
            "label": link.label,
            "network": link.network,
            "amount_microunits": link.amount_microunits,
            "state": entry.state,
            "checkout_url": f"{self._settings.public_url}/checkout/{link.token}",
            "created_at": utc_text(link.created_at),
            "expires_at": utc_text(link.expires_at),
            "tx_id": entry.tx_id,
            "reversed_at": None if entry.reversed_at is None else utc_text(entry.reversed_at),
        }


def _address_fault(key: str) -> dict[str, Any]:
    return {"loc": ["body", key, "payout_address"], "msg": f"not an address of {key}", "type": "address_form"}


def _tenant_members(tenant: Tenant) -> dict[str, Any]:
    return {
        "tenant_id": tenant.id,
        "name": tenant.name,
        "kyc_status": tenant.kyc_status,
        "trial_started_at": utc_text(tenant.trial_started_at),
        "trial_ends_at": utc_text(tenant.trial_ends_at),
    }


def _key_members(key: ApiKey) -> dict[str, Any]:
    return {
        "key_id": key.id,
        "mode": key.mode,
        "created_at": utc_text(key.created_at),
        "valid_until": None if key.valid_until is None else utc_text(key.valid_until),
        "revoked_at": None if key.revoked_at is None else utc_text(key.revoked_at),
    }
