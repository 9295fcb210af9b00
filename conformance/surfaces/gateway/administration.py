"""Tenants that a check creates through the target's administrator (specification 3.9)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import quote, urlencode

from conformance.engine.check import Case
from conformance.engine.tenant_credentials import Credentials
from conformance.http.client import Answer
from conformance.outcome import Inconclusive
from conformance.surfaces.gateway.calls import short
from conformance.target import Secret

_TENANTS = "/internal/tenants"
_CREATED_STATUSES = frozenset({200, 201})


@dataclass(frozen=True, slots=True)
class Administrator:
    """An administrator of a gateway, who may call the paths below /internal.

    Attributes:
        case: The case of the check that calls.
        key: An administrator's key; the log has its name only.
        gateway: Address of the gateway that it administers, without a slash at its end; the target's when empty.
    """

    case: Case
    key: str = field(repr=False)
    gateway: str = ""

    async def call(self, method: str, *path: str, body: Any = None, query: Mapping[str, str] | None = None) -> Answer:
        """Send one call of `/internal/tenants` and return the answer."""
        base = self.gateway or self.case.session.gateway
        # Ids come from the target. Quoted, an id with a slash or a dot segment cannot lead to another path.
        url = "/".join([f"{base}{_TENANTS}", *(quote(part, safe="") for part in path)])
        url += f"?{urlencode(query)}" if query else ""
        return await self.case.client.call(method, url, json_body=body, headers={"Authorization": f"Bearer {self.key}"})

    async def call_successfully(self, method: str, *path: str, body: Any = None) -> Mapping[str, Any]:
        """Send a call that must succeed for the check to go on, and return the members of its answer.

        Raises:
            Inconclusive: It did not.
        """
        answer = await self.call(method, *path, body=body)
        if not 200 <= answer.status < 300:
            raise Inconclusive(f"{method} {_TENANTS}/… was answered {answer.status}: {short(answer)}")
        members = answer.read_object()
        for name, value in members.items():
            # Secrets are replaced everywhere in the log. Ids are only named, so that logs of
            # runs can be compared.
            if name in {"api_key", "secret"} and isinstance(value, str):
                self.case.client.names.secret(value, f"NEW_{name.upper()}")
            elif name.endswith("_id") and isinstance(value, str):
                self.case.client.names.name(value, f"NEW_{name.upper()}")
        return members

    async def create_tenant(self, name: str, payout: Mapping[str, str]) -> Credentials:
        """Create a tenant with a test key, paid at these addresses by network key.

        Raises:
            Inconclusive: It was not made.
        """
        members = await self.call_successfully("POST", body={"name": name})
        tenant_id, key = members.get("tenant_id"), members.get("api_key")
        if not isinstance(tenant_id, str) or not isinstance(key, str):
            raise Inconclusive("a tenant was made without tenant_id or api_key")
        # A new tenant has no payout address, and a link could not be paid.
        addresses = {network: {"payout_address": address} for network, address in payout.items()}
        await self.call_successfully("PUT", tenant_id, "networks", body=addresses)
        return Credentials("own", tenant_id, key, tuple(payout), dict(payout))

    async def approve(self, tenant: Credentials) -> None:
        """Approve a tenant, on the plan `trial`.

        Raises:
            Inconclusive: It was not approved.
        """
        await self.call_successfully("POST", tenant.id, "kyc", body={"status": "approved", "plan": "trial"})

    async def add_key(self, tenant: Credentials, mode: str) -> Credentials:
        """Create a further key of a tenant, and return the tenant with it.

        Raises:
            Inconclusive: It was not made.
        """
        return replace(tenant, key=(await _create_key(self, tenant.id, mode))[1])

    async def rotate_further_key(self, tenant: Credentials) -> RotatedKey:
        """Create a further key of a tenant and rotate it, so that it works for a time next to its successor.

        Raises:
            Inconclusive: It was not.
        """
        key_id, key = await _create_key(self, tenant.id, "test")
        members = await self.call_successfully("POST", tenant.id, "api-keys", key_id, "rotate")
        successor = members.get("api_key")
        if not isinstance(successor, str):
            raise Inconclusive("a key was rotated without a new api_key")
        valid_until = members.get("old_valid_until")
        return RotatedKey(replace(tenant, key=key), key_id, valid_until, replace(tenant, key=successor))


@dataclass(frozen=True, slots=True)
class RotatedKey:
    """A key of a tenant that was rotated.

    Attributes:
        old: The tenant with the key from before, which works until its days are over (P-AU-04).
        old_id: The id of that key.
        old_valid_until: When it ends, as it was answered.
        successor: The tenant with the new key.
    """

    old: Credentials
    old_id: str
    old_valid_until: object
    successor: Credentials


@dataclass(frozen=True, slots=True)
class TwoKeys:
    """A check's own tenant with two keys.

    Attributes:
        admin: The administrator that created them.
        first: The tenant with the key that it has from the beginning.
        second: The tenant with the other key, which may be deleted.
        key_id: The id of that one.
    """

    admin: Administrator
    first: Credentials
    second: Credentials
    key_id: str

    async def delete(self) -> None:
        """Delete the second key of the tenant.

        Raises:
            Inconclusive: It was not.
        """
        await self.admin.call_successfully("DELETE", self.first.id, "api-keys", self.key_id)

    async def request_deletion(self, key_id: str) -> Answer:
        """Request the deletion of a key of the tenant, and return the answer."""
        return await self.admin.call("DELETE", self.first.id, "api-keys", key_id)

    async def rotate_further_key(self) -> RotatedKey:
        """Rotate a further key of the tenant; see `Administrator.rotate_further_key`."""
        return await self.admin.rotate_further_key(self.first)

    async def add_key(self) -> Credentials:
        """Create a further key, and return the tenant with it.

        Raises:
            Inconclusive: It was not.
        """
        return await self.admin.add_key(self.first, "test")


async def create_tenant_with_two_keys(case: Case, name: str) -> TwoKeys | None:
    """Create a tenant with two keys; None if the target does not claim tenants, or no administrator is known.

    Raises:
        Inconclusive: It was not made.
    """
    # The interface defines no calls for administrators. They belong to the specification, so only a target that claims
    # them gets them.
    if not case.profile.claims.includes("gateway.tenants") or case.profile.gateway.admin_key is None:
        return None
    admin = administrator(case)
    tenant = await admin.create_tenant(name, case.session.tenants.get().payout)
    key_id, key = await _create_key(admin, tenant.id, "test")
    return TwoKeys(admin, tenant, replace(tenant, key=key), key_id)


def find_administrator(case: Case, gateway: str, key: Secret | None) -> Administrator | None:
    """Return an administrator of another gateway; None if the target does not claim tenants, or gives no key of one."""
    if not case.profile.claims.includes("gateway.tenants") or key is None:
        return None
    text = key.read()
    case.client.names.secret(text, "LIMITED_ADMIN_KEY")
    return Administrator(case, text, gateway)


async def _create_key(admin: Administrator, tenant_id: str, mode: str) -> tuple[str, str]:
    """Create a further key of a tenant, and return its id and its text."""
    members = await admin.call_successfully("POST", tenant_id, "api-keys", body={"mode": mode})
    key_id, key = members.get("key_id"), members.get("api_key")
    if not isinstance(key_id, str) or not isinstance(key, str):
        raise Inconclusive("a key was made without key_id or api_key")
    return key_id, key


def administrator(case: Case) -> Administrator:
    """Return the administrator of the profile.

    Raises:
        Inconclusive: It gives none.
    """
    key = case.profile.gateway.admin_key
    if key is None:
        raise Inconclusive("needs an administrator's key: give [gateway] admin_key")
    text = key.read()
    case.client.names.secret(text, "ADMIN_KEY")
    return Administrator(case, text)
