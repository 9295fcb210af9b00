"""Offline verification: steps, issuer, bindings, and what several receipts of one answer share."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest

from conformance.receipts.offline.key_sources import KeySet, of_did, of_did_document, of_jwks
from conformance.receipts.offline.reading import Found
from conformance.receipts.offline.verifying import Verification, verify_all
from tests.conformance.receipts.offline.signed_receipts import (
    ATTESTATION,
    COMPLIANCE,
    DID,
    DID_KEY,
    HEADER,
    JWKS,
    NETWORK,
    OTHER_SIGNER,
    PAYABLE,
    PAYER,
    REQUEST,
    SIGNER,
    TX_ID,
    did_document,
    sign_receipt,
)

KEYS = of_jwks(json.dumps(JWKS).encode(), "here")
OF_DID = of_did_document(json.dumps(did_document()).encode(), "here")
SETTLEMENT = {"settlement": {"tx_id": TX_ID, "network": NETWORK}}


def verify_one(claims: Any, keys: KeySet = KEYS, inputs: Any = None, **more: Any) -> Verification:
    """Verify one receipt."""
    (verification,) = verify_all([Found("", sign_receipt(claims))], keys, inputs or {}, **more)
    return verification


@pytest.mark.parametrize("claims", [PAYABLE, COMPLIANCE, ATTESTATION])
def test_a_receipt_of_its_issuer_verifies(claims: dict[str, Any]) -> None:
    """Under the keys of the DID that it names."""
    verification = verify_one(claims, OF_DID, SETTLEMENT)
    assert (verification.is_verified, verification.error_code, verification.issuer.result) == (True, None, "pass")
    assert verification.as_json()["claims"] == claims


@pytest.mark.parametrize("member", ["iss", "provider_did"])
def test_a_receipt_that_names_another_issuer_does_not(member: str) -> None:
    """Its own code, beyond the nine; the nine steps pass."""
    verification = verify_one({**PAYABLE, member: "did:web:other.example"}, OF_DID)
    assert (verification.is_verified, verification.error_code) == (False, "ISSUER_DIFFERS")
    assert verification.examination.is_verified
    assert "did:web:other.example" in str(verification.error_message)
    assert DID in str(verification.error_message)


def test_a_receipt_that_names_no_issuer_is_not_that_dids() -> None:
    """Asked for by its DID, it must name it."""
    claims = {name: value for name, value in PAYABLE.items() if name not in {"iss", "provider_did"}}
    assert verify_one(claims, OF_DID).error_code == "ISSUER_DIFFERS"
    assert verify_one(claims).is_verified


def test_a_key_without_a_did_judges_no_issuer() -> None:
    """A key set, or a did:key for a receipt of a did:web; a did:key must match a did:key."""
    assert verify_one(PAYABLE).issuer.result == "not_judged"
    key = of_did(DID_KEY)
    assert verify_one(PAYABLE, key).issuer.result == "not_judged"
    assert verify_one({**PAYABLE, "iss": DID_KEY, "provider_did": DID_KEY}, key).issuer.result == "pass"
    assert (
        verify_one({**PAYABLE, "iss": "did:key:z6Mk", "provider_did": "did:key:z6Mk"}, key).error_code
        == "ISSUER_DIFFERS"
    )


def test_a_step_that_fails_comes_before_issuer_and_bindings() -> None:
    """Nothing is compared with unsigned claims."""
    token = sign_receipt({**PAYABLE, "iss": "did:web:other.example"}, by=OTHER_SIGNER)
    (verification,) = verify_all([Found("", token)], OF_DID, {"request": {**REQUEST, "path": "/x"}})
    assert verification.error_code == "TAMPERED_SIGNATURE"
    assert (verification.bindings, verification.issuer.result) == ((), "not_judged")
    assert verification.as_json()["claims"] == {}


def test_a_binding_that_differs_fails_with_both_values() -> None:
    """The first one gives the code."""
    verification = verify_one(PAYABLE, inputs={"request": {**REQUEST, "path": "/x"}, **SETTLEMENT})
    assert verification.error_code == "request_hash_differs"
    assert PAYABLE["request_hash"] in str(verification.error_message)
    assert str(verification.bindings[0].computed) in str(verification.error_message)
    assert [one.holds for one in verification.bindings] == [False, True]


def test_another_recipe_is_a_result_of_its_own() -> None:
    """It fails, says which recipe fits, and passes where any recipe is enough."""
    claims = {**PAYABLE, "settled_payment_ref": f"sha256:{hashlib.sha256(TX_ID.encode()).hexdigest()}"}
    other_verification = verify_one(claims, inputs=SETTLEMENT)
    assert other_verification.error_code == "settled_payment_ref_differs"
    assert (other_verification.bindings[0].outcome, other_verification.bindings[0].recipe) == (
        "other_recipe",
        "sha256-tx",
    )
    assert "not the profile's" in str(other_verification.error_message)
    assert any("--any-recipe" in hint for hint in other_verification.hints)
    assert verify_one(claims, inputs=SETTLEMENT, any_recipe=True).is_verified
    wrong = {**PAYABLE, "settled_payment_ref": "sha256:" + "0" * 64}
    assert verify_one(wrong, inputs=SETTLEMENT, any_recipe=True).bindings[0].outcome == "differs"


def test_receipts_of_one_answer_share_what_they_bind() -> None:
    """The payable one binds the request, the compliance one the payer, both the payment."""
    both_receipts = [Found("receipt", sign_receipt(PAYABLE)), Found("screening", sign_receipt(COMPLIANCE))]
    inputs = {"request": REQUEST, "payer": {"address": PAYER, "network": NETWORK}, **SETTLEMENT}
    payable, screening_result = verify_all(both_receipts, KEYS, inputs)
    assert payable.is_verified
    assert screening_result.is_verified
    assert [one.claim for one in payable.bindings] == ["request_hash", "settled_payment_ref"]
    assert [one.claim for one in screening_result.bindings] == ["payment_hash", "payer_ref"]


def test_what_no_receipt_binds_is_a_fault() -> None:
    """Alone, the compliance receipt does not bind the request that was given."""
    alone = verify_one(COMPLIANCE, inputs={"request": REQUEST})
    assert (alone.error_code, alone.bindings[0].outcome) == ("request_hash_differs", "absent")
    forged_receipts = [Found("a", sign_receipt(COMPLIANCE)), Found("b", sign_receipt(PAYABLE, by=OTHER_SIGNER))]
    assert verify_all(forged_receipts, KEYS, {"request": REQUEST})[0].error_code == "request_hash_differs"


def test_the_expected_payment_is_step_nine() -> None:
    """Its code is the ninth."""
    assert verify_one(COMPLIANCE, expected_payment_hash=PAYABLE["settled_payment_ref"]).is_verified
    assert verify_one(COMPLIANCE, expected_payment_hash="sha256:x").error_code == "PAYMENT_HASH_MISMATCH"


def test_hints_explain_retired_and_foreign_keys() -> None:
    """A key that may not sign any more, and a set without the header's kid."""
    retired_keys = of_did_document(
        json.dumps(did_document(asserting_signers=(OTHER_SIGNER,), idle=(SIGNER,))).encode(), "here"
    )
    assert any("retired" in hint for hint in verify_one(PAYABLE, retired_keys).hints)
    foreign = of_jwks(json.dumps({"keys": [OTHER_SIGNER.jwk]}).encode(), "here")
    assert any("another issuer" in hint for hint in verify_one(PAYABLE, foreign).hints)
    assert any("about your call" in hint for hint in verify_one(PAYABLE).hints)
    assert verify_one(PAYABLE, inputs=SETTLEMENT).hints == []


def test_the_key_is_chosen_as_the_profile_says() -> None:
    """By kid, by a DID URL, else the first (P-RV-01)."""
    both_keys = of_jwks(json.dumps({"keys": [OTHER_SIGNER.jwk, SIGNER.jwk]}).encode(), "here")
    assert (verify_one(PAYABLE, both_keys).is_verified, verify_one(PAYABLE, both_keys).key_chosen_by) == (True, "kid")
    nameless = sign_receipt(PAYABLE, header={"alg": "EdDSA"})
    (first,) = verify_all([Found("", nameless)], both_keys, {})
    assert (first.error_code, first.key_chosen_by) == ("TAMPERED_SIGNATURE", "first")
    long = sign_receipt(PAYABLE, header={**HEADER, "kid": f"{DID}#{SIGNER.kid}"})
    document = of_did_document(json.dumps(did_document(asserting_signers=(OTHER_SIGNER, SIGNER))).encode(), "here")
    (by_url,) = verify_all([Found("", long)], document, {})
    assert (by_url.is_verified, by_url.key_chosen_by) == (True, "kid")
