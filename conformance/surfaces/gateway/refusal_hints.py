"""Which key of the profile a refused creation asks for: a member or value that the interface leaves open."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from conformance.http.client import Answer
from conformance.http.refusal_details import list_members, list_words
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


# Words by which a refusal names such a member when it points at none, as in `currency_not_offered`.
_MEMBER_WORDS: Mapping[str, frozenset[str]] = {
    "currency": frozenset({"currency", "currencies"}),
    "preferred_network": frozenset({"network", "networks", "chain", "chains"}),
    "amount": frozenset({"amount", "minimum", "maximum"}),
    "label": frozenset({"label"}),
}
# Words of an amount that is too large; the suite knows no key for the most that a link may be for.
_TOO_LARGE = frozenset({"maximum", "max", "large", "exceeds", "exceeded", "above", "most", "over"})
_TOO_HIGH = "raise the most that a link may be for while the suite runs, since no key of the profile says it"
# A refused Idempotency-Key may name the member that differs from the first call's: that is no open value.
_OF_A_KEY = frozenset({"idempotency", "idempotent", "key"})


def explain_open_value(profile: Profile, path: str, answer: Answer) -> str | None:
    """Return the reason why a refused creation judges nothing, None where it is held against the target.

    It judges nothing where the refusal names a member whose value the profile leaves open, by a pointer or by the words
    of its code or message.

    Args:
        profile: The target's profile.
        path: Where the creation was posted.
        answer: What it was answered.
    """
    # The reference leaves nothing open, so each of its refusals is judged.
    if profile.is_reference:
        return None
    answer_words = list_words(answer)
    for place, member in _places(path, answer, answer_words):
        if member == "amount" and _TOO_LARGE & answer_words:
            remedy = _TOO_HIGH
        elif (key := _key(profile, path, member)) is not None:
            remedy = f"bind {key}"
        else:
            continue
        content = answer.body[:160].decode("utf-8", "replace")
        return f"unbound: POST {path} was answered {answer.status} at {place}; {remedy} ({content})"
    return None


def _places(path: str, answer: Answer, answer_words: frozenset[str]) -> Iterator[tuple[str, str]]:
    """Yield what a refusal names, as it says it, and the member that this is."""
    for pointer in list_members(answer):
        yield pointer, pointer.replace("/", ".").rstrip(".").rpartition(".")[2].lstrip("#$")
    # Only links have members that the suite always sends. A refused Idempotency-Key may quote
    # any member.
    if path == _LINKS and not _OF_A_KEY & answer_words:
        yield from ((member, member) for member, names in _MEMBER_WORDS.items() if names & answer_words)


def _key(profile: Profile, path: str, member: str) -> str | None:
    """Return the key that would settle what a refusal names; None where it is bound, or there is no such key."""
    bindings = profile.gateway
    if path == _RESOURCES:
        return None if member in (bindings.resource_body or {}) else f"[gateway.resource_body] {member}"
    if path != _LINKS:
        return None
    networks = any(tenant.networks or tenant.payout for tenant in profile.tenants.values())
    is_bound: Mapping[str, Any] = {
        "currency": "currency" in bindings.model_fields_set,
        "preferred_network": networks,
        "network": networks,
        "amount": bindings.smallest_amount is not None,
        "label": bindings.longest_label is not None,
    }
    if member in bindings.link_body or is_bound.get(member, False):
        return None
    return _OF_A_LINK.get(member, f"[gateway.link_body] {member}")
