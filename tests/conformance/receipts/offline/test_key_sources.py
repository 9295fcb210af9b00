"""Keys come from the verifier: sets, DIDs, documents, single keys."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from conformance.oracles.ed25519_keys import KeyFault
from conformance.receipts.offline.did_web import document_url
from conformance.receipts.offline.key_sources import of_did, of_did_document, of_hex, of_jwks, of_key
from tests.conformance.receipts.offline.signed_receipts import DID, DID_KEY, HEX, OTHER_SIGNER, SIGNER, did_document

X = SIGNER.jwk["x"]


@pytest.mark.parametrize(
    ("did", "url"),
    [
        ("did:web:a.example", "https://a.example/.well-known/did.json"),
        ("did:web:a.example%3A8443", "https://a.example:8443/.well-known/did.json"),
        ("did:web:a.example:issuers:one", "https://a.example/issuers/one/did.json"),
        ("did:web:localhost%3A8402", "http://localhost:8402/.well-known/did.json"),
        ("did:web:rail.localhost%3a80:x", "http://rail.localhost:80/x/did.json"),
    ],
)
def test_a_did_web_leads_to_its_document(did: str, url: str) -> None:
    """By https; by http on this machine alone."""
    assert document_url(did) == url


@pytest.mark.parametrize(
    "did",
    [
        "did:web:",
        "did:web:127.0.0.1",
        "did:web:[::1]",
        "did:web:a.example%3A",
        "did:web:a.example%3A0",
        "did:web:a.example%3A80%3A80",
        "did:web:a.example:..:x",
        "did:web:a.example::x",
        "did:web:a.example:x/y",
        "did:web:user@a.example",
        "did:web:a.example?x",
        "did:web:a.example#key",
        "did:web:a.example%2Fx",
        "did:ion:abc",
        "https://a.example",
        "did:web:-a.example",
        "did:web:a.example.",
        "",
    ],
)
def test_what_is_no_did_web_leads_nowhere(did: str) -> None:
    """No IP address, no credentials, no way out of the path."""
    with pytest.raises(KeyFault):
        document_url(did)


@pytest.mark.parametrize(
    "text", [HEX, HEX.upper(), f"{HEX}\n", X, f"{X}\n", DID_KEY, json.dumps(SIGNER.jwk), SIGNER.pem().decode()]
)
def test_one_key_is_read_in_every_usual_form(text: str) -> None:
    """Hex, base64url, did:key, JWK, PEM."""
    (key,) = of_key(text.encode(), "here").jwks["keys"]
    assert key["x"] == X


def test_raw_bytes_are_a_key() -> None:
    """Thirty-two of them."""
    assert of_key(SIGNER.raw, "here").jwks["keys"][0]["x"] == X
    assert of_hex(HEX).jwks["keys"][0]["x"] == X


def test_a_did_key_is_its_own_key() -> None:
    """Nothing is asked anywhere."""
    key_set = of_did(DID_KEY)
    assert (key_set.did, key_set.jwks["keys"][0]["x"]) == (DID_KEY, X)


def _pem_of_another_curve() -> bytes:
    key = ec.derive_private_key(5, ec.SECP256R1()).public_key()
    return key.public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)


@pytest.mark.parametrize(
    "data", [b"", b"zz", b"a" * 43 + b"!", json.dumps({"keys": [SIGNER.jwk]}).encode(), _pem_of_another_curve(), b"{"]
)
def test_what_is_no_ed25519_key_is_refused(data: bytes) -> None:
    """A key set among them, with the option that takes it."""
    with pytest.raises(KeyFault):
        of_key(data, "here")


@pytest.mark.parametrize("text", [HEX[:-1], HEX + "0", "0x" + HEX, X])
def test_hex_is_64_digits(text: str) -> None:
    """Nothing else."""
    with pytest.raises(KeyFault):
        of_hex(text)


@pytest.mark.parametrize("document", [[], {}, {"keys": []}, {"keys": {}}, {"keys": [5]}, did_document()])
def test_what_is_no_key_set_is_refused(document: Any) -> None:
    """A DID document among them, with the option that takes it."""
    with pytest.raises(KeyFault):
        of_jwks(json.dumps(document).encode(), "here")


def test_a_key_set_stays_as_it_was_published() -> None:
    """The nine steps judge its keys, foreign ones too."""
    keys = [{"kty": "EC", "kid": "a"}, SIGNER.jwk]
    assert of_jwks(json.dumps({"keys": keys}).encode(), "here").jwks == {"keys": keys}


def test_only_asserting_keys_of_a_did_document_count() -> None:
    """The others are remembered by name, for they may explain a failure."""
    key_set = of_did_document(
        json.dumps(did_document(asserting_signers=(SIGNER,), idle=(OTHER_SIGNER,))).encode(), "here"
    )
    assert key_set.did == DID
    assert [key["x"] for key in key_set.jwks["keys"]] == [X]
    assert key_set.idle == (OTHER_SIGNER.kid,)


@pytest.mark.parametrize(
    "changed_document",
    [
        {"id": "did:web:other.example"},
        {"id": None},
        {"id": "http://localhost"},
        {"assertionMethod": None},
        {"assertionMethod": []},
        {"assertionMethod": ["#unknown"]},
        {"verificationMethod": 5},
    ],
)
def test_a_did_document_of_no_use_is_refused(changed_document: dict[str, Any]) -> None:
    """Another DID's, or without an asserting key: without assertionMethod no key may sign."""
    with pytest.raises(KeyFault):
        of_did_document(json.dumps(did_document() | changed_document).encode(), "here", DID)


def test_asserting_keys_may_stand_in_the_list_itself_or_as_multibase() -> None:
    """DID Core allows methods in full, relative names, and Multikey."""
    multibase = DID_KEY.removeprefix("did:key:")
    embedded_method = {"id": "#k1", "type": "Multikey", "controller": DID, "publicKeyMultibase": multibase}
    key_set = of_did_document(json.dumps({"id": DID, "assertionMethod": [embedded_method]}).encode(), "here")
    assert [(key["kid"], key["x"]) for key in key_set.jwks["keys"]] == [("k1", X)]


@pytest.mark.parametrize(
    ("kid", "key_name"),
    [
        (SIGNER.kid, SIGNER.kid),
        (f"{DID}#{SIGNER.kid}", f"{DID}#{SIGNER.kid}"),
        (f"#{SIGNER.kid}", f"#{SIGNER.kid}"),
        (f"did:web:other.example#{SIGNER.kid}", SIGNER.kid),
        (None, SIGNER.kid),
        (5, SIGNER.kid),
    ],
)
def test_a_did_url_names_the_key_of_its_fragment(kid: Any, key_name: str) -> None:
    """Under the document's own DID only."""
    key_set = of_did_document(json.dumps(did_document()).encode(), "here")
    assert [key["kid"] for key in key_set.jwks_for_kid(kid)["keys"]] == [key_name]


def test_base64url_of_32_bytes_has_no_spare_bits() -> None:
    """A spelling with spare bits set is no key."""
    last = base64.urlsafe_b64encode(SIGNER.raw).decode().rstrip("=")[:-1] + "h"
    with pytest.raises(KeyFault):
        of_key(last.encode(), "here")
