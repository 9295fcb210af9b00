"""Why the gateway refuses a call: one constructor a code (3.2)."""

from __future__ import annotations

from collections.abc import Iterable

from reference.web.errors import Refused


def invalid_request(message: str) -> Refused:
    """Return the refusal of a call that cannot be read."""
    return Refused(400, "invalid_request", message)


def unsupported_network(network: str | None) -> Refused:
    """Return the refusal of a network that is unknown, not offered, or without a payout address of the tenant."""
    message = "this network is unknown, not offered here, or without a payout address of the tenant"
    return Refused(400, "unsupported_network", message, context={"network": network})


def unsupported_currency(currency: str) -> Refused:
    """Return the refusal of a currency without a rate (P-MN-03)."""
    return Refused(400, "unsupported_currency", "there is no rate for this currency", context={"currency": currency})


def invalid_api_key() -> Refused:
    """Return the refusal of a call without an accepted key."""
    message = "send Authorization: Bearer with an API key that is neither deleted nor lapsed"
    return Refused(401, "invalid_api_key", message, {"WWW-Authenticate": "Bearer"})


def tenant_id_mismatch() -> Refused:
    """Return the refusal of a key without its tenant's id."""
    return Refused(403, "tenant_id_mismatch", "send X-Tenant-Id with the UUID of the tenant whose key this is")


def forbidden_scope(scope: str) -> Refused:
    """Return the refusal of an administrator's key that may not do this."""
    return Refused(403, "forbidden_scope", f"this key lacks the scope {scope}", context={"scope": scope})


def invalid_cancel_secret() -> Refused:
    """Return the refusal of a cancellation by somebody else."""
    return Refused(403, "invalid_cancel_secret", "the cancel secret is not this link's")


def self_payment_blocked() -> Refused:
    """Return the refusal of a payment from the payout address to itself."""
    return Refused(403, "self_payment_blocked", "the payer is the payout address itself; pay from another account")


def not_found() -> Refused:
    """Return the refusal of a path, token or record that is not there."""
    return Refused(404, "not_found", "there is nothing at this address")


def method_not_allowed(allowed: Iterable[str]) -> Refused:
    """Return the refusal of a method that a path does not have."""
    names = sorted(allowed)
    message = f"this path answers {' and '.join(names)}"
    return Refused(405, "method_not_allowed", message, {"Allow": ", ".join(names)}, {"allowed": names})


def idempotency_conflict() -> Refused:
    """Return the refusal of an Idempotency-Key that was used with another body (P-ID-04)."""
    return Refused(409, "idempotency_conflict", "this Idempotency-Key was used with another body; use a new one")


def idempotency_in_progress() -> Refused:
    """Return the refusal of a call whose first execution is not over yet (P-ID-05)."""
    message = "the first call with this Idempotency-Key is still running; send the same again"
    return Refused(409, "idempotency_in_progress", message, {"Retry-After": "1"})


def already_paid(tx_id: str | None) -> Refused:
    """Return the refusal of a link that is paid already."""
    return Refused(409, "payment_link_already_paid", "the link is paid already", context={"tx_id": tx_id})


def payment_pending(tx_id: str) -> Refused:
    """Return the refusal to abandon a link whose payment is on its way."""
    return Refused(409, "payment_pending", "a payment for this link is on its way", context={"tx_id": tx_id})


def resource_exists(resource_id: str) -> Refused:
    """Return the refusal of a resource id that the tenant uses already."""
    message = "you have a resource of this id; choose another"
    return Refused(409, "resource_exists", message, context={"resource_id": resource_id})


def link_expired(expires_at: str) -> Refused:
    """Return the refusal of a link whose time is over."""
    message = "the link has expired; ask for a new one"
    return Refused(410, "payment_link_expired", message, context={"expires_at": expires_at})


def link_cancelled() -> Refused:
    """Return the refusal of a link that was cancelled."""
    return Refused(410, "payment_link_cancelled", "the link was cancelled; ask for a new one")


def unsupported_media_type() -> Refused:
    """Return the refusal of a body that does not say that it is JSON."""
    message = "send the body as application/json in UTF-8, without a content coding"
    return Refused(415, "unsupported_media_type", message)


def not_verified(reason: str) -> Refused:
    """Return the refusal of a payment that the chain does not confirm (P-CK-06)."""
    message = f"the chain does not confirm this payment: {reason.replace('_', ' ')}"
    return Refused(422, "payment_not_verified", message, context={"reason": reason})


def cross_tenant_replay() -> Refused:
    """Return the refusal of a transfer that paid a link of another tenant."""
    return Refused(422, "cross_tenant_replay", "this transfer has paid another link already; pay again")


def kyb_required(network: str | None) -> Refused:
    """Return the refusal of mainnet before approval (P-TR-02)."""
    message = "mainnet is open to approved businesses; complete the verification first"
    return Refused(422, "kyb_required_for_mainnet", message, context={"network": network})


def chain_unavailable() -> Refused:
    """Return the refusal of a question that the chain cannot be asked now."""
    return Refused(503, "chain_unavailable", "the chain cannot be asked; try again", {"Retry-After": "5"})


def store_unavailable() -> Refused:
    """Return the refusal of a call that needs the database while it is away."""
    return Refused(503, "store_unavailable", "the database cannot be asked; try again", {"Retry-After": "5"})
