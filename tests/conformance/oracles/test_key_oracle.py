"""The key oracle: published keys read strictly, and signatures that hold only under a sound key."""

from __future__ import annotations

import base64
import copy
from pathlib import Path
from typing import Any

import base58
import cryptography_vectors
import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from conformance.oracles.ed25519_keys import (
    Ed25519Key,
    KeyFault,
    decode_base64url,
    did_web_of,
    is_sound_point,
    key_of_jwk,
    keys_of_did,
    keys_of_jwks,
    private_members,
    verify,
)

SEED = bytes(range(32))
RAW = bytes.fromhex("03a107bff3ce10be1d70dd18e74bc09967e4d6309ba50d5f1ddc8664125531b8")
X = "A6EHv_POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg"
KID = "56475aa75463474c0285df5dbf2bcab7"
MULTIBASE = "z6MkehRgf7yJbgaGfYsdoAsKdBPE3dj2CYhowQdcjqSJgvVd"
JWK = {"kty": "OKP", "crv": "Ed25519", "x": X, "kid": KID, "use": "sig"}
OTHER_X = "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"
_P = 2**255 - 19
_L = 2**252 + 27742317777372353535851937790883648493

# The eight points whose order divides the cofactor, as RFC 8032 would encode them.
SMALL_ORDER = [
    "0100000000000000000000000000000000000000000000000000000000000000",
    "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "0000000000000000000000000000000000000000000000000000000000000000",
    "0000000000000000000000000000000000000000000000000000000000000080",
    "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
    "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85",
    "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
    "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa",
]
NOT_CANONICAL = [
    _P.to_bytes(32, "little").hex(),
    (_P + 1).to_bytes(32, "little").hex(),
    (2**255 - 1).to_bytes(32, "little").hex(),
    ((1 << 255) | 1).to_bytes(32, "little").hex(),
]


def did_document(**members: Any) -> dict[str, Any]:
    did = "did:web:localhost%3A8402"
    method = {"id": f"{did}#{KID}", "type": "JsonWebKey2020", "controller": did, "publicKeyJwk": dict(JWK)}
    return {"id": did, "verificationMethod": [method], "assertionMethod": [f"{did}#{KID}"], **members}


def test_the_worked_example_of_a_key_reads_the_same_from_every_document() -> None:
    """JWKS and DID document, as JWK, multibase or base58, give the 32 bytes and the kid of the profile's example."""
    multibase = did_document(
        verificationMethod=[
            {"id": f"did:web:localhost%3A8402#{KID}", "type": "Multikey", "publicKeyMultibase": MULTIBASE}
        ]
    )
    assert [Ed25519Key(RAW, KID)] == keys_of_jwks({"keys": [JWK]})
    assert [Ed25519Key(RAW, KID)] == keys_of_did(did_document())
    assert [Ed25519Key(RAW, KID)] == keys_of_did(multibase)
    plain = {"id": f"did:web:localhost%3A8402#{KID}", "publicKeyBase58": base58.b58encode(RAW).decode()}
    assert [Ed25519Key(RAW, KID)] == keys_of_did(did_document(verificationMethod=[plain]))
    assert Ed25519PrivateKey.from_private_bytes(SEED).public_key().public_bytes_raw() == RAW


def test_only_the_methods_that_may_assert_are_taken_from_a_did_document() -> None:
    """`assertionMethod` decides: by full id, by fragment or embedded; without it every method counts."""
    did = did_document()
    retired_method = {"id": did["id"] + "#old", "publicKeyJwk": {"kty": "OKP", "crv": "Ed25519", "x": OTHER_X}}
    did["verificationMethod"].append(retired_method)
    assert [key.kid for key in keys_of_did(did)] == [KID]
    assert [key.kid for key in keys_of_did({**did, "assertionMethod": ["#old"]})] == ["old"]
    assert [key.kid for key in keys_of_did({**did, "assertionMethod": [retired_method]})] == ["old"]
    assert keys_of_did({**did, "assertionMethod": ["#none"]}) == []
    del did["assertionMethod"]
    assert [key.kid for key in keys_of_did(did)] == [KID, "old"]


@pytest.mark.parametrize(
    "change",
    [
        {"kty": "EC"},
        {"crv": "X25519"},
        {"x": X + "="},
        {"x": X[:-1] + "h"},
        {"x": X[:-2]},
        {"x": None},
        {"x": "A6EHv/POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg"},
    ],
)
def test_a_jwk_that_is_no_ed25519_key_is_refused(change: dict[str, Any]) -> None:
    """One fault each: kind, curve, padding, spare bits, length, type, alphabet; the unchanged key is the control."""
    assert key_of_jwk(JWK).raw == RAW
    with pytest.raises(KeyFault):
        key_of_jwk({**JWK, **change})


def test_key_sets_of_odd_shapes_hold_no_key() -> None:
    """No document, however odd, faults the reader; keys of other kinds and uses are left out."""
    sets: tuple[Any, ...] = (None, [], "x", {}, {"keys": None}, {"keys": [None, 1, {}, {**JWK, "use": "enc"}]})
    for odd in sets:
        assert keys_of_jwks(odd) == []
    methods = [{}, 1, {"publicKeyMultibase": "z0"}, {"publicKeyMultibase": 7}, {"id": 3, "publicKeyJwk": {}}]
    documents: tuple[Any, ...] = (None, [], {"verificationMethod": methods}, {"assertionMethod": [1, None, {}]})
    for odd in documents:
        assert keys_of_did(odd) == []


def test_base64url_has_one_spelling() -> None:
    """Padding, the other alphabet, white space and non-zero spare bits are refused."""
    assert decode_base64url("AQ") == b"\x01"
    for text in ("AR", "AQ==", "A", "A+", "A Q", "AQ\n", ""):
        with pytest.raises(KeyFault):
            decode_base64url(text)


def test_private_members_are_found_wherever_they_stand() -> None:
    """The private half of a JWK, of a DID method and of a PEM are found by place; public documents are clean."""
    leaking_document = copy.deepcopy(did_document())
    leaking_document["verificationMethod"][0]["publicKeyJwk"]["d"] = "AAAA"
    leaking_document["verificationMethod"][0]["privateKeyBase58"] = "AAAA"
    leaking_document["service"] = [{"note": "-----BEGIN PRIVATE KEY-----\nAAAA"}]
    expected_places = [
        "verificationMethod[0].privateKeyBase58",
        "verificationMethod[0].publicKeyJwk.d",
        "service[0].note",
    ]
    assert sorted(expected_places) == sorted(private_members(leaking_document))
    assert private_members({"keys": [{"kty": "oct", "k": "AAAA"}]}) == ["keys[0].k"]
    assert private_members(did_document()) == []
    assert private_members({"keys": [JWK], "d": "a day", "k": 1, "p": 2}) == []


@pytest.mark.parametrize(
    ("url", "did"),
    [
        ("http://localhost:8402", "did:web:localhost%3A8402"),
        ("https://rail.example/", "did:web:rail.example"),
        ("https://Rail.Example/a/b", "did:web:rail.example:a:b"),
    ],
)
def test_the_did_of_an_address_is_spelt_by_did_web(url: str, did: str) -> None:
    """Host in lower case, the port's colon as %3A, path segments with colons."""
    assert did_web_of(url) == did


@pytest.mark.parametrize("url", ["", "localhost", "http://", "http://h:port/"])
def test_a_text_without_a_host_has_no_did(url: str) -> None:
    """What names no host is reported as a fault of the key document, not as a crash."""
    with pytest.raises(KeyFault):
        did_web_of(url)


def test_published_ed25519_vectors_verify_and_none_does_once_changed() -> None:
    """Every 32nd of the 1024 vectors of Ed25519's authors holds; with one bit of the message or signature off, none."""
    lines = (Path(cryptography_vectors.__file__).parent / "asymmetric/Ed25519/sign.input").read_text().splitlines()
    assert len(lines) == 1024
    for line in lines[::32]:
        _, public, message, signed = (bytes.fromhex(part) for part in line.split(":")[:4])
        key, signature = Ed25519Key(public, None), signed[:64]
        assert verify(key, message, signature)
        assert not verify(key, message + b"\x00", signature)
        assert not verify(key, message, bytes([signature[0] ^ 1]) + signature[1:])
        assert not verify(key, message, signature + b"\x00")


@pytest.mark.parametrize("text", [*SMALL_ORDER, *NOT_CANONICAL])
def test_unsound_keys_are_refused(text: str) -> None:
    """Small-order and non-canonical keys are refused; the worked example's key is the control."""
    assert is_sound_point(RAW)
    assert not is_sound_point(bytes.fromhex(text))


def test_a_text_that_is_no_point_is_refused() -> None:
    """About half of all y have no x; 2 is the first of them. 31 and 33 bytes are no encoding at all."""
    assert not is_sound_point((2).to_bytes(32, "little"))
    assert not is_sound_point(RAW[:-1])
    assert not is_sound_point(RAW + b"\x00")


def test_the_forgery_that_the_library_alone_accepts_is_refused() -> None:
    """Under the identity as key one signature fits every message: the library says yes, the oracle says no."""
    identity = bytes.fromhex(SMALL_ORDER[0])
    forged_signature = identity + bytes(32)
    Ed25519PublicKey.from_public_bytes(identity).verify(forged_signature, b"any message")
    assert not verify(Ed25519Key(identity, None), b"any message", forged_signature)


def test_a_signature_has_one_s() -> None:
    """S plus the group order is the same scalar in another spelling and is refused, by the library too."""
    key = Ed25519PrivateKey.from_private_bytes(SEED)
    signature = key.sign(b"m")
    other_signature = signature[:32] + (int.from_bytes(signature[32:], "little") + _L).to_bytes(32, "little")
    assert verify(Ed25519Key(RAW, None), b"m", signature)
    assert not verify(Ed25519Key(RAW, None), b"m", other_signature)
    with pytest.raises(InvalidSignature):
        key.public_key().verify(other_signature, b"m")


def test_the_key_of_rfc_8037_is_read() -> None:
    """RFC 8037 A.2: the JWK's x holds the key that its seed (A.1) gives."""
    seed = decode_base64url("nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A")
    expected_key = Ed25519PrivateKey.from_private_bytes(seed).public_key().public_bytes_raw()
    assert key_of_jwk({"kty": "OKP", "crv": "Ed25519", "x": OTHER_X}).raw == expected_key
    assert base64.urlsafe_b64encode(expected_key).decode().rstrip("=") == OTHER_X
