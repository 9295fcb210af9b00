"""RAIL-KEY: the published keys."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from conformance.engine.check import Case, check
from conformance.oracles.keys import did_web_of, is_sound_point, keys_of_did, keys_of_jwks, private_members
from conformance.surfaces.rail.keys import DID, JWKS, document

_LOOPBACK = re.compile(r"^did:web:(127\.0\.0\.1|%3A%3A1)(?=%3A|:|$)")


@check(
    "RAIL-KEY-01",
    "RAIL-KEY-02",
    "RAIL-KEY-03",
    "RAIL-KEY-04",
    "RAIL-KEY-05",
    surface="rail",
    fix="Publish the receipt-signing key at /.well-known/did.json (id: did:web of the public host) and at "
    "/.well-known/jwks.json, public members only, and the same key in both.",
)
async def keys_are_published(case: Case) -> None:
    """DID document and key set are there, name the host, hold the same public key and nothing private.

    Fetches both documents. Expects 200, the did:web of the rail's own address as id, an OKP Ed25519 key in the key
    set that the DID document lists too, and no private member anywhere.
    """
    first, did = await document(case, DID)
    formed = first.status == 200 and isinstance(did, dict) and isinstance(did.get("id"), str) and holds_methods(did)
    case.expect("RAIL-KEY-01", formed, "200 with a DID document", first.status, exchange=first)
    identifier = did.get("id") if isinstance(did, dict) else None
    expected = did_web_of(case.session.rail)
    case.expect("RAIL-KEY-02", names_host(identifier, expected), expected, identifier, exchange=first)
    second, jwks = await document(case, JWKS)
    in_set = keys_of_jwks(jwks)
    held = second.status == 200 and any(is_sound_point(key.raw) for key in in_set)
    case.expect("RAIL-KEY-03", held, "200 with an OKP Ed25519 key", second.status, exchange=second)
    shared = {key.raw for key in in_set} & {key.raw for key in keys_of_did(did)}
    case.expect("RAIL-KEY-04", bool(shared), "one key in both documents", f"{len(shared)} shared", exchange=second)
    leaks = [*private_members(did), *private_members(jwks)]
    case.expect("RAIL-KEY-05", not leaks, "no private members", leaks, exchange=second)


def holds_methods(did: Mapping[str, Any]) -> bool:
    """Return whether a DID document holds a verification method, listed or inside the relationship that uses it."""
    listed = did.get("verificationMethod")
    asserting = did.get("assertionMethod")
    held = [one for one in asserting if isinstance(one, dict)] if isinstance(asserting, list) else []
    return bool(listed) or bool(held)


def names_host(identifier: Any, expected: str) -> bool:
    """Return whether a did:web identifier names the host that is expected.

    The method forbids IP addresses, so a rail that is reached by a loopback address may name itself localhost.
    """
    if not isinstance(identifier, str):
        return False
    given, wanted = identifier.replace("%3a", "%3A"), expected.replace("%3a", "%3A")
    return given == wanted or given == _LOOPBACK.sub("did:web:localhost", wanted)
