"""Reading the hub's documents of keys (7.1)."""

from __future__ import annotations

from typing import Any

import pytest

from reference.protocol.issuer_key_documents import keys_of_key_document, keys_of_trust_set
from tests.reference.falcon_issuer import Issuer

FIRST_ISSUER, TWO = Issuer(), Issuer("did:web:other.example", 2)


def test_a_trust_set() -> None:
    """What is no key makes its issuer unknown and leaves the others."""
    document = {FIRST_ISSUER.did: FIRST_ISSUER.public_key_b64, TWO.did: "AAAA", "did:web:x": 5}
    assert keys_of_trust_set(document) == {FIRST_ISSUER.did: FIRST_ISSUER.public}
    assert keys_of_trust_set({}) == {}


def test_a_key_document() -> None:
    """Each active entry."""
    document = {"issuer": "did:web:hub", "updated_at": "x", "keys": [FIRST_ISSUER.key_entry(), TWO.key_entry()]}
    assert keys_of_key_document(document) == {FIRST_ISSUER.did: FIRST_ISSUER.public, TWO.did: TWO.public}


@pytest.mark.parametrize(
    "entry",
    [
        *(None, "x", [], {}),
        *(FIRST_ISSUER.key_entry(**{name: None}) for name in ("did", "kid", "alg", "status", "public_key_b64")),
        FIRST_ISSUER.key_entry(status="retired"),
        FIRST_ISSUER.key_entry(alg="ML-DSA-65"),
        FIRST_ISSUER.key_entry(kid="0" * 16),
        FIRST_ISSUER.key_entry(kid=["a"]),
        FIRST_ISSUER.key_entry(did=["a"]),
        FIRST_ISSUER.key_entry(public_key_b64="AAAA"),
        FIRST_ISSUER.key_entry(public_key_b64={"a": 1}),
    ],
)
def test_an_entry_that_does_not_count(entry: Any) -> None:
    """Only itself is left out."""
    assert keys_of_key_document({"keys": [entry, TWO.key_entry()]}) == {TWO.did: TWO.public}


def test_a_did_with_two_keys_has_none() -> None:
    """There is no guess between two keys; the same key twice is one key."""
    other_issuer = Issuer(FIRST_ISSUER.did, 2)
    assert keys_of_key_document({"keys": [FIRST_ISSUER.key_entry(), other_issuer.key_entry()]}) == {}
    assert keys_of_key_document({"keys": [FIRST_ISSUER.key_entry(), FIRST_ISSUER.key_entry()]}) == {
        FIRST_ISSUER.did: FIRST_ISSUER.public
    }


@pytest.mark.parametrize("document", [None, [], "x", 1])
def test_what_is_no_document(document: Any) -> None:
    """It is refused as a whole."""
    for read in (keys_of_trust_set, keys_of_key_document):
        with pytest.raises(ValueError, match="JSON object"):
            read(document)
    documents: list[Any] = [{}, {"keys": None}, {"keys": {}}]
    for nothing in documents:
        with pytest.raises(ValueError, match="list of keys"):
            keys_of_key_document(nothing)
