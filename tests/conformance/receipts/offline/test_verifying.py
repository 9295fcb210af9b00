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
    OTHER,
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


def verify_one(claims: Any, keys: KeySet = KEYS, given: Any = None, **more: Any) -> Verification:
    """Verify one receipt."""
    (found,) = verify_all([Found("", sign_receipt(claims))], keys, given or {}, **more)
    return found


@pytest.mark.parametrize("claims", [PAYABLE, COMPLIANCE, ATTESTATION])
def test_a_receipt_of_its_issuer_verifies(claims: dict[str, Any]) -> None:
    """Under the keys of the DID that it names."""
    found = verify_one(claims, OF_DID, SETTLEMENT)
    assert (found.is_verified, found.error_code, found.issuer.result) == (True, None, "pass")
    assert found.as_json()["claims"] == claims


@pytest.mark.parametrize("member", ["iss", "provider_did"])
def test_a_receipt_that_names_another_issuer_does_not(member: str) -> None:
    """Its own code, beyond the nine; the nine steps pass."""
    found = verify_one({**PAYABLE, member: "did:web:other.example"}, OF_DID)
    assert (found.is_verified, found.error_code) == (False, "ISSUER_DIFFERS")
    assert found.examination.is_verified
    assert "did:web:other.example" in str(found.error_message)
    assert DID in str(found.error_message)


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
    token = sign_receipt({**PAYABLE, "iss": "did:web:other.example"}, by=OTHER)
    (found,) = verify_all([Found("", token)], OF_DID, {"request": {**REQUEST, "path": "/x"}})
    assert found.error_code == "TAMPERED_SIGNATURE"
    assert (found.bindings, found.issuer.result) == ((), "not_judged")
    assert found.as_json()["claims"] == {}


def test_a_binding_that_differs_fails_with_both_values() -> None:
    """The first one gives the code."""
    found = verify_one(PAYABLE, given={"request": {**REQUEST, "path": "/x"}, **SETTLEMENT})
    assert found.error_code == "request_hash_differs"
    assert PAYABLE["request_hash"] in str(found.error_message)
    assert str(found.bindings[0].computed) in str(found.error_message)
    assert [one.holds for one in found.bindings] == [False, True]


def test_another_recipe_is_a_result_of_its_own() -> None:
    """It fails, says which recipe fits, and passes where any recipe is enough."""
    claims = {**PAYABLE, "settled_payment_ref": f"sha256:{hashlib.sha256(TX_ID.encode()).hexdigest()}"}
    other = verify_one(claims, given=SETTLEMENT)
    assert other.error_code == "settled_payment_ref_differs"
    assert (other.bindings[0].outcome, other.bindings[0].recipe) == ("other_recipe", "sha256-tx")
    assert "not the profile's" in str(other.error_message)
    assert any("--any-recipe" in hint for hint in other.hints)
    assert verify_one(claims, given=SETTLEMENT, any_recipe=True).is_verified
    wrong = {**PAYABLE, "settled_payment_ref": "sha256:" + "0" * 64}
    assert verify_one(wrong, given=SETTLEMENT, any_recipe=True).bindings[0].outcome == "differs"


def test_receipts_of_one_answer_share_what_they_bind() -> None:
    """The payable one binds the request, the compliance one the payer, both the payment."""
    both = [Found("receipt", sign_receipt(PAYABLE)), Found("screening", sign_receipt(COMPLIANCE))]
    given = {"request": REQUEST, "payer": {"address": PAYER, "network": NETWORK}, **SETTLEMENT}
    payable, screening = verify_all(both, KEYS, given)
    assert payable.is_verified
    assert screening.is_verified
    assert [one.claim for one in payable.bindings] == ["request_hash", "settled_payment_ref"]
    assert [one.claim for one in screening.bindings] == ["payment_hash", "payer_ref"]


def test_what_no_receipt_binds_is_a_fault() -> None:
    """Alone, the compliance receipt does not bind the request that was given."""
    alone = verify_one(COMPLIANCE, given={"request": REQUEST})
    assert (alone.error_code, alone.bindings[0].outcome) == ("request_hash_differs", "absent")
    forged = [Found("a", sign_receipt(COMPLIANCE)), Found("b", sign_receipt(PAYABLE, by=OTHER))]
    assert verify_all(forged, KEYS, {"request": REQUEST})[0].error_code == "request_hash_differs"


def test_the_expected_payment_is_step_nine() -> None:
    """Its code is the ninth."""
    assert verify_one(COMPLIANCE, expected_payment_hash=PAYABLE["settled_payment_ref"]).is_verified
    assert verify_one(COMPLIANCE, expected_payment_hash="sha256:x").error_code == "PAYMENT_HASH_MISMATCH"


def test_hints_explain_retired_and_foreign_keys() -> None:
    """A key that may not sign any more, and a set without the header's kid."""
    retired = of_did_document(json.dumps(did_document(asserting=(OTHER,), idle=(SIGNER,))).encode(), "here")
    assert any("retired" in hint for hint in verify_one(PAYABLE, retired).hints)
    foreign = of_jwks(json.dumps({"keys": [OTHER.jwk]}).encode(), "here")
    assert any("another issuer" in hint for hint in verify_one(PAYABLE, foreign).hints)
    assert any("about your call" in hint for hint in verify_one(PAYABLE).hints)
    assert verify_one(PAYABLE, given=SETTLEMENT).hints == []


def test_the_key_is_chosen_as_the_profile_says() -> None:
    """By kid, by a DID URL, else the first (P-RV-01)."""
    both = of_jwks(json.dumps({"keys": [OTHER.jwk, SIGNER.jwk]}).encode(), "here")
    assert (verify_one(PAYABLE, both).is_verified, verify_one(PAYABLE, both).key_chosen_by) == (True, "kid")
    nameless = sign_receipt(PAYABLE, header={"alg": "EdDSA"})
    (first,) = verify_all([Found("", nameless)], both, {})
    assert (first.error_code, first.key_chosen_by) == ("TAMPERED_SIGNATURE", "first")
    long = sign_receipt(PAYABLE, header={**HEADER, "kid": f"{DID}#{SIGNER.kid}"})
    document = of_did_document(json.dumps(did_document(asserting=(OTHER, SIGNER))).encode(), "here")
    (by_url,) = verify_all([Found("", long)], document, {})
    assert (by_url.is_verified, by_url.key_chosen_by) == (True, "kid")
