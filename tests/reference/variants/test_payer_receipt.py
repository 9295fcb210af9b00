"""The payer of the reference looks at its receipt: the key that signed it, and the call that it is of."""

from __future__ import annotations

import json
from base64 import urlsafe_b64encode
from pathlib import Path
from typing import Any

import pytest
from nacl.signing import SigningKey

from reference.protocol.canonical_json import JsonValue
from reference.protocol.hashes import hash_reference, request_hash, response_hash
from reference.variants.payer import receipt as payer_receipt
from reference.variants.payer.http_call import Answer
from reference.variants.payer.receipt import BadReceipt, check_receipt, choose_key, read_claims
from reference.variants.payer.settings import Settings

TOKEN = "1800000000:a:b"
BODY: JsonValue = {"network": "base_mainnet"}
RESULT: JsonValue = {"verdict": "ALLOW"}
SIGNER, OTHER = SigningKey(b"1" * 32), SigningKey(b"2" * 32)


def encode(raw: bytes) -> str:
    """Return base64url without padding."""
    return urlsafe_b64encode(raw).rstrip(b"=").decode("ascii")


def publish(key: SigningKey, kid: str) -> dict[str, Any]:
    """Return a key as a key set lists it."""
    return {"kty": "OKP", "crv": "Ed25519", "kid": kid, "x": encode(bytes(key.verify_key))}


def sign(claims: Any, header: Any = None, key: SigningKey = SIGNER) -> str:
    """Return a compact JWS."""
    parts = [encode(json.dumps(part).encode()) for part in (header or {"alg": "EdDSA", "kid": "one"}, claims)]
    return ".".join([*parts, encode(key.sign(".".join(parts).encode()).signature)])


KEYS = {"keys": [publish(SIGNER, "one"), publish(OTHER, "two")]}


def test_a_receipt_of_a_published_key_has_claims() -> None:
    """Also one whose header names no key, or none of the set: the first key counts (P-RV-01)."""
    assert read_claims(sign({"a": 1}), KEYS) == {"a": 1}
    assert read_claims(sign({"a": 1}, {"alg": "Ed25519"}), KEYS) == {"a": 1}
    assert read_claims(sign({"a": 1}, {"alg": "EdDSA", "kid": "three"}), KEYS) == {"a": 1}
    assert choose_key({"keys": [{"kty": "RSA", "kid": "two"}, *KEYS["keys"]]}, "two") == KEYS["keys"][1]


@pytest.mark.parametrize(
    ("receipt", "keys"),
    [
        (sign({}, key=OTHER), KEYS),
        (sign({}, {"alg": "none", "kid": "one"}), KEYS),
        (sign({}, {"alg": "EdDSA", "kid": "one", "crit": ["b64"]}), KEYS),
        (sign({}, {"kid": "one"}), KEYS),
        (sign({}, ["alg"]), KEYS),
        (sign([]), KEYS),
        (sign({}) + "=", KEYS),
        (sign({}) + "\n", KEYS),
        (sign({})[:-1] + "B", KEYS),
        (sign({}).rpartition(".")[0] + ".", KEYS),
        ("a.b", KEYS),
        ("é.é.é", KEYS),
        (sign({}), {}),
        (sign({}), {"keys": []}),
        (sign({}), {"keys": "one"}),
        (sign({}), {"keys": [{**KEYS["keys"][0], "x": "AA"}]}),
    ],
)
def test_a_receipt_that_does_not_verify_has_none(receipt: str, keys: dict[str, Any]) -> None:
    """Another key, algorithm or spelling, or no key."""
    with pytest.raises(BadReceipt, match=r"^the receipt does not verify: "):
        read_claims(receipt, keys)


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Return the settings of a call."""
    body = json.dumps(BODY).encode()
    url, node = "http://rail.example/pay/v1/x?a=1", "http://node.example"
    return Settings(url, "POST", body, "base", "eip155:8453", "0x1", node, "", "key", 5, 1.0, tmp_path)


@pytest.fixture(autouse=True)
def _published_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    def answer(method: str, url: str) -> Answer:
        assert (method, url) == ("GET", "http://rail.example/.well-known/jwks.json")
        return Answer(200, {}, json.dumps(KEYS).encode())

    monkeypatch.setattr(payer_receipt, "send_request", answer)


@pytest.mark.parametrize("extra", [{}, {"service_id": "s"}, {"service_id": "s", "request_hash": "quoted"}])
def test_a_receipt_is_of_the_own_call(settings: Settings, extra: dict[str, Any]) -> None:
    """Its request is the payer's own, whether or not the challenge names its hash or its service."""
    own_hash = request_hash(body=BODY, path="/pay/v1/x", query="a=1", service_id="s")
    claims = {
        "service_id": "s",
        "request_hash": own_hash,
        "response_hash": response_hash(RESULT),
        "payment_reference_hash": hash_reference(TOKEN.encode()),
    }
    entry = {"extra": {"payment_reference": TOKEN, **extra}}

    def check(members: dict[str, Any]) -> None:
        body = {"result": RESULT, "payable_receipt": sign(members)}
        check_receipt(settings, entry, Answer(200, {}, json.dumps(body).encode()))

    check(claims)
    for name in ("request_hash", "response_hash", "payment_reference_hash"):
        for other_claims in (claims | {name: hash_reference(b"other")}, {**claims, name: None}):
            with pytest.raises(BadReceipt, match=f"{name} differs"):
                check(other_claims)
    with pytest.raises(BadReceipt, match="contains no receipt"):
        check_receipt(settings, entry, Answer(200, {"payable-receipt": sign(claims)}, b"{}"))
