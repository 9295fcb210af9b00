"""Which key of the profile a refused creation asks for: a member or value that the interface leaves open."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from conformance.http.client import Answer
from conformance.http.refusals import pointers
from conformance.target import Profile

_LINKS, _RESOURCES = "/v1/payment-links", "/v1/resources"
# Keys by the member of a link that a gateway refuses, where it is one that the suite always sends.
_OF_A_LINK: Mapping[str, str] = {
    "currency": "[gateway] currency",
    "preferred_network": "[tenants.NAME] networks",
    "network": "[tenants.NAME] networks",
    "amount": "[gateway] smallest_amount",
    "label": "[gateway] longest_label",
}


def asked_for(profile: Profile, path: str, answer: Answer) -> str | None:
    """Return the reason why a refused creation judges nothing, None where it is held against the target.

    It judges nothing where the refusal names a member that the profile does not bind: what it wants there is open.

    Args:
        profile: The target's profile.
        path: Where the creation was posted.
        answer: What it was answered.
    """
    if profile.is_reference:
        return None
    for pointer in pointers(answer):
        member = pointer.replace("/", ".").rstrip(".").rpartition(".")[2].lstrip("#$")
        key = _key(profile, path, member)
        if key is not None:
            told = answer.body[:160].decode("utf-8", "replace")
            return f"unbound: POST {path} was answered {answer.status} at {pointer}; bind {key} ({told})"
    return None


def _key(profile: Profile, path: str, member: str) -> str | None:
    """Return the key that would settle what a refusal names; None where it is bound, or there is no such key."""
    bound = profile.gateway
    if path == _RESOURCES:
        return None if member in (bound.resource_body or {}) else f"[gateway.resource_body] {member}"
    if path != _LINKS:
        return None
    known: Mapping[str, Any] = {
        "currency": "currency" in bound.model_fields_set,
        "preferred_network": any(tenant.networks for tenant in profile.tenants.values()),
        "network": any(tenant.networks for tenant in profile.tenants.values()),
        "amount": bound.smallest_amount is not None,
        "label": bound.longest_label is not None,
    }
    if member in bound.link_body or known.get(member, False):
        return None
    return _OF_A_LINK.get(member, f"[gateway.link_body] {member}")
