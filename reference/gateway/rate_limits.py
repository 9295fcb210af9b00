"""Rate limits of the gateway (P-RL-01 to P-RL-04): one limiter for each rule, all on the service's clock."""

from __future__ import annotations

from reference.gateway.settings import GatewaySettings
from reference.web.clock import WpClock
from reference.web.http.asgi_envelope import ANSWER_HEADERS, Scope
from reference.web.http.peers import client_address, read_hops
from reference.web.http.rate import AddressLimit, RateLimit, build_too_many
from reference.web.http.rate_store import Share, share_nothing

_SHARED = ("gateway.tenant", "gateway.address", "gateway.token", "gateway.receipt")


class Limits:
    """Charges calls. Each method adds `X-RateLimit-*` to the answer, and raises 429 for a call beyond the limit.

    Raises:
        Refused: `rate_limited`.
    """

    def __init__(self, settings: GatewaySettings, clock: WpClock, share: Share = share_nothing) -> None:
        # The limits count by the service's clock, which tests move.
        on, token_rate = settings.rate_limits, settings.checkout_token_rate
        self._proxies = settings.proxies()
        tenants, addresses, tokens, receipts = map(share, _SHARED)
        self._tenants = RateLimit(settings.tenant_rate, clock, depth=settings.tenant_burst, on=on, shared=tenants)
        self._addresses = AddressLimit.bucket(settings.ip_rate, clock, depth=settings.ip_burst, on=on, shared=addresses)
        self._tokens = RateLimit(token_rate, clock, depth=token_rate, on=on, shared=tokens)
        self._receipts = AddressLimit.window(settings.receipt_verify_rate, clock, on=on, shared=receipts)

    async def charge_tenant(self, scope: Scope, tenant_id: str) -> None:
        """Charge a call with credentials (P-RL-01). All keys of a tenant share one limit."""
        await _charge(self._tenants, tenant_id, scope)

    async def charge_address(self, scope: Scope) -> None:
        """Charge a call without credentials (P-RL-03)."""
        await _charge(self._addresses, self._address_of(scope), scope)

    async def charge_receipt(self, scope: Scope) -> None:
        """Charge a verification of a receipt (P-RL-02)."""
        await _charge(self._receipts, self._address_of(scope), scope)

    async def charge_token(self, scope: Scope, token: str) -> None:
        """Charge a call about a known checkout token (P-RL-04)."""
        await _charge(self._tokens, token, scope)

    def _address_of(self, scope: Scope) -> str:
        # X-Forwarded-For counts only as far as it was written by proxies that the operator trusts. Any client can send
        # one.
        fields = [value.decode("latin-1") for name, value in scope["headers"] if name.lower() == b"x-forwarded-for"]
        peer = scope.get("client") or ("", 0)
        return client_address(str(peer[0]), read_hops(fields), self._proxies)


async def _charge(limit: RateLimit | AddressLimit, key: str, scope: Scope) -> None:
    allowance = await limit.charge(key)
    if allowance is None:
        return
    scope[ANSWER_HEADERS] = allowance.headers()
    if not allowance.is_allowed:
        raise build_too_many(allowance)
