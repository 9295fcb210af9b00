"""The payloads of the three kinds of receipt."""

from __future__ import annotations

import pytest

from reference.protocol.networks import NETWORKS
from reference.protocol.receipts import (
    compliance_receipt,
    content_hash,
    payable_receipt,
    payer_ref,
    settlement_attestation,
)
from reference.protocol.service_word import ServiceWord

BLOCKED_ADDRESS = "0x000000000000000000000000000000000000b10c"
BLOCKED_REF = "sha256:a2f76a7619eca18971e66c7317a9a326ca1be7a023ece47709a865848ffd44ae"
HASHES = [f"sha256:{digit * 64}" for digit in "1234"]


def test_the_worked_payer_reference() -> None:
    """The example of specification 2.3 comes out as written, in whatever case the EVM address was sent."""
    for address in (BLOCKED_ADDRESS, BLOCKED_ADDRESS.upper().replace("0X", "0x")):
        assert payer_ref(NETWORKS["base_mainnet"], address) == BLOCKED_REF


def test_a_text_that_is_no_evm_address_is_hashed_as_given() -> None:
    """On an EVM network too: only the letters of an address are a checksum."""
    assert payer_ref(NETWORKS["base_mainnet"], "Alice") != payer_ref(NETWORKS["base_mainnet"], "alice")


def test_elsewhere_case_and_network_count() -> None:
    """Off EVM the address is hashed as given, and the network key is part of the hash."""
    network = NETWORKS["algorand_mainnet"]
    assert payer_ref(network, "ABCD") != payer_ref(network, "abcd")
    assert payer_ref(network, "ABCD") != payer_ref(NETWORKS["algorand_testnet"], "ABCD")


def test_a_payable_receipt_has_all_its_members_and_no_others() -> None:
    """Every member of specification 2.3 stands with its type: times as integers, the amount as decimal text."""
    receipt = payable_receipt(
        word=ServiceWord(),
        provider_did="did:web:localhost%3A8402",
        issued_at_ms=1_700_000_000_999,
        service_id="receipt-verify",
        request_hash=HASHES[0],
        response_hash=HASHES[1],
        settled_payment_ref=HASHES[2],
        payment_reference_hash=HASHES[3],
        network="eip155:8453",
        asset="0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913",
        pay_to="0x" + "a" * 40,
        amount_microunits=10000,
    )
    assert receipt == {
        "kind": "weldproof/payable-svc-receipt/1",
        "canon_version": "jcs-rfc8785-v1",
        "iss": "did:web:localhost%3A8402",
        "provider_did": "did:web:localhost%3A8402",
        "iat": 1_700_000_000,
        "issued_at_ms": 1_700_000_000_999,
        "service_id": "receipt-verify",
        "request_hash": HASHES[0],
        "response_hash": HASHES[1],
        "settled_payment_ref": HASHES[2],
        "payment_reference_hash": HASHES[3],
        "network": "eip155:8453",
        "asset": "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913",
        "pay_to": "0x" + "a" * 40,
        "amount_microunits": "10000",
    }


def test_a_settlement_attestation_has_all_its_members_and_no_others() -> None:
    """Every member of specification 2.3 stands, the amount as digits beside its asset."""
    attestation = settlement_attestation(
        provider_did="did:web:localhost",
        timestamp_ms=5,
        result="REVERSED",
        settled_payment_ref=HASHES[2],
        settlement_chain="algorand_mainnet",
        asset_id="31566704",
        amount_minor=10000,
    )
    assert attestation == {
        "canon_version": "jcs-rfc8785-v1",
        "jurisdiction_flags": ["UK", "EU"],
        "settled_payment_ref": HASHES[2],
        "settlement_amount": {"amount_minor": "10000", "asset_id": "31566704"},
        "settlement_chain": "algorand_mainnet",
        "settlement_provider_did": "did:web:localhost",
        "settlement_result": "REVERSED",
        "settlement_timestamp_ms": 5,
    }


@pytest.mark.parametrize("payment_hash", [None, HASHES[0]])
def test_a_compliance_receipt_names_the_payment_only_when_there_is_one(payment_hash: str | None) -> None:
    """At the gateway payment_hash is absent, on the rail it is the settled payment; flags keep their order."""
    receipt = compliance_receipt(
        network=NETWORKS["base_mainnet"],
        address=BLOCKED_ADDRESS,
        screen_result="DENY",
        provider_did="did:web:localhost",
        timestamp_ms=5,
        jurisdiction_flags=["US", "EU", "AE"],
        payment_hash=payment_hash,
    )
    expected = {
        "payer_ref": BLOCKED_REF,
        "screen_result": "DENY",
        "screen_timestamp_ms": 5,
        "screen_provider_did": "did:web:localhost",
        "jurisdiction_flags": ["US", "EU", "AE"],
        "canon_version": "jcs-rfc8785-v1",
    }
    assert receipt == expected | ({} if payment_hash is None else {"payment_hash": payment_hash})


def test_a_content_hash_is_bare_hex_of_the_canonical_form() -> None:
    """The order of members does not matter, and there is no prefix."""
    assert content_hash({}) == "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"
    assert content_hash({"a": 1, "b": 2}) == content_hash({"b": 2, "a": 1})
