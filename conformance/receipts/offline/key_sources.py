"""Sources of the verifier's key: a key set, a DID, a DID document or one key, and never the receipt."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from conformance.oracles.ed25519_keys import Ed25519Key, KeyFault, decode_base64url
from conformance.receipts.offline.did_web import asserting_keys, document_url, idle_kids, jwk_of
from conformance.receipts.offline.fetching import fetch_document

_BASE64URL_KEY = re.compile(r"[A-Za-z0-9_-]{43}")
_HEX_KEY = re.compile(r"[0-9A-Fa-f]{64}")
_DID_KEY: Final = "did:key:"


@dataclass(frozen=True, slots=True)
class KeySet:
    """Keys and their source.

    Attributes:
        jwks: The key set as a JWKS document, unchanged if it was published as one.
        origin: Its source in words.
        did: The DID of the keys, or None.
        idle: Names of keys in the document that must not sign, such as retired ones.
    """

    jwks: Mapping[str, Any]
    origin: str
    did: str | None = None
    idle: tuple[str, ...] = ()

    def jwks_for_kid(self, kid: Any) -> Mapping[str, Any]:
        """Return the key set for a `kid`: if it is a DID URL of this DID, the key of its fragment gets that name."""
        did, hash_sign, fragment = kid.partition("#") if isinstance(kid, str) else ("", "", "")
        # A kid of another DID must not select a key of this document.
        if not hash_sign or did not in {"", self.did}:
            return self.jwks
        keys = [{**key, "kid": kid} if key.get("kid") == fragment else key for key in self.jwks["keys"]]
        return {"keys": keys}


def of_jwks(data: bytes, origin: str) -> KeySet:
    """Return the keys of a JWKS document unchanged, since the nine steps judge them.

    Raises:
        KeyFault: It is not a JWKS document with a key.
    """
    document = _json(data)
    keys = document.get("keys") if isinstance(document, dict) else None
    if isinstance(document, dict) and keys is None and document.keys() & {"verificationMethod", "assertionMethod"}:
        raise KeyFault("it is a DID document; give it by --did-document, or its DID by --did")
    if not isinstance(keys, list) or not keys or not all(isinstance(one, dict) for one in keys):
        raise KeyFault('it is not a JWKS document of the form {"keys": […]} with a key')
    return KeySet({"keys": keys}, origin)


def of_did_document(data: bytes, origin: str, did: str | None = None) -> KeySet:
    """Return the asserting keys of a DID document.

    Raises:
        KeyFault: It is not a DID document, is of another DID, or has no such key.
    """
    document = _json(data)
    own, jwks = asserting_keys(document, did)
    return KeySet({"keys": jwks}, origin, own, idle_kids(document, jwks))


def of_did(did: str) -> KeySet:
    """Return the keys of a DID: did:web by fetching its document, did:key from its own text.

    Raises:
        KeyFault: The DID is malformed, or its document is unusable.
        NotFetched: Its document could not be fetched.
    """
    if did.startswith(_DID_KEY):
        from conformance.oracles.message_signatures.keys import of_did_key  # noqa: PLC0415 - most callers need none

        material = of_did_key(did).material
        name = did.partition("#")[0]
        raw = material if isinstance(material, bytes) else b""
        return KeySet({"keys": [jwk_of(Ed25519Key(raw, name.removeprefix(_DID_KEY)))]}, f"the DID {name}", name)
    url = document_url(did)
    data = fetch_document(url)
    try:
        return of_did_document(data, f"the DID document at {url}", did)
    except KeyFault as fault:
        raise KeyFault(f"{url}: {fault}") from fault


def of_hex(text: str) -> KeySet:
    """Return the key of 64 hex digits.

    Raises:
        KeyFault: The text is something else.
    """
    if not _HEX_KEY.fullmatch(text):
        raise KeyFault("a public key in hex has 64 hex digits (32 bytes of Ed25519)")
    return KeySet({"keys": [jwk_of(Ed25519Key(bytes.fromhex(text), None))]}, "the key that was given in hex")


def of_key(data: bytes, origin: str) -> KeySet:
    """Return one Ed25519 key: hex, base64url, PEM, a JWK, a did:key or 32 raw bytes; of a private key the public half.

    Raises:
        KeyFault: It is not a key.
    """
    from conformance.oracles.message_signatures.keys import read_public  # noqa: PLC0415 - most callers need none

    text = data.decode("ascii", "replace").strip()
    if _BASE64URL_KEY.fullmatch(text) and not _HEX_KEY.fullmatch(text):
        return KeySet({"keys": [jwk_of(Ed25519Key(decode_base64url(text), None))]}, origin)
    if text.startswith("{") and isinstance(document := _json(data), dict) and "keys" in document:
        raise KeyFault("it is a key set; give it by --jwks")
    key = read_public(data)
    if key.algorithms != ("ed25519",) or not isinstance(key.material, bytes):
        raise KeyFault("it is not an Ed25519 key, and receipts are signed with Ed25519 only")
    return KeySet({"keys": [jwk_of(Ed25519Key(key.material, None))]}, origin)


def _json(data: bytes) -> Any:
    try:
        return json.loads(data.decode("utf-8"))
    except (ValueError, RecursionError) as fault:
        raise KeyFault(f"it is not JSON: {fault}") from fault
