"""The key document of an issuing addon (7.1, 8.3, 8.4)."""

from __future__ import annotations

from typing import Final

from conformance.http.client import Answer
from conformance.oracles.credentials.answers import differing_members
from conformance.oracles.credentials.judging import kid_of
from conformance.oracles.credentials.payload_kinds import decode_base64
from conformance.surfaces.control_plane.played_hub import make_key_entry

PQC_KEYS: Final = "/.well-known/pqc-keys.json"


def read_published_key(answer: Answer, did: str | None = None) -> str | None:
    """Return the one key of an addon's document in base64; None if a member is not that of the key document in 7.1.

    Args:
        answer: The answer with the document.
        did: The addon's DID; None accepts whatever the document names as its issuer.
    """
    document = answer.read_object()
    keys = document.get("keys")
    if answer.status != 200 or not isinstance(keys, list) or len(keys) != 1 or not isinstance(keys[0], dict):
        return None
    key, issuer = keys[0].get("public_key_b64"), document.get("issuer")
    decoded = decode_base64(key)
    if decoded is None or not isinstance(issuer, str) or did not in {None, issuer}:
        return None
    is_whole = not differing_members(keys[0], make_key_entry(issuer, str(key)))
    return str(key) if is_whole and keys[0].get("kid") == kid_of(decoded) else None
