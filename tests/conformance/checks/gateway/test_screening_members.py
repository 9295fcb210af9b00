"""What the check of screenings finds wrong with an answer."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from multidict import CIMultiDict, CIMultiDictProxy

from conformance.checks.gateway.screening_members import Screening, compute_payer_reference, find_faults
from conformance.http.client import Answer
from conformance.vocabulary.networks import EXAMPLE, HEXADECIMAL

BLOCKED = Screening("screen-block-", EXAMPLE, EXAMPLE.event)
RECEIPT = {
    "payer_ref": compute_payer_reference(BLOCKED.address, EXAMPLE),
    "screen_result": "DENY",
    "screen_timestamp_ms": 1_767_225_600_250,
    "screen_provider_did": "did:web:gateway.example",
    "jurisdiction_flags": ["UK", "EU"],
    "canon_version": "jcs-rfc8785-v1",
}
BODY: dict[str, Any] = {
    "verdict": "block",
    "sanctions_clear": False,
    "recipient_kyb_status": "rejected",
    "risk_tier": "restricted",
    "reasons": ["fixture_block"],
    "screened_at": "2026-01-01T00:00:00Z",
    "verdict_id": "0b0e8f9b-3c6a-4d51-a7e2-b90c41f6d832",
    "network_normalised": EXAMPLE.key,
    "tipping_off_notice": "do not say why",
}


def encode(value: Any) -> str:
    """Return base64url of JSON."""
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")


def make_answer(changes: dict[str, Any], receipt: dict[str, Any]) -> Answer:
    """Return the answer of a screening; a member that is None is left out."""
    token = f"{encode({'alg': 'EdDSA', 'kid': 'k'})}.{encode(receipt)}.{encode('signature')}"
    members = {**BODY, "compliance_receipt": receipt, "compliance_receipt_jws": token, **changes}
    body = {name: value for name, value in members.items() if value is not None}
    return Answer(1, 200, CIMultiDictProxy(CIMultiDict()), json.dumps(body).encode())


def test_the_screening_of_a_fixture_has_no_fault() -> None:
    """Answer and receipt say the same."""
    assert find_faults(BLOCKED, make_answer({}, RECEIPT)) == []


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("verdict", "allow"),
        ("sanctions_clear", 0),
        ("reasons", []),
        ("network_normalised", EXAMPLE.event),
        ("verdict_id", "7"),
        ("tipping_off_notice", None),
        ("screened_at", "2026-01-01 00:00:00"),
        ("compliance_receipt_jws", "no token"),
    ],
)
def test_each_member_counts(name: str, value: Any) -> None:
    """A member with another value, or none, is named."""
    assert find_faults(BLOCKED, make_answer({name: value}, RECEIPT)) == [name]


@pytest.mark.parametrize(
    ("name", "value"),
    [("screen_result", "ALLOW"), ("payer_ref", "sha256:00"), ("screen_timestamp_ms", 1_767_222_000_000)],
)
def test_the_receipt_says_the_same(name: str, value: Any) -> None:
    """Verdict, address and time of the receipt are those of the screening."""
    assert find_faults(BLOCKED, make_answer({}, {**RECEIPT, name: value})) == [f"receipt: {name}"]


def test_a_receipt_of_a_screening_names_no_payment() -> None:
    """The gateway was not paid for it."""
    assert find_faults(BLOCKED, make_answer({}, {**RECEIPT, "payment_hash": "sha256:00"})) == ["receipt: payment_hash"]


def test_the_reference_of_a_payer_is_that_of_the_specification() -> None:
    """The example of 2.3, in either case of its digits."""
    expected = "sha256:a2f76a7619eca18971e66c7317a9a326ca1be7a023ece47709a865848ffd44ae"
    for address in ("0x000000000000000000000000000000000000b10c", "0x000000000000000000000000000000000000B10C"):
        assert compute_payer_reference(address, HEXADECIMAL) == expected
