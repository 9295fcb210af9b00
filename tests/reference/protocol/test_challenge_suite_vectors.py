"""The reference's challenge tokens over the suite's vectors: a reading by other hands."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.vectors import Vector, of_family
from reference.protocol.challenge import Generation, Mint, Terms, Token, is_live, payment_reference_hash
from reference.protocol.eip3009 import nonce_of
from reference.protocol.hashes import request_hash
from reference.protocol.service_word import ServiceWord

# The reference takes proofs on POST alone, so that its hash of a request has no other method.
POST_VECTORS = [one for one in of_family("challenges") if one.input.get("request", {}).get("method", "POST") == "POST"]


def refusal_code(vector_input: dict[str, Any]) -> str | None:
    """Return the code with which the reference refuses a token, None where it takes it."""
    token = Token.parse(vector_input["token"])
    mint = Mint(bytes.fromhex(vector_input["secret_hex"]), ServiceWord(vector_input["service_word"]))
    lanes = [Generation(Terms("", **lane), since=0) for lane in vector_input["lanes"]]
    if token is None or mint.issued_for(token, lanes) is None:
        return "unknown_challenge"
    service, request = vector_input["service_id"], vector_input.get("request", {})
    hash_of_request = vector_input.get("request_hash") or request_hash(
        body=request.get("body"), path=request.get("path"), query=request.get("query"), service_id=service
    )
    if not mint.binds(token, service_id=service, request_hash=hash_of_request):
        return "request_mismatch"
    return None if is_live(token, now=vector_input["now"], ttl=vector_input["ttl_seconds"]) else "challenge_expired"


@pytest.mark.parametrize("vector", POST_VECTORS, ids=lambda one: one.id)
def test_the_reference_says_what_is_expected(vector: Vector) -> None:
    """By its code, and in what receipts and payments carry."""
    assert refusal_code(dict(vector.input)) == (vector.expected.codes[0] if vector.expected.codes else None)
    values = vector.expected.values
    if vector.expected.valid:
        assert payment_reference_hash(vector.input["token"]) == values["payment_reference_hash"]
    if "eip3009_nonce" in values:
        assert nonce_of(vector.input["token"]) == values["eip3009_nonce"]
