"""The JWS oracle: compact tokens read strictly, verified under the key that the kid rule chooses."""

from __future__ import annotations

import base64
import json
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from conformance.oracles.ed25519_keys import Ed25519Key, decode_base64url
from conformance.oracles.ed25519_keys import verify as holds
from conformance.oracles.jose import JwsFault, parse, tokens_in, verify

SIGNER = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
OTHER = Ed25519PrivateKey.from_private_bytes(bytes(32))
KEY = Ed25519Key(SIGNER.public_key().public_bytes_raw(), "k1")
OTHER_KEY = Ed25519Key(OTHER.public_key().public_bytes_raw(), "k2")
HEADER = {"alg": "EdDSA", "kid": "k1", "typ": "JWT"}
CLAIMS = {"request_hash": "sha256:00", "n": 1}

# RFC 8037 A.4, whose payload is a sentence and no JSON.
RFC_8037_A4 = (
    "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc."
    "hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg"
)
RFC_8037_KEY = Ed25519Key(decode_base64url("11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"), None)


def b64u(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def sign_payload(
    header: bytes | dict[str, Any], payload: bytes | dict[str, Any], key: Ed25519PrivateKey = SIGNER
) -> str:
    parts = [part if isinstance(part, bytes) else json.dumps(part).encode() for part in (header, payload)]
    text = ".".join(b64u(part) for part in parts)
    return f"{text}.{b64u(key.sign(text.encode()))}"


def test_a_token_of_an_unrelated_library_verifies() -> None:
    """What PyJWT signs, the oracle verifies; with another key it does not."""
    token = jwt.encode(CLAIMS, SIGNER, algorithm="EdDSA", headers={"kid": "k1"})
    assert verify(token, [KEY]) == CLAIMS
    with pytest.raises(JwsFault, match="signature"):
        verify(token, [OTHER_KEY])


def test_the_token_of_rfc_8037_verifies_and_is_refused_only_for_its_payload() -> None:
    """A.4's signature holds; its payload is no JSON. With one letter changed it is the signature that fails."""
    token = parse(RFC_8037_A4)
    assert token.payload == b"Example of Ed25519 signing"
    assert holds(RFC_8037_KEY, token.signing_input, token.signature)
    with pytest.raises(JwsFault, match="payload is not JSON"):
        verify(RFC_8037_A4, [RFC_8037_KEY])
    with pytest.raises(JwsFault, match="signature"):
        verify(RFC_8037_A4.replace(".RXh", ".RXi"), [RFC_8037_KEY])


def test_both_names_of_the_algorithm_verify() -> None:
    """`EdDSA` (RFC 8037) and `Ed25519` (RFC 9864) are the same signature."""
    for name in ("EdDSA", "Ed25519"):
        assert verify(sign_payload({**HEADER, "alg": name}, CLAIMS), [KEY]) == CLAIMS


def test_the_kid_chooses_the_key_and_the_first_is_taken_when_none_matches() -> None:
    """A kid that matches never falls back; a kid that matches none, or no kid, means the first key."""
    assert verify(sign_payload(HEADER, CLAIMS), [OTHER_KEY, KEY]) == CLAIMS
    assert verify(sign_payload({**HEADER, "kid": "did:web:h#k1"}, CLAIMS), [OTHER_KEY, KEY]) == CLAIMS
    assert verify(sign_payload({**HEADER, "kid": "unknown"}, CLAIMS), [KEY, OTHER_KEY]) == CLAIMS
    assert verify(sign_payload({"alg": "EdDSA"}, CLAIMS), [KEY, OTHER_KEY]) == CLAIMS
    for header, keys in (
        ({**HEADER, "kid": "k2"}, [KEY, OTHER_KEY]),
        ({**HEADER, "kid": "unknown"}, [OTHER_KEY, KEY]),
        ({"alg": "EdDSA"}, [OTHER_KEY, KEY]),
    ):
        with pytest.raises(JwsFault, match="signature"):
            verify(sign_payload(header, CLAIMS), keys)
    with pytest.raises(JwsFault, match="no key"):
        verify(sign_payload(HEADER, CLAIMS), [])


def test_members_that_the_standard_does_not_know_do_not_hinder() -> None:
    """Private header members, and a header longer than joserfc's own limit of 512 bytes, are no fault of the signer."""
    assert verify(sign_payload({**HEADER, "x-note": "y" * 2000}, CLAIMS), [KEY]) == CLAIMS


@pytest.mark.parametrize(
    ("header", "payload"),
    [
        ({"alg": "none"}, CLAIMS),
        ({"alg": "HS256"}, CLAIMS),
        ({"kid": "k1"}, CLAIMS),
        ({**HEADER, "crit": ["exp"]}, CLAIMS),
        ({**HEADER, "b64": False}, CLAIMS),
        (b'{"alg":"EdDSA","alg":"EdDSA"}', CLAIMS),
        (b'["EdDSA"]', CLAIMS),
        (b"\xef\xbb\xbf" + b'{"alg":"EdDSA"}', CLAIMS),
        ('{"alg":"EdDSA"}'.encode("utf-16-le"), CLAIMS),
        (HEADER, b"[]"),
        (HEADER, b'{"a":1,"a":1}'),
        (HEADER, b'{"a":NaN}'),
        (HEADER, '{"a":1}'.encode("utf-16-le")),
        (HEADER, b'{"a":"\xff"}'),
    ],
)
def test_a_signed_token_with_one_fault_is_refused(
    header: bytes | dict[str, Any], payload: bytes | dict[str, Any]
) -> None:
    """Each is signed properly and wrong in one thing; the control is the same token without it."""
    assert verify(sign_payload(HEADER, CLAIMS), [KEY]) == CLAIMS
    with pytest.raises(JwsFault):
        verify(sign_payload(header, payload), [KEY])


def test_no_changed_character_survives() -> None:
    """Every single character of a token matters, the spare bits of the last one of each segment too."""
    token = sign_payload(HEADER, CLAIMS)
    for place, letter in enumerate(token):
        other_letter = "." if letter == "A" else "A" if letter != "B" else "C"
        with pytest.raises(JwsFault):
            verify(token[:place] + other_letter + token[place + 1 :], [KEY])
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    spare = token[:-1] + alphabet[alphabet.index(token[-1]) ^ 1]
    with pytest.raises(JwsFault, match="spare bits"):
        verify(spare, [KEY])


@pytest.mark.parametrize(
    "text", ["", "a.b", "..", "e30.e30.", "e30=.e30.AA", "e30.e30.A A", "e30.e30.AA.AA", "e30.e30.A"]
)
def test_what_is_no_compact_jws_is_refused(text: str) -> None:
    """Wrong number of segments, empty ones, padding, other alphabets; `e30.e30.AA` itself parses."""
    assert parse("e30.e30.AA").payload == b"{}"
    with pytest.raises(JwsFault):
        parse(text)


def test_tokens_are_found_wherever_an_answer_may_hold_them() -> None:
    """In members, lists and nested objects of the body, in a header, and inside a header of base64 JSON."""
    token = sign_payload(HEADER, CLAIMS)
    body = {"payable_receipt": token, "a": {"list": [1, token]}, "not": "e30.e30.AA", "text": f"see {token}"}
    settlement_header = base64.b64encode(
        json.dumps({"success": True, "extensions": {"receipt": token}}).encode()
    ).decode()
    headers = {"X-Receipt": token, "PAYMENT-RESPONSE": settlement_header, "ETag": "a.b.c", "Odd": "eyJ"}
    assert tokens_in(body, headers) == [
        ("body:payable_receipt", token),
        ("body:a.list[1]", token),
        ("header:X-Receipt", token),
        ("header:PAYMENT-RESPONSE:extensions.receipt", token),
    ]


def test_a_body_of_any_depth_is_searched_without_a_fault() -> None:
    """A body nested deeper than any receipt stands is searched to a limit and never exhausts the stack."""
    deep: Any = sign_payload(HEADER, CLAIMS)
    for _ in range(5000):
        deep = [deep]
    assert tokens_in(deep, {}) == []
