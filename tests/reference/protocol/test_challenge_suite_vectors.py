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
ALL = [one for one in of_family("challenges") if one.input.get("request", {}).get("method", "POST") == "POST"]


def said(given: dict[str, Any]) -> str | None:
    """Return the code with which the reference refuses a token, None where it takes it."""
    token = Token.parse(given["token"])
    mint = Mint(bytes.fromhex(given["secret_hex"]), ServiceWord(given["service_word"]))
    lanes = [Generation(Terms("", **lane), since=0) for lane in given["lanes"]]
    if token is None or mint.issued_for(token, lanes) is None:
        return "unknown_challenge"
    service, asked = given["service_id"], given.get("request", {})
    hashed = given.get("request_hash") or request_hash(
        body=asked.get("body"), path=asked.get("path"), query=asked.get("query"), service_id=service
    )
    if not mint.binds(token, service_id=service, request_hash=hashed):
        return "request_mismatch"
    return None if is_live(token, now=given["now"], ttl=given["ttl_seconds"]) else "challenge_expired"


@pytest.mark.parametrize("vector", ALL, ids=lambda one: one.id)
def test_the_reference_says_what_is_expected(vector: Vector) -> None:
    """By its code, and in what receipts and payments carry."""
    assert said(dict(vector.input)) == (vector.expected.codes[0] if vector.expected.codes else None)
    values = vector.expected.values
    if vector.expected.valid:
        assert payment_reference_hash(vector.input["token"]) == values["payment_reference_hash"]
    if "eip3009_nonce" in values:
        assert nonce_of(vector.input["token"]) == values["eip3009_nonce"]
