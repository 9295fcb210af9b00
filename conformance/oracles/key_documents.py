"""Key set and DID document of a service that claims the specification: what each member must be (2.1)."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, Final

import base58

from conformance.oracles.ed25519_keys import Ed25519Key, ed25519_jwk, keys_of_jwks
from conformance.oracles.member_rules import Rules, equals, find_member_faults

_CONTEXT: Final = ["https://www.w3.org/ns/did/v1", "https://w3id.org/security/suites/jws-2020/v1"]
_ED25519_PREFIX: Final = b"\xed\x01"
_KID_DIGITS: Final = 32


def find_key_set_faults(jwks: Any) -> list[str]:
    """Return what is wrong with a key set: kids that are computed from the keys, and five members in each (P-KY-03)."""
    listed = jwks.get("keys") if isinstance(jwks, Mapping) else None
    keys = keys_of_jwks(jwks)
    if not isinstance(listed, list) or not keys or len(keys) != len(listed):
        return ["keys is not a list of Ed25519 keys"]
    faults = find_member_faults(jwks, {"keys": equals(listed)}, "the key set")
    for key, entry in zip(keys, listed, strict=True):
        faults += [] if entry == _make_jwk(key) else [f"the key {key.kid}"]
    return faults + ([] if len({key.raw for key in keys}) == len(keys) else ["a key twice"])


def find_did_faults(
    document: Any, did: str, keys: Sequence[Ed25519Key], services: Mapping[str, tuple[str, str]]
) -> list[str]:
    """Return what is wrong with a DID document (P-KY-07).

    Args:
        document: The document.
        did: The DID that it must have.
        keys: The published keys, the active one first (P-KY-04).
        services: By fragment, the type and the address of each service; none if the document must list none.
    """
    method_ids = [f"{did}#{derive_kid(key)}" for key in keys]
    methods = [
        {"id": method_id, "type": "JsonWebKey2020", "controller": did, "publicKeyJwk": _make_jwk(key)}
        for method_id, key in zip(method_ids, keys, strict=True)
    ]
    service_list = [
        {"id": f"{did}#{fragment}", "type": kind, "serviceEndpoint": address}
        for fragment, (kind, address) in services.items()
    ]
    rules: Rules = {
        "@context": equals(_CONTEXT),
        "id": equals(did),
        "alsoKnownAs": equals([derive_did_key(keys[0])]),
        "verificationMethod": equals(methods),
        # A retired key that may assert signs receipts for anyone who has found it.
        "authentication": equals(method_ids[:1]),
        "assertionMethod": equals(method_ids[:1]),
        **({"service": equals(service_list)} if services else {}),
    }
    return find_member_faults(document, rules, "the DID document")


def derive_kid(key: Ed25519Key) -> str:
    """Return the `kid` of a key: 32 hex digits (P-KY-02)."""
    return hashlib.sha256(key.raw).hexdigest()[:_KID_DIGITS]


def derive_did_key(key: Ed25519Key) -> str:
    """Return the did:key of a key (P-KY-10)."""
    return "did:key:z" + base58.b58encode(_ED25519_PREFIX + key.raw).decode("ascii")


def _make_jwk(key: Ed25519Key) -> dict[str, str]:
    return {**ed25519_jwk(key.raw), "kid": derive_kid(key), "use": "sig"}
