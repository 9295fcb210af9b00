"""Hash references and the three recipes that bind a receipt (P-CV-06, P-RH-01 to P-RH-03)."""

from __future__ import annotations

import hashlib
from functools import lru_cache

from reference.protocol.canonical_json import JsonValue, canonicalise
from reference.protocol.service_word import ServiceWord


def hash_reference(data: bytes) -> str:
    """Return `sha256:` and the lower-case hex SHA-256 of `data`."""
    return "sha256:" + hashlib.sha256(data).hexdigest()


def request_hash(*, body: JsonValue, path: str, query: str, service_id: str) -> str:
    """Return the hash reference of a paid request (P-RH-01).

    Args:
        body: The parsed JSON body.
        path: Path below the rail's public address, starting `/pay/`.
        query: Raw query without `?`; the empty string if the URL has no query.
        service_id: The paid service.

    Raises:
        NotCanonical: The body has no RFC 8785 form.
    """
    return canonical_request_hash(canonicalise(body), path, query, service_id)


def canonical_request_hash(body: bytes, path: str, query: str, service_id: str) -> str:
    """Return `request_hash` of a body that is in its RFC 8785 form already."""
    # `body` sorts before the other members of the envelope, so its canonical bytes can be put in front of the cached
    # form of the others.
    return hash_reference(b'{"body":' + body + _after_body(path, query, service_id))


@lru_cache(maxsize=64)
def _after_body(path: str, query: str, service_id: str) -> bytes:
    other_members = canonicalise({"method": "POST", "path": path, "query": query, "service_id": service_id})
    return b"," + other_members.removeprefix(b"{")


def response_hash(result: JsonValue) -> str:
    """Return the hash reference of member `result` of the paid answer (P-RH-02)."""
    return hash_reference(canonicalise(result))


def settled_payment_ref(word: ServiceWord, tx_id: str, network_key: str) -> str:
    """Return the hash reference of a settled payment (P-RH-03); `tx_id` in its canonical form (P-NW-04)."""
    return hash_reference(f"{word.payable_core}:{tx_id}:{network_key}".encode())
