"""The refusals of the gateway: one constructor for each error code (3.2)."""

from __future__ import annotations

from collections.abc import Iterable

from reference.protocol.error_codes import GATEWAY
from reference.web.errors import Refused, refusal


def invalid_request(message: str) -> Refused:
    """Return the refusal of a call that cannot be read."""
    return Refused(400, "invalid_request", message)


def unsupported_network(network: str | None) -> Refused:
    """Return the refusal of a network that is unknown, not offered, or without a payout address of the tenant."""
    return refusal(GATEWAY["unsupported_network"], context={"network": network})


def unsupported_currency(currency: str) -> Refused:
    """Return the refusal of a currency without a rate (P-MN-03)."""
    return refusal(GATEWAY["unsupported_currency"], context={"currency": currency})


def invalid_api_key() -> Refused:
    """Return the refusal of a call without an accepted key."""
    return refusal(GATEWAY["invalid_api_key"], {"WWW-Authenticate": "Bearer"})


def tenant_id_mismatch() -> Refused:
    """Return the refusal of a key without its tenant's id."""
    return refusal(GATEWAY["tenant_id_mismatch"])


def forbidden_scope(scope: str) -> Refused:
    """Return the refusal of an administrator's key that may not do this."""
    return refusal(GATEWAY["forbidden_scope"], context={"scope": scope}, scope=scope)


def invalid_cancel_secret() -> Refused:
    """Return the refusal of a cancellation with a wrong secret."""
    return refusal(GATEWAY["invalid_cancel_secret"])


def self_payment_blocked() -> Refused:
    """Return the refusal of a payment from the payout address to itself."""
    return refusal(GATEWAY["self_payment_blocked"])


def not_found() -> Refused:
    """Return the refusal of a path, token or record that is not there."""
    # One answer for missing records and for those of other tenants, so that no client can find out which ids exist.
    return refusal(GATEWAY["not_found"])


def method_not_allowed(methods: Iterable[str]) -> Refused:
    """Return the refusal of a method that a path does not have."""
    names = sorted(methods)
    return refusal(
        GATEWAY["method_not_allowed"], {"Allow": ", ".join(names)}, {"allowed": names}, methods=" and ".join(names)
    )


def idempotency_conflict() -> Refused:
    """Return the refusal of an Idempotency-Key that was used with another body (P-ID-04)."""
    return refusal(GATEWAY["idempotency_conflict"])


def idempotency_in_progress() -> Refused:
    """Return the refusal of a call whose first execution is not over yet (P-ID-05)."""
    return refusal(GATEWAY["idempotency_in_progress"])


def already_paid(tx_id: str | None) -> Refused:
    """Return the refusal of a link that is paid already."""
    return refusal(GATEWAY["payment_link_already_paid"], context={"tx_id": tx_id})


def payment_pending(tx_id: str) -> Refused:
    """Return the refusal to abandon a link whose payment is on its way."""
    return refusal(GATEWAY["payment_pending"], context={"tx_id": tx_id})


def resource_exists(resource_id: str) -> Refused:
    """Return the refusal of a resource id that the tenant uses already."""
    return refusal(GATEWAY["resource_exists"], context={"resource_id": resource_id})


def link_expired(expires_at: str) -> Refused:
    """Return the refusal of a link whose time is over."""
    return refusal(GATEWAY["payment_link_expired"], context={"expires_at": expires_at})


def link_cancelled() -> Refused:
    """Return the refusal of a link that was cancelled."""
    return refusal(GATEWAY["payment_link_cancelled"])


def unsupported_media_type() -> Refused:
    """Return the refusal of a body that does not say that it is JSON."""
    return refusal(GATEWAY["unsupported_media_type"])


def not_verified(reason: str) -> Refused:
    """Return the refusal of a payment that the chain does not confirm (P-CK-06)."""
    return refusal(GATEWAY["payment_not_verified"], context={"reason": reason}, reason=reason.replace("_", " "))


def cross_tenant_replay() -> Refused:
    """Return the refusal of a transfer that paid a link of another tenant."""
    return refusal(GATEWAY["cross_tenant_replay"])


def kyb_required(network: str | None) -> Refused:
    """Return the refusal of mainnet before approval (P-TR-02)."""
    return refusal(GATEWAY["kyb_required_for_mainnet"], context={"network": network})


def chain_unavailable() -> Refused:
    """Return the refusal of a question that the chain cannot be asked now."""
    return refusal(GATEWAY["chain_unavailable"])


def store_unavailable() -> Refused:
    """Return the refusal of a call that needs the database while it is away."""
    return refusal(GATEWAY["store_unavailable"])
