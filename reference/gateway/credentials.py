"""Credentials of calls: tenants by key and id, administrators by key and scope (P-AU-01 to P-AU-04)."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
import uuid
from collections.abc import Sequence
from dataclasses import dataclass

from reference.gateway import refusals
from reference.protocol.keys import base64url
from reference.store.tenants import ApiKey, Tenant, Tenants
from reference.web.clock import WpClock
from reference.web.http.exchange import Request

# The scopes of administrators' keys (3.9). The first administrator has all of them.
SCOPES = ("tenants:admin", "apikeys:admin", "kyb:write", "live:activate", "payments:read", "audit:read")
_SECRET_BYTES = 32
_BEARER = re.compile(r"bearer +([\x21-\x7e]+)", re.IGNORECASE)
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Caller:
    """A tenant that is identified by its key.

    Attributes:
        tenant: The tenant.
        mode: The mode of its key, `test` or `live`.
    """

    tenant: Tenant
    mode: str


def fresh_secret(prefix: str = "") -> str:
    """Return a prefix followed by 43 base64url characters of 32 random bytes (P-AU-02)."""
    return prefix + base64url(secrets.token_bytes(_SECRET_BYTES))


def digest_of(secret: str) -> str:
    """Return the SHA-256 under which a secret is stored, bare hex."""
    # A plain hash is enough: secrets have 256 random bits, so no list of likely ones can be tried (P-AU-02).
    return hashlib.sha256(secret.encode()).hexdigest()


def fresh_key(tenant_id: str, mode: str, prefix: str, *, now: int) -> tuple[ApiKey, str]:
    """Return a new API key and its text, which is shown once."""
    text = fresh_secret(f"{prefix}_")
    return ApiKey(str(uuid.uuid4()), tenant_id, mode, digest_of(text), now), text


class Credentials:
    """Checks the credentials of calls."""

    def __init__(self, tenants: Tenants, clock: WpClock) -> None:
        self._tenants = tenants
        self._clock = clock

    async def tenant(self, request: Request) -> Caller:
        """Return the tenant of a call.

        Raises:
            Refused: 401 `invalid_api_key` or 403 `tenant_id_mismatch`.
        """
        # Both the key and the tenant's id are needed. A key that is tried with another tenant's id is refused, even
        # though the key alone would identify the tenant (P-AU-01).
        digest = digest_of(_bearer(request))
        bearer = await self._tenants.bearer(digest, now=self._clock.now())
        if bearer is None or not hmac.compare_digest(bearer[0].digest, digest):
            raise refusals.invalid_api_key()
        key, tenant = bearer
        id_fields = request.headers.get("x-tenant-id", ())
        if not _names(id_fields, tenant.id):
            raise refusals.tenant_id_mismatch()
        return Caller(tenant, key.mode)

    async def admin(self, request: Request, scope: str) -> frozenset[str]:
        """Return the scopes of the administrator of a call, `scope` among them.

        Raises:
            Refused: 401 `invalid_api_key` or 403 `forbidden_scope`.
        """
        scopes = await self.scopes(_bearer(request))
        if scopes is None:
            raise refusals.invalid_api_key()
        # A known key without the scope is 403, an unknown one 401. The difference reveals only that the caller's key is
        # valid.
        if scope not in scopes:
            raise refusals.forbidden_scope(scope)
        return scopes

    async def key_of_tenant(self, key: str) -> ApiKey | None:
        """Return the API key of a text, or None if it is unknown or not accepted now."""
        bearer = await self._tenants.bearer(digest_of(key), now=self._clock.now())
        return None if bearer is None else bearer[0]

    async def scopes(self, key: str) -> frozenset[str] | None:
        """Return the scopes of an administrator's key, or None if it is not such a key."""
        return await self._tenants.scopes(digest_of(key))


def _bearer(request: Request) -> str:
    fields = request.headers.get("authorization", ())
    # Two Authorization fields are refused. A proxy in front might check one of them and this gateway the other.
    match = _BEARER.fullmatch(fields[0].strip()) if len(fields) == 1 else None
    if match is None:
        raise refusals.invalid_api_key()
    return match[1]


def _names(fields: Sequence[str], tenant_id: str) -> bool:
    """Return whether there is one field and it is the tenant's UUID, compared in constant time if well-formed."""
    if len(fields) != 1 or _UUID.fullmatch(fields[0]) is None:
        return False
    return hmac.compare_digest(fields[0].lower().encode(), tenant_id.encode())
