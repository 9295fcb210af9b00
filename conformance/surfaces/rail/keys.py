"""Published keys of the rail: the DID document and the key set."""

from __future__ import annotations

from typing import Any

from conformance.engine.check import Case
from conformance.http.client import Answer, JsonFault
from conformance.oracles.ed25519_keys import Ed25519Key, keys_of_did, keys_of_jwks

DID = "/.well-known/did.json"


JWKS = "/.well-known/jwks.json"


async def document(case: Case, path: str) -> tuple[Answer, Any]:
    """Return a document's answer and its JSON, or None if it is not JSON."""
    answer = await case.client.call("GET", case.session.rail + path)
    try:
        return answer, answer.parse_json()
    except JsonFault:
        return answer, None


async def published_keys(case: Case) -> tuple[list[Ed25519Key], list[Ed25519Key]]:
    """Return the keys of the key set and of the DID document."""
    _, jwks = await document(case, JWKS)
    _, did = await document(case, DID)
    return keys_of_jwks(jwks), keys_of_did(did)


async def published_did(case: Case) -> str:
    """Return the id of the DID document; the empty text without one, which RAIL-KEY-01 judges."""
    _, did = await document(case, DID)
    return str(did.get("id", "")) if isinstance(did, dict) else ""
