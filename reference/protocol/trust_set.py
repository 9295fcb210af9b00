"""The entries that the trust set may contain, and its published form (7.1, 7.2)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Protocol
from urllib.parse import unquote_to_bytes

LONGEST_DID = 512
_DID = re.compile(r"did:[a-z0-9]+:[A-Za-z0-9._:%-]+")


class TrustedKey(Protocol):
    """An issuer and its key."""

    @property
    def did(self) -> str:
        """Its DID."""

    @property
    def kid(self) -> str:
        """Its `kid`."""

    @property
    def public_key_b64(self) -> str:
        """The key, standard base64."""


def is_did(text: str) -> bool:
    """Return whether a text is a DID as the trust set takes it (P-CP-01)."""
    return len(text) <= LONGEST_DID and _DID.fullmatch(text) is not None


def meant_by(segment: bytes) -> tuple[str, ...]:
    """Return the texts that a path segment may mean: decoded once, then as it was sent (P-CP-02)."""
    try:
        # A DID may contain percent-escapes itself (the port of a did:web). Clients escape it once more in a path,
        # or do not.
        decoded_text, raw = unquote_to_bytes(segment).decode(), segment.decode("ascii")
    except UnicodeDecodeError:
        return ()
    return tuple(dict.fromkeys((decoded_text, raw)))


def trust_set(keys: Sequence[TrustedKey]) -> dict[str, str]:
    """Return `{did: base64}`."""
    return {one.did: one.public_key_b64 for one in keys}


def key_document(issuer: str, updated_at: str, keys: Sequence[TrustedKey]) -> dict[str, Any]:
    """Return the document that credential verifiers resolve (7.1).

    Args:
        issuer: DID of its publisher.
        updated_at: Time of the last change, UTC text.
        keys: In the order of registration.
    """
    return {"issuer": issuer, "updated_at": updated_at, "keys": [_describe_key(one) for one in keys]}


def _describe_key(key: TrustedKey) -> dict[str, str]:
    return {
        "did": key.did,
        "kid": key.kid,
        "alg": "Falcon-1024",
        "fips": "206",
        "use": "sig",
        # The same key under two names, and above the number of a draft standard: existing clients read them (7.1,
        # P-KY-09).
        "public_key_b64": key.public_key_b64,
        "public_key_pqclean_b64": key.public_key_b64,
        "status": "active",
    }
