"""The vector set is what it says: the standalone verifier passes the true ones, refuses the others, and eight ways."""

from __future__ import annotations

import random
from typing import Any

import pytest

from conformance.ledger import load
from conformance.oracles.forging import Signer
from conformance.oracles.receipts import ReceiptFault, verify_receipt
from conformance.receipts.live_mutations import PROFILE_PAYLOAD, Material, Vector, cross_validation, keys, vectors
from conformance.receipts.report_members import code_member, find_verdict_member
from reference.protocol.receipt_verification import verify_receipt as judge_by_reference

PLATFORM = Signer(bytes(range(32)), "platform")


@pytest.fixture(scope="module")
def material() -> Material:
    token = PLATFORM.sign({"alg": "EdDSA", "kid": PLATFORM.kid, "typ": "JWT"}, PROFILE_PAYLOAD)
    return Material.of(token, keys(PLATFORM), random.Random(5))


def verdict(vector: Vector, material: Material) -> str | None:
    chosen_keys = material.jwks if vector.jwks is None else vector.jwks
    try:
        verify_receipt(vector.jws, chosen_keys, expected_payment_hash=vector.expected_payment_hash)
    except ReceiptFault as fault:
        return fault.code
    return None


def test_standalone_verifier_says_what_each_vector_expects(material: Material) -> None:
    """No vector is wrong in nothing, and no true one is refused."""
    for vector in vectors(material):
        assert (verdict(vector, material) is None) == vector.valid, (vector.row, vector.name)


def test_reference_says_what_each_vector_expects(material: Material) -> None:
    """The reference's verifier, which shares no code with the suite's, gives verdict and code of the suite's own."""
    vectors_listed = [one for one in vectors(material) if isinstance(one.jws, str)]
    for vector in vectors_listed:
        request_body = {"jws": vector.jws, "jwks": vector.jwks, "expected_payment_hash": vector.expected_payment_hash}
        report = judge_by_reference(**request_body, platform_keys=material.jwks["keys"])
        assert (report["verified"], report["error_code"]) == (vector.valid, verdict(vector, material)), vector.name


def test_eight_vectors_give_eight_codes(material: Material) -> None:
    """Each of the eight is wrong by another step of the nine."""
    codes = [verdict(one, material) for one in cross_validation(material)]
    assert None not in codes
    assert len(set(codes)) == 8


def test_every_vector_is_named_and_belongs_to_a_row(material: Material) -> None:
    """A report can be read: no two vectors share row and name, and every row exists."""
    vectors_listed = vectors(material)
    assert len({(one.row, one.name) for one in vectors_listed}) == len(vectors_listed)
    assert {one.row for one in vectors_listed} <= {row.id for row in load()}


def test_without_a_platform_receipt_third_parties_remain() -> None:
    """Where the platform's receipt is missing, the set shrinks and still holds."""
    material = Material.of(None, None, random.Random(5))
    vectors_listed = [one for one in vectors(material) if one.jwks is not None]
    assert len(vectors_listed) > 80
    for vector in vectors_listed:
        assert (verdict(vector, material) is None) == vector.valid, vector.name


def report(**members: Any) -> dict[str, Any]:
    return {"request_id": members.pop("n", "req_1"), **members}


def test_members_that_tell_are_found() -> None:
    """A boolean tells before a text, an id never does, and one value on both sides tells nothing."""
    good = [report(n="a", ok=True, code=None), report(n="b", ok=True, code=None)]
    bad = [report(n="c", ok=False, code="X"), report(n="d", ok=False, code="Y")]
    assert find_verdict_member(good, bad) == "ok"
    assert find_verdict_member([report(n="a"), report(n="b")], [report(n="c"), report(n="d")]) is None
    assert (
        find_verdict_member(
            [report(n="a", r={"valid": True})], [report(n="b", r={"valid": False}), report(n="c", r={})]
        )
        == "r.valid"
    )


def test_member_of_the_code_is_found() -> None:
    """The code is the text that varies, by preference one that calls itself so; known codes decide."""
    bad = [report(error="failed", error_code=one, message=f"{one} is wrong") for one in ("AAA", "BBB", "CCC")]
    assert code_member(bad, None) == "error_code"
    assert code_member(bad, ("AAA", "BBB", "CCC")) == "error_code"
    assert code_member([report(error="failed")] * 3, None) is None
