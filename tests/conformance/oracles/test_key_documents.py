"""Oracle of key documents: which key sets and DID documents are as the specification says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from conformance.oracles.ed25519_keys import keys_of_jwks
from conformance.oracles.key_documents import find_did_faults, find_key_set_faults
from reference.protocol.keys import SigningKey, did_document, jwks

DID = "did:web:rail.example"
SERVICES = {"x402": ("AgentPaymentService", "https://rail.example/pay/v1/index")}
KEYS = [SigningKey.from_seed(bytes([number]) * 32).public for number in (1, 2)]
KEY_SET = jwks(KEYS)
LISTED = [
    {"id": f"{DID}#{name}", "type": kind, "serviceEndpoint": address} for name, (kind, address) in SERVICES.items()
]


def make_document(**changes: Any) -> Mapping[str, Any]:
    """Return a DID document with members changed."""
    return {**did_document(DID, KEYS, LISTED), **changes}


def test_the_documents_of_the_reference_have_no_fault() -> None:
    """With a retired key after the active one."""
    assert find_key_set_faults(KEY_SET) == []
    assert find_did_faults(make_document(), DID, keys_of_jwks(KEY_SET), SERVICES) == []


@pytest.mark.parametrize(
    "keys",
    [
        [],
        [*KEY_SET["keys"], KEY_SET["keys"][0]],
        [{**KEY_SET["keys"][0], "kid": KEY_SET["keys"][1]["kid"]}],
        [{**KEY_SET["keys"][0], "alg": "EdDSA"}],
        [{name: value for name, value in KEY_SET["keys"][0].items() if name != "use"}],
    ],
)
def test_a_key_set_with_another_member_has_a_fault(keys: list[Any]) -> None:
    """A kid of another key, a further member, a missing one, a key twice, and no key."""
    assert find_key_set_faults({"keys": keys})


@pytest.mark.parametrize(
    "changes",
    [
        {"assertionMethod": [f"{DID}#{key.kid}" for key in KEYS]},
        {"authentication": [f"{DID}#{KEYS[1].kid}"]},
        {"alsoKnownAs": [KEYS[1].did_key]},
        {"verificationMethod": make_document()["verificationMethod"][:1]},
        {"service": []},
        {"keyAgreement": [f"{DID}#{KEYS[0].kid}"]},
        {"@context": ["https://www.w3.org/ns/did/v1"]},
    ],
)
def test_a_did_document_with_another_member_has_a_fault(changes: Mapping[str, Any]) -> None:
    """In particular a retired key that may assert or authenticate."""
    assert find_did_faults(make_document(**changes), DID, keys_of_jwks(KEY_SET), SERVICES)
