"""The hash recipes: the profile's worked examples, RFC 8785's own example, and values without a canonical form."""

from __future__ import annotations

import base64
import hashlib
import json
from typing import Any

import pytest

from conformance.oracles.hash_recipes import (
    find_claim,
    jcs_bytes,
    request_hashes,
    response_hashes,
    settled_refs,
    sha256_hex,
    spellings,
)

PATH = "/pay/v1/verify/receipt"
BODY = {"jws": "a.b.c"}
REQUEST_HASH = "sha256:21385cbf54ac22efc2a87002cdd4ee775d387ff38cbdd13f0bfa3381db5265ca"
RESPONSE_HASH = "sha256:c59feba9c4327ac83064fcccb8e584c5323d0c9febe0527e12aa66fe9fadd7ef"
SETTLED_REF = "sha256:545d69b8e1119527e01aa05a578de3d5b093e1a3f6829932ae56bd5d56051af0"
TOKEN = "eyJhbGciOiJFZERTQSJ9.e30.AAAAAAAAAAAAAAAA"


def test_the_canonical_form_is_that_of_rfc_8785() -> None:
    """The example of RFC 8785, section 3.2.2, gives the text of section 3.2.4; member names sort by UTF-16 units."""
    json_text = r"""{
      "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
      "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
      "literals": [null, true, false]
    }"""
    expected_text = (
        '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],'
        r'"string":"€$\u000f\nA' + "'" + r'B\"\\\\\"/"}'
    )
    assert jcs_bytes(json.loads(json_text)) == expected_text.encode()
    assert jcs_bytes({"\ufb33": 1, "\U0001f600": 2}) == '{"\U0001f600":2,"\ufb33":1}'.encode()
    assert jcs_bytes({"b": -0.0, "a": 10.0}) == b'{"a":10,"b":0}'


@pytest.mark.parametrize("value", [float("nan"), float("inf"), "\ud800", 10**400, {1: 2}, object()])
def test_what_has_no_canonical_form_is_told_as_a_value_error(value: Any) -> None:
    """NaN, infinity, a lone surrogate, a number outside binary64 and what is no JSON never raise anything else."""
    with pytest.raises(ValueError, match=r".+"):
        jcs_bytes(value)


def test_the_request_hash_of_the_worked_example() -> None:
    """P-RH-01's example under recipe jcs-envelope; any other method, path, query, body or service gives another."""
    raw = b'{"jws":"a.b.c"}'
    hashes = request_hashes("POST", PATH, "", raw, BODY, "receipt-verify")
    assert REQUEST_HASH in hashes["jcs-envelope"]
    for other_hash in (
        ("GET", PATH, "", raw, BODY, "receipt-verify"),
        ("POST", PATH + "/", "", raw, BODY, "receipt-verify"),
        ("POST", PATH, "a=1", raw, BODY, "receipt-verify"),
        ("POST", PATH, "", raw, {"jws": "a.b.d"}, "receipt-verify"),
        ("POST", PATH, "", raw, BODY, "rfc9421-verify"),
        ("POST", PATH, "", raw, BODY, None),
    ):
        assert REQUEST_HASH not in request_hashes(*other_hash)["jcs-envelope"]


def test_no_two_request_recipes_meet_by_accident() -> None:
    """For a body that is not its own canonical form every recipe gives digests of its own."""
    hashes = request_hashes("POST", PATH, "q=1", b'{ "jws": "a.b.c" }', BODY, "receipt-verify")
    assert len(set.union(*hashes.values())) == sum(len(values) for values in hashes.values())
    assert {"jcs-envelope", "jcs-body", "raw-body"} <= hashes.keys()


def test_a_recipe_over_nothing_is_left_out() -> None:
    """The digest of an empty body is the same for every request, so it can bind none."""
    empty = hashlib.sha256(b"").hexdigest()
    hashes = request_hashes("GET", PATH, "", b"", None, None)
    assert "raw-body" not in hashes
    assert not any(empty in values for values in hashes.values())


def test_the_response_hash_of_the_worked_example() -> None:
    """P-RH-02's example under recipe jcs-result, whatever the order of its members and the spacing of the body."""
    body = b'{"result": {"verified": true, "error_code": null}}'
    hashes = response_hashes(body, {"verified": True, "error_code": None})
    assert RESPONSE_HASH in hashes["jcs-result"]
    assert f"sha256:{hashlib.sha256(body).hexdigest()}" in hashes["raw-body"]
    assert RESPONSE_HASH not in response_hashes(body, {"verified": False, "error_code": None})["jcs-result"]


def test_a_response_may_be_hashed_without_the_receipt_it_holds() -> None:
    """Recipe jcs-body-unsigned leaves out what holds a token, however deep, and nothing else."""
    body = {"receipt": TOKEN, "more": {"list": [TOKEN]}, "verdict": "ALLOW"}
    hashes = response_hashes(json.dumps(body).encode(), None)
    assert sha256_hex(b'{"verdict":"ALLOW"}') in hashes["jcs-body-unsigned"]
    assert sha256_hex(jcs_bytes(body)) in hashes["jcs-body"]


@pytest.mark.parametrize("raw", [b"", b"no JSON", b"[1]", b'{"a":"\\ud800"}', b"\xff", b"[" * 100_000])
def test_an_odd_response_has_fewer_digests_and_no_fault(raw: bytes) -> None:
    """Whatever a target answers, its recipes are computed as far as they go; a bound recipe is never unknown."""
    hashes = response_hashes(raw, {"lone": "\ud800"})
    assert hashes["jcs-result"] == set()
    assert sha256_hex(raw) in hashes["raw-body"]
    assert hashes["jcs-body-unsigned"] == set()


def test_the_settled_payment_ref_of_the_worked_example() -> None:
    """P-RH-03's example under recipe payable-core; another word, transaction or network gives another."""
    tx_id = "0x" + "1" * 64
    assert SETTLED_REF in settled_refs("Weldproof", tx_id, "base_mainnet", "t")["payable-core"]
    for other_ref in (
        ("Otherword", tx_id, "base_mainnet"),
        ("Weldproof", tx_id, "base_sepolia"),
        ("Weldproof", tx_id + "1", "base_mainnet"),
    ):
        assert SETTLED_REF not in settled_refs(*other_ref, "t")["payable-core"]
    assert settled_refs(None, tx_id, "base_mainnet", "t")["raw-tx"] == {tx_id}


def test_a_digest_is_known_in_every_usual_spelling() -> None:
    """Hex in both cases, with a label, with 0x, base64 in both alphabets, and RFC 9530's form."""
    raw = hashlib.sha256(b"x").digest()
    plain = base64.b64encode(raw).decode()
    safe = base64.urlsafe_b64encode(raw).decode()
    expected_spellings = {
        raw.hex(),
        raw.hex().upper(),
        f"sha256:{raw.hex()}",
        f"0x{raw.hex()}",
        plain,
        safe,
        safe.rstrip("="),
    }
    assert {*expected_spellings, f"sha-256=:{plain}:", f"sha256-{plain}"} <= spellings(b"x")
    assert not expected_spellings & spellings(b"y")


def test_a_claim_is_found_where_it_stands() -> None:
    """The dotted path of the first claim that equals a value, in nested objects and lists; None if no claim does."""
    claims = {"iat": 1, "binding": {"hashes": [{"request": "aa"}, {"response": "bb"}]}, "ref": "cc"}
    assert find_claim(claims, {"bb"}) == "binding.hashes[1].response"
    assert find_claim(claims, {"cc", "zz"}) == "ref"
    assert find_claim(claims, {"a", "1"}) is None
    assert find_claim(claims, set()) is None
