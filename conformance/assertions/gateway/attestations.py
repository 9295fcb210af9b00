"""The settlement attestation of a paid link, at a target that claims the specification (2.2, 2.3)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from conformance.engine.check import Case
from conformance.oracles import jose
from conformance.oracles.ed25519_keys import keys_of_jwks
from conformance.oracles.hash_recipes import settled_refs
from conformance.oracles.member_rules import Rule, between, find_member_faults, is_an
from conformance.oracles.rail_members import attestation_rules
from conformance.oracles.receipt_format import find_form_faults
from conformance.surfaces.gateway.calls import target_of
from conformance.surfaces.gateway.key_documents import DID, JWKS
from conformance.surfaces.gateway.orders import OpenedLink, Order
from conformance.text.times import utc_time

_SKEW_SECONDS: Final = 60


async def find_attestation_faults(case: Case, link: OpenedLink, tx_id: str, token: Any) -> list[str]:
    """Return what of an attestation is not as 2.2 and 2.3 say, in words; empty if nothing is.

    Args:
        case: The case.
        link: The link, which one transfer of its amount paid.
        tx_id: The paying transaction in the canonical form of its chain.
        token: The attestation as a compact JWS.
    """
    call = target_of(case)
    keys = keys_of_jwks((await call("GET", JWKS)).read_object())
    did = (await call("GET", DID)).read_object().get("id")
    fault = jose.fault_of(str(token), keys)
    if fault is not None:
        return [fault]
    order = link.order
    references = settled_refs(case.profile.service_word, tx_id, order.network, "")["payable-core"]
    expected: Mapping[str, Any] = {
        "settled_payment_ref": next(one for one in sorted(references) if one.startswith("sha256:")),
        "settlement_chain": order.network,
        "settlement_amount": {"amount_minor": str(order.microunits), "asset_id": order.asset},
    }
    rules = {**attestation_rules(expected, str(did)), "settlement_timestamp_ms": _bound_by_lifetime(order)}
    faults = find_member_faults(jose.parse(str(token)).claims(), rules, "the attestation")
    return faults + find_form_faults(str(token), keys)


def _bound_by_lifetime(order: Order) -> Rule:
    """Return the rule that a time in milliseconds is between the creation and the end of a link (P-CV-09)."""
    members = order.answer.read_object()
    created_at, expires_at = (utc_time(str(members.get(name))) for name in ("created_at", "expires_at"))
    if created_at is None or expires_at is None:
        return is_an(int)
    first, last = int(created_at.timestamp()) - _SKEW_SECONDS, int(expires_at.timestamp()) + _SKEW_SECONDS
    return between(first * 1000, last * 1000)
