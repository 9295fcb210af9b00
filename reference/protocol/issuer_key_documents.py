"""Readers of the control plane's documents of issuer keys: the trust set and the key document (7.1)."""

from __future__ import annotations

from typing import Any

from reference.protocol import falcon
from reference.protocol.keys import falcon_kid

TRUST_SET = "/v1/issuer-pks"
ATB_KEYS = "/.well-known/atb-keys.json"
PQC_KEYS = "/.well-known/pqc-keys.json"


def keys_of_trust_set(document: object) -> dict[str, bytes]:
    """Return the key of each issuer in a trust set `{did: base64}`; an entry that holds no key is left out.

    Raises:
        ValueError: The document is not a trust set.
    """
    if not isinstance(document, dict):
        raise ValueError("a trust set is a JSON object")  # noqa: TRY004 - a fault of the content
    # One malformed entry must not take all issuers away, so it is left out. The operator sees the number of issuers
    # in the addon's health document.
    keys = ((did, _key(text)) for did, text in document.items())
    return {did: key for did, key in keys if key is not None}


def keys_of_key_document(document: object) -> dict[str, bytes]:
    """Return the key of each DID in a key document.

    An entry counts if it is active, of Falcon-1024, and its `kid` is that of its key.

    Raises:
        ValueError: The document is not a key document.
    """
    entries = document.get("keys") if isinstance(document, dict) else None
    if not isinstance(entries, list):
        raise ValueError("a key document is a JSON object with a list of keys")  # noqa: TRY004 - a fault of the content
    keys_by_did: dict[str, set[bytes]] = {}
    for entry in entries:
        key = _active_key(entry)
        if key is not None and isinstance(entry.get("did"), str):
            keys_by_did.setdefault(entry["did"], set()).add(key)
    # A DID with two different keys gets none, because nothing says which of them is right (8.2).
    return {did: key for did, (key, *others) in keys_by_did.items() if not others}


def _active_key(entry: Any) -> bytes | None:
    if not isinstance(entry, dict) or entry.get("status") != "active" or entry.get("alg") != falcon.ALGORITHM:
        return None
    key = _key(entry.get("public_key_b64"))
    return key if key is not None and entry.get("kid") == falcon_kid(key) else None


def _key(text: object) -> bytes | None:
    try:
        return falcon.public_key_of(text)
    except ValueError:
        return None
