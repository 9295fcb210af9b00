"""Receipts are explained, member by member, however damaged they are."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conformance.oracles.forging import compact
from conformance.oracles.receipt_kinds import MEMBERS
from conformance.receipts.offline.claim_meanings import CLAIMS
from conformance.receipts.offline.inspecting import Inspection, inspect
from conformance.receipts.offline.reading import Found
from conformance.receipts.offline.value_wording import amount, instant, micro_amount
from conformance.vocabulary.networks import network_named
from tests.conformance.receipts.offline.signed_receipts import (
    ATTESTATION,
    COMPLIANCE,
    HEADER,
    PAYABLE,
    SIGNER,
    sign_receipt,
)

GOOD = sign_receipt(PAYABLE)


def sentences(inspection: Inspection) -> dict[str, str]:
    """Return the sentence of each claim."""
    return {line.name: line.sentence for line in inspection.claims}


def of(claims: Any, **header: Any) -> Inspection:
    """Inspect a signed receipt."""
    return inspect(Found("", sign_receipt(claims, header={**HEADER, **header})))


@pytest.mark.parametrize(
    ("claims", "kind"), [(PAYABLE, "payable"), (COMPLIANCE, "compliance"), (ATTESTATION, "settlement_attestation")]
)
def test_a_good_receipt_has_no_fault_and_a_sentence_for_each_member(claims: dict[str, Any], kind: str) -> None:
    """Kind, canonical form and sizes are reported; every member of the profile is known, with its clause."""
    inspection = of(claims)
    assert (inspection.kind, inspection.faults, inspection.canonical) == (kind, (), True)
    assert list(inspection.sizes) == ["characters", "header_bytes", "payload_bytes", "signature_bytes"]
    assert all(line.clause and "Unknown" not in line.sentence for line in (*inspection.header, *inspection.claims))
    assert set(sentences(inspection)) == set(claims)


def test_every_member_that_a_kind_needs_has_a_sentence() -> None:
    """So that none is called unknown."""
    assert {name for members in MEMBERS.values() for name in members} <= CLAIMS.keys()


def test_sentences_say_what_the_values_mean() -> None:
    """Times as dates, amounts with their unit, networks and assets by name, hashes by what they bind."""
    payable, compliance_sentences, attestation_sentences = (
        sentences(of(one)) for one in (PAYABLE, COMPLIANCE, ATTESTATION)
    )
    assert "2025-11-21 04:40:00 UTC" in payable["iat"]
    assert "2025-11-21 04:40:00.123 UTC" in payable["issued_at_ms"]
    assert "0.01 USDC" in payable["amount_microunits"]
    assert "Base (eip155:8453), a main network" in payable["network"]
    assert "which is USDC on Base" in payable["asset"]
    assert "P-RH" not in payable["request_hash"]
    assert "Binds the request" in payable["request_hash"]
    assert "the service receipt-verify" in payable["service_id"]
    assert "localhost:8402" in payable["iss"]
    assert "found nothing" in compliance_sentences["screen_result"]
    assert "UK, EU" in compliance_sentences["jurisdiction_flags"]
    assert "8.41 USDC" in attestation_sentences["settlement_amount"]
    assert "settled" in attestation_sentences["settlement_result"]


@pytest.mark.parametrize(
    ("changed_claims", "member", "words"),
    [
        ({"iat": "today"}, "iat", "Must be whole seconds"),
        ({"iat": True}, "iat", "Must be whole seconds"),
        ({"iat": 10**15}, "iat", "Must be whole seconds"),
        ({"iat": 5}, "issued_at_ms", "another instant than iat"),
        ({"amount_microunits": 10000}, "amount_microunits", "written as a number"),
        ({"amount_microunits": "-1"}, "amount_microunits", "is not"),
        ({"asset": "0x" + "3" * 40}, "asset", "not the USDC of Base"),
        ({"network": "mars"}, "network", "not a network that this tool knows"),
        ({"network": ["mars"]}, "asset", "without a known network"),
        ({"provider_did": "did:key:z6Mk"}, "provider_did", "another provider than the issuer"),
        ({"iss": "me"}, "iss", "not a DID"),
        ({"payment_reference_hash": "abc"}, "payment_reference_hash", "not of the form sha256:"),
        ({"canon_version": "v2"}, "canon_version", "refuse"),
        ({"loyalty": {"a": [1]}}, "loyalty", "Unknown to this tool"),
    ],
)
def test_what_is_unusual_is_said(changed_claims: dict[str, Any], member: str, words: str) -> None:
    """In the sentence of the member it is about."""
    assert words in sentences(of({**PAYABLE, **changed_claims}))[member]


@pytest.mark.parametrize("kind", [PAYABLE, COMPLIANCE, ATTESTATION])
@pytest.mark.parametrize("value", [None, 5, -1, 1.5, True, "x", [], [5], {}, {"amount_minor": 5}, "\ud7ff", 10**30])
def test_no_value_of_any_member_breaks_the_explanation(kind: dict[str, Any], value: Any) -> None:
    """Each member in turn holds something else; there is still a sentence for each."""
    for name in kind:
        payload = json.dumps({**kind, name: value}).encode()
        inspection = inspect(Found("", SIGNER.sign(HEADER, payload)))
        assert all(line.sentence for line in inspection.claims)
        assert json.dumps(inspection.as_json())


@pytest.mark.parametrize(
    ("header", "words"),
    [
        ({"alg": "none"}, "need no signature"),
        ({"alg": 5}, "Claims the algorithm 5"),
        ({"kid": "did:web:a.example#k1"}, "the key k1 of did:web:a.example"),
        ({"kid": "mine"}, "the issuer's own"),
        ({"kid": None}, "must be a text"),
        ({"jwk": {"kty": "OKP"}}, "vouch for its own key"),
        ({"crit": ["x"]}, "refused"),
        ({"b64": False}, "refused"),
        ({"zip": "DEF"}, "Unknown to this tool"),
    ],
)
def test_header_members_are_explained(header: dict[str, Any], words: str) -> None:
    """Also those that a receipt must not have."""
    inspection = of(PAYABLE, **header)
    assert any(words in line.sentence for line in inspection.header)


@pytest.mark.parametrize(
    ("token", "fault", "shown_text"),
    [
        ("", "MISSING_ENVELOPE", 0),
        ("abc", "has 1 segment", 0),
        (compact(HEADER, b"{}").rstrip("."), "has 2 segments", 3),
        (compact(HEADER, b"{}"), "signature is empty", 3),
        (sign_receipt(PAYABLE) + "=", "not base64url without padding", 3),
        (sign_receipt(PAYABLE).replace(".", ".!", 1), "payload cannot be decoded", 3),
        (SIGNER.sign("[]", b"{}"), "no object", 0),
        (SIGNER.sign(HEADER, b"[]"), "not a JSON object (INVALID_PAYLOAD)", 3),
        (SIGNER.sign(HEADER, b"{} "), "not canonical", 3),
        (SIGNER.sign(HEADER, b'{"a":1,"a":2}'), "duplicate members", 3),
        (sign_receipt({**PAYABLE, "service_id": None}), "lacks service_id", 3),
        (sign_receipt({**COMPLIANCE, "screen_result": "NO"}), "screen_result has a value outside its set", 3),
        (sign_receipt({**COMPLIANCE, "canon_version": "x"}), "UNSUPPORTED_CANON_VERSION", 3),
        (compact(HEADER, b"{}", b"short"), "has 5 bytes, not 64", 3),
        (sign_receipt(PAYABLE, header={"alg": "RS256"}), "UNSUPPORTED_ALG", 1),
        ("." * 5, "has 6 segments", 0),
        ("a" * 20_000, "has 1 segment", 0),
    ],
)
def test_what_no_verifier_would_accept_is_said_and_the_rest_is_shown(token: str, fault: str, shown_text: int) -> None:
    """The fault in a sentence with its code; as many header members as can be read."""
    inspection = inspect(Found("", token))
    assert any(fault in one for one in inspection.faults), inspection.faults
    assert len(inspection.header) == shown_text


@given(
    st.text() | st.builds(lambda text, at: f"{GOOD[:at]}{text}{GOOD[at + 1 :]}", st.text(), st.integers(0, len(GOOD)))
)
def test_no_text_breaks_the_explanation(token: str) -> None:
    """Any text at all, and a true receipt with any text put in somewhere."""
    inspection = inspect(Found("", token))
    assert inspection.faults or token.count(".") == 2
    assert json.dumps(inspection.as_json())


@pytest.mark.parametrize(
    ("units", "text"),
    [(8410000, "8.41 USDC"), ("1", "0.000001 USDC"), (0, "0.00 USDC"), ("12345678", "12.345678 USDC")],
)
def test_amounts_have_two_to_six_decimals(units: Any, text: str) -> None:
    """P-MN-04, and no float anywhere."""
    assert micro_amount(units, "USDC") == text


def test_atomic_units_follow_the_assets_decimals() -> None:
    """Stellar's USDC has seven."""
    assert amount("84100000", 7, "USDC") == "8.41 USDC"
    assert amount("1", 7, "USDC") == "0.0000001 USDC"
    assert amount("01", 7, "USDC") is None


def test_a_network_is_known_by_four_spellings() -> None:
    """Key, link form, event and CAIP-2."""
    for text in (
        "algorand_testnet",
        "algorand-testnet",
        "algorand:testnet",
        "algorand:SGO1GKSzyE7IEPItTxCByw9x8FmnrCDe",
    ):
        network = network_named(text)
        assert network is not None
        assert (network.key, network.is_test) == ("algorand_testnet", True)
    assert network_named("base") is None


def test_times_end_with_the_year_9999() -> None:
    """What is later is no time."""
    assert instant(253_402_300_799, per_second=1) == "9999-12-31 23:59:59 UTC"
    assert instant(253_402_300_800, per_second=1) is None
    assert instant(-1, per_second=1000) is None
