"""What a receipt binds: recomputed by the profile's recipes and by others, which are distinguished."""

from __future__ import annotations

import base64
import hashlib
import json
from typing import Any

import pytest

from conformance.oracles.receipt_bindings import (
    Outcome,
    bindings,
    faults,
    normal_tx_id,
    payer_ref,
    payment_reference_hash,
    request_hash,
    response_hash,
    settled_payment_ref,
)
from tests.conformance.receipts.offline.signed_receipts import (
    ATTESTATION,
    COMPLIANCE,
    NETWORK,
    PAYABLE,
    PAYER,
    REQUEST,
    RESULT,
    TOKEN,
    TX_ID,
)

GIVEN_INPUTS: dict[str, Any] = {
    "request": REQUEST,
    "response": {"result": RESULT},
    "settlement": {"tx_id": TX_ID, "network": NETWORK},
    "payment_reference": TOKEN,
}
SOLANA_TX = "5VERv8NMvzbJMEkV8xnrLkEaWRtSz9CosKDYjCJjBRnbJLgp8uirBgmQpjKhoR4tjF3ZpRzrFmBV6UjKdiSZkQUW"


def test_the_profiles_worked_examples() -> None:
    """Section 2.5 and 2.3: request, response, settlement, payer."""
    assert PAYABLE["request_hash"] == request_hash(REQUEST, "receipt-verify")
    assert PAYABLE["response_hash"] == response_hash({"result": RESULT})
    assert PAYABLE["settled_payment_ref"] == settled_payment_ref(TX_ID, NETWORK, "Weldproof")
    assert COMPLIANCE["payer_ref"] == payer_ref(PAYER.upper().replace("0X", "0x"), NETWORK)
    assert f"sha256:{hashlib.sha256(TOKEN.encode()).hexdigest()}" == payment_reference_hash(TOKEN)


def test_a_receipt_that_binds_what_is_given_has_no_fault() -> None:
    """All four of a payable receipt, by the service word of its kind, in order."""
    expected_claims = ["request_hash", "response_hash", "settled_payment_ref", "payment_reference_hash"]
    assert expected_claims == [one.claim for one in bindings(PAYABLE, GIVEN_INPUTS)]
    assert faults(PAYABLE, GIVEN_INPUTS) == []


def test_what_is_not_given_is_not_compared() -> None:
    """Absent and null members are no questions."""
    assert bindings(PAYABLE, {}) == []
    assert bindings(PAYABLE, dict.fromkeys(GIVEN_INPUTS)) == []


@pytest.mark.parametrize(
    ("changed_inputs", "code"),
    [
        ({"request": {**REQUEST, "path": "/pay/v1/verify/receip"}}, "request_hash_differs"),
        ({"request": {**REQUEST, "query": "a=1"}}, "request_hash_differs"),
        ({"request": {**REQUEST, "method": "GET"}}, "request_hash_differs"),
        ({"request": {**REQUEST, "service_id": "screen"}}, "request_hash_differs"),
        ({"request": {**REQUEST, "body": {"jws": "a.b.d"}}}, "request_hash_differs"),
        ({"response": {"result": {**RESULT, "verified": False}}}, "response_hash_differs"),
        ({"response": {}}, "response_hash_differs"),
        ({"settlement": {"tx_id": "0x" + "2" * 64, "network": NETWORK}}, "settled_payment_ref_differs"),
        ({"settlement": {"tx_id": TX_ID, "network": "base_sepolia"}}, "settled_payment_ref_differs"),
        ({"settlement": {"tx_id": TX_ID, "network": NETWORK, "service": "acme"}}, "settled_payment_ref_differs"),
        ({"payment_reference": TOKEN + "\n"}, "payment_reference_hash_differs"),
    ],
)
def test_one_thing_changed_is_one_fault(changed_inputs: dict[str, Any], code: str) -> None:
    """The other bindings hold; both values are reported."""
    fault_list = faults(PAYABLE, GIVEN_INPUTS | changed_inputs)
    assert [code] == [one.code for one in fault_list]
    assert fault_list[0].outcome is Outcome.DIFFERS
    assert fault_list[0].claimed == PAYABLE[fault_list[0].claim]
    assert fault_list[0].computed != fault_list[0].claimed


def test_the_payers_address_counts_with_its_network() -> None:
    """EVM addresses in any case; another network is another payer."""
    for address in (PAYER, PAYER.replace("b10c", "B10C")):
        assert faults(COMPLIANCE, {"payer": {"address": address, "network": NETWORK}}) == []
    fault_list = faults(COMPLIANCE, {"payer": {"address": PAYER, "network": "base_sepolia"}})
    assert [one.code for one in fault_list] == ["payer_ref_differs"]


@pytest.mark.parametrize("claims", [PAYABLE, COMPLIANCE, ATTESTATION])
def test_each_kind_names_its_payment_in_its_own_member(claims: dict[str, Any]) -> None:
    """A compliance receipt in payment_hash, the others in settled_payment_ref (step 9)."""
    (found,) = bindings(claims, {"settlement": GIVEN_INPUTS["settlement"]})
    assert found.holds
    assert ("payment_hash" if claims is COMPLIANCE else "settled_payment_ref") == found.claim


def test_a_claim_that_is_absent_is_a_fault_of_its_own() -> None:
    """What was to be compared cannot be; the value that it would have is reported."""
    claims = {name: value for name, value in PAYABLE.items() if name != "payment_reference_hash"}
    (fault,) = faults(claims, GIVEN_INPUTS)
    assert (fault.outcome, fault.claimed) == (Outcome.ABSENT, None)
    assert PAYABLE["payment_reference_hash"] == fault.computed


def test_another_recipe_that_fits_is_named_and_no_pass() -> None:
    """An implementation that hashes the raw body, the whole answer, or the transaction id alone."""
    raw = '{"jws": "a.b.c"}'
    body = '{"result": {"a": 1}, "x": 2}'
    digest = base64.b64encode(hashlib.sha256(TX_ID.encode()).digest()).decode()
    claims = {
        **PAYABLE,
        "request_hash": hashlib.sha256(raw.encode()).hexdigest(),
        "response_hash": f"sha-256=:{base64.b64encode(hashlib.sha256(body.encode()).digest()).decode()}:",
        "settled_payment_ref": digest,
    }
    inputs = {
        "request": {**REQUEST, "raw_body": raw},
        "response": {"result": json.loads(body)["result"], "raw_body": body},
        "settlement": GIVEN_INPUTS["settlement"],
    }
    fault_list = faults(claims, inputs)
    assert [one.outcome for one in fault_list] == [Outcome.OTHER_RECIPE] * 3
    assert [one.recipe for one in fault_list] == ["raw-body", "raw-body", "sha256-tx"]


def test_nothing_given_fits_an_empty_claim() -> None:
    """An empty text is no hash of anything, by no recipe."""
    empty = dict.fromkeys(("request_hash", "response_hash", "settled_payment_ref", "payment_reference_hash"), "")
    inputs = {"request": {}, "response": {"raw_body": ""}, "settlement": {}, "payment_reference": ""}
    assert len(faults({**PAYABLE, **empty}, inputs)) == 4


@pytest.mark.parametrize("value", [5, "text", [], {}, {"path": 5, "body": "\ud800"}, {"result": float("inf")}, True])
def test_no_value_raises(value: Any) -> None:
    """What has no hash differs."""
    for name in ("request", "response", "settlement", "payment_reference", "payer"):
        (fault,) = faults({**PAYABLE, "payer_ref": "sha256:x"}, {name: value})
        assert fault.outcome is Outcome.DIFFERS


@pytest.mark.parametrize(
    ("tx_id", "network", "normal"),
    [
        ("0x" + "AB" * 32, "base_sepolia", "0x" + "ab" * 32),
        ("AB" * 32, "base_sepolia", None),
        ("A" * 51 + "Q", "algorand_testnet", "A" * 51 + "Q"),
        ("A" * 51 + "B", "algorand_testnet", None),
        (SOLANA_TX, "solana_devnet", SOLANA_TX),
        ("1" + SOLANA_TX, "solana_devnet", None),
        ("0OIl", "solana_devnet", None),
        ("anything", "stellar_testnet", "anything"),
        ("", "stellar_testnet", None),
    ],
)
def test_a_transaction_id_has_one_form(tx_id: str, network: str, normal: str | None) -> None:
    """P-NW-04: other spellings of an Algorand or Solana id are invalid."""
    assert normal == normal_tx_id(tx_id, network)
