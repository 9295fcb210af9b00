"""Every point of the chameleon, and the pairs of values that exclude each other."""

from __future__ import annotations

from reference.variants.chameleon import (
    addon_points,
    agent_points,
    gateway_event_points,
    gateway_points,
    http_points,
    hub_audit_points,
    hub_points,
    rail_a2a_points,
    rail_points,
)
from reference.variants.chameleon.points import Conflict, Point, Variant, draw

POINTS: tuple[Point, ...] = (
    *http_points.POINTS,
    *rail_points.POINTS,
    *rail_a2a_points.POINTS,
    *gateway_points.POINTS,
    *gateway_event_points.POINTS,
    *agent_points.POINTS,
    *hub_points.POINTS,
    *hub_audit_points.POINTS,
    *addon_points.POINTS,
)
_IN_BODY = ("member payable_receipt", "member proof.receipt", "in a list")

# Points are drawn independently. A pair in this table would describe a server that cannot exist, so the second
# value is replaced. Each reason is shown on the page of points.
CONFLICTS = (
    Conflict(
        ("keys.kid", ("in the key set only", "nothing")),
        ("keys.jwks", ("a P-256 one and a retired one before",)),
        "a retired one and a P-256 one after",
        "a signature that names no key is by the first one of the set",
    ),
    Conflict(
        ("rail.result-place", ("the whole body",)),
        ("rail.receipt-place", _IN_BODY),
        "header X-Payable-Receipt",
        "where the body is the result, the receipt stands elsewhere",
    ),
    Conflict(
        ("rail.receipt-place", _IN_BODY),
        ("rail.response-hash", ("raw-body", "jcs-body")),
        "jcs-body-without-receipt",
        "no receipt holds a hash of a body that holds the receipt",
    ),
    Conflict(
        ("rail.receipt-place", ("inside PAYMENT-RESPONSE",)),
        ("rail.payment-response", ("none", "X-PAYMENT-RESPONSE")),
        "PAYMENT-RESPONSE",
        "the header that holds the receipt is there",
    ),
    Conflict(
        ("hub.audit-entry", ("without the MAC before it",)),
        ("hub.audit-recipe", ("jcs-without-mac", "sorted-json-without-mac")),
        "prev-jcs",
        "a MAC covers the one before it, in the entry or in addition to it",
    ),
)


def draw_variant(seed: int) -> Variant:
    """Return the variant of a seed."""
    return draw(POINTS, CONFLICTS, seed)
