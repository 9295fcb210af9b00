"""Hash references and the recipes of specification 2.5."""

from __future__ import annotations

from typing import Any

import pytest

from reference.protocol.canonical_json import NotCanonical
from reference.protocol.hashes import hash_reference, request_hash, response_hash, settled_payment_ref
from reference.protocol.service_word import ServiceWord


def test_the_worked_request_hash() -> None:
    """P-RH-01's example comes out as written."""
    expected = "sha256:21385cbf54ac22efc2a87002cdd4ee775d387ff38cbdd13f0bfa3381db5265ca"
    reference = request_hash(
        body={"jws": "a.b.c"}, path="/pay/v1/verify/receipt", query="", service_id="receipt-verify"
    )
    assert expected == reference


def test_the_worked_response_hash() -> None:
    """P-RH-02's example comes out as written."""
    expected = "sha256:c59feba9c4327ac83064fcccb8e584c5323d0c9febe0527e12aa66fe9fadd7ef"
    assert expected == response_hash({"verified": True, "error_code": None})


def test_the_worked_settled_payment_reference() -> None:
    """P-RH-03's example comes out as written."""
    expected = "sha256:545d69b8e1119527e01aa05a578de3d5b093e1a3f6829932ae56bd5d56051af0"
    assert expected == settled_payment_ref(ServiceWord(), "0x" + "1" * 64, "base_mainnet")


def test_each_input_of_a_request_hash_counts() -> None:
    """Body, path, query and service each change the hash; the order of members and white space do not."""
    base: dict[str, Any] = {"body": {"a": 1, "b": 2}, "path": "/pay/x", "query": "", "service_id": "s"}
    changes: list[dict[str, Any]] = [{}, {"body": {"a": 1}}, {"path": "/pay/y"}, {"query": "q"}, {"service_id": "t"}]
    hashes = {request_hash(**(base | change)) for change in changes}
    assert len(hashes) == 5
    assert request_hash(**(base | {"body": {"b": 2, "a": 1}})) in hashes


def test_the_word_separates_deployments() -> None:
    """Another service word gives another reference to the same payment."""
    first_reference = settled_payment_ref(ServiceWord(), "0x" + "1" * 64, "base_mainnet")
    assert first_reference != settled_payment_ref(ServiceWord("Other"), "0x" + "1" * 64, "base_mainnet")


def test_the_form_of_a_hash_reference() -> None:
    """A hash reference is sha256: and 64 lower-case hex digits, here of nothing."""
    assert hash_reference(b"") == "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


def test_a_body_without_canonical_form_has_no_hash() -> None:
    """An unsafe integer in the body is NotCanonical, not a hash of something else."""
    with pytest.raises(NotCanonical):
        request_hash(body={"n": 2**53}, path="/pay/x", query="", service_id="s")
