"""Requests that a rail's services take or refuse by the specification (5.2, P-SC-01, P-GR-01), by service."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from conformance.vocabulary.networks import EXAMPLE

# 5.2: the example request of each service.
EXAMPLES: Final[Mapping[str, Mapping[str, Any]]] = {
    "receipt-verify": {"jws": "e30.e30.AA"},
    "rfc9421-verify": {
        "method": "GET",
        "authority": "example.com",
        "path": "/",
        "headers": {},
        "public_key_hex": "03a107bff3ce10be1d70dd18e74bc09967e4d6309ba50d5f1ddc8664125531b8",
    },
    "compliance-receipt": {"recipient_address": "screen-allow", "network": EXAMPLE.key},
}
_UNKNOWN_MEMBER: Final = {"no_such_member_of_any_service": 1}
_SCREENING: Final = EXAMPLES["compliance-receipt"]
_RECEIPT: Final = EXAMPLES["receipt-verify"]
_LONGEST_ADDRESS, _LONGEST_ASSET = 128, 128
_ACCEPTED: Final[Mapping[str, Mapping[str, Mapping[str, Any]]]] = {
    "receipt-verify": {
        "jws null": {"jws": None},
        "jws empty": {"jws": ""},
        "jwks null": {**_RECEIPT, "jwks": None},
        # A key set of another type is a fault of the receipt's verification, not of the request (2.4, step 2).
        "jwks a text": {**_RECEIPT, "jwks": "a"},
        "expected_payment_hash null": {**_RECEIPT, "expected_payment_hash": None},
    },
    "compliance-receipt": {
        "an address of 128 characters": {**_SCREENING, "recipient_address": "a" * _LONGEST_ADDRESS},
        "an address of 4 characters": {**_SCREENING, "recipient_address": "abcd"},
        "the amount 5": {**_SCREENING, "amount_microunits": 5},
        "the amount 5.0": {**_SCREENING, "amount_microunits": 5.0},
        "the amount 0": {**_SCREENING, "amount_microunits": 0},
        "amount and asset null": {**_SCREENING, "amount_microunits": None, "asset": None},
        "an asset of 128 characters": {**_SCREENING, "asset": "a" * _LONGEST_ASSET},
    },
}
_REFUSED: Final[Mapping[str, Mapping[str, Mapping[str, Any]]]] = {
    "receipt-verify": {"no jws": {"jwks": None}, "jws a number": {"jws": 1}},
    "compliance-receipt": {
        "an unknown network": {**_SCREENING, "network": "no-such-network"},
        "no network": {"recipient_address": "screen-allow"},
        "an address of 3 characters": {**_SCREENING, "recipient_address": "abc"},
        "an address of 129 characters": {**_SCREENING, "recipient_address": "a" * (_LONGEST_ADDRESS + 1)},
        "an address null": {**_SCREENING, "recipient_address": None},
        "the amount -1": {**_SCREENING, "amount_microunits": -1},
        "the amount 1.5": {**_SCREENING, "amount_microunits": 1.5},
        "the amount a text": {**_SCREENING, "amount_microunits": "5"},
        "the amount true": {**_SCREENING, "amount_microunits": True},
        "an asset of 129 characters": {**_SCREENING, "asset": "a" * (_LONGEST_ASSET + 1)},
    },
}


def list_accepted_bodies(service_id: str | None) -> Mapping[str, Mapping[str, Any]]:
    """Return bodies that a service takes, by description; empty for an unknown service."""
    return _ACCEPTED.get(service_id or "", {})


def list_refused_bodies(service_id: str | None) -> Mapping[str, Mapping[str, Any]]:
    """Return bodies that a service refuses with 422, by description; empty for an unknown service."""
    example = EXAMPLES.get(service_id or "")
    if example is None:
        return {}
    return {"an unknown member": {**example, **_UNKNOWN_MEMBER}, **_REFUSED.get(service_id or "", {})}
