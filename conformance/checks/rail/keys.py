"""RAIL-KEY: the keys that the rail publishes in its DID document and its key set."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from conformance.engine.check import Case, check
from conformance.oracles.keys import did_web_of, is_sound_point, keys_of_did, keys_of_jwks, private_members
from conformance.surfaces.rail.keys import DID, JWKS, document

_LOOPBACK = re.compile(r"^did:web:(127\.0\.0\.1|%3A%3A1)(?=%3A|:|$)")
_OF_A_METHOD = ("id", "type", "controller")
_BY_DID_CORE = "the interface demands a DID document, and leaves its details to DID Core"


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
    """DID document and key set exist, name the host, and contain the same public key and no private one.

    Fetches both documents. Expects 200, the did:web of the rail's address as id, and an OKP Ed25519 key that is in both
    documents. Expects no private member in either. A method or service without the members that DID Core demands warns,
    and fails the reference.
    """
    first, did = await document(case, DID)
    formed = first.status == 200 and isinstance(did, dict) and isinstance(did.get("id"), str) and holds_methods(did)
    case.expect("RAIL-KEY-01", formed, "200 with a DID document", first.status, exchange=first)
    lacking = [*faults_of_methods(did), *faults_of_services(did)] if formed else []
    beyond = None if case.profile.is_reference else _BY_DID_CORE
    told = "methods and services by DID Core"
    case.expect("RAIL-KEY-01", not lacking, told, lacking, exchange=first, beyond=beyond)
    identifier = did.get("id") if isinstance(did, dict) else None
    expected = did_web_of(case.session.rail)
    case.expect("RAIL-KEY-02", names_host(identifier, expected), expected, identifier, exchange=first)
    second, jwks = await document(case, JWKS)
    in_set = keys_of_jwks(jwks)
    # A key of small order would accept forged signatures, so the point itself is checked, not only the form of the
    # key.
    held = second.status == 200 and any(is_sound_point(key.raw) for key in in_set)
    case.expect("RAIL-KEY-03", held, "200 with an OKP Ed25519 key", second.status, exchange=second)
    shared = {key.raw for key in in_set} & {key.raw for key in keys_of_did(did)}
    case.expect("RAIL-KEY-04", bool(shared), "one key in both documents", f"{len(shared)} shared", exchange=second)
    leaks = [*private_members(did), *private_members(jwks)]
    case.expect("RAIL-KEY-05", not leaks, "no private members", leaks, exchange=second)


def holds_methods(did: Mapping[str, Any]) -> bool:
    """Return whether a DID document has verification methods, listed or embedded in an assertionMethod."""
    return bool(_methods(did))


def _methods(did: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    listed = [did.get("verificationMethod"), did.get("assertionMethod")]
    return [one for methods in listed if isinstance(methods, list) for one in methods if isinstance(one, dict)]


def faults_of_methods(did: Mapping[str, Any]) -> list[str]:
    """Return the members that methods lack although DID Core demands them (5.2), and ids that are not unique."""
    methods = _methods(did)
    lacking = [
        f"{one.get('id')}: {name}" for one in methods for name in _OF_A_METHOD if not isinstance(one.get(name), str)
    ]
    return lacking + _twice(methods)


def faults_of_services(did: Mapping[str, Any]) -> list[str]:
    """Return the members that services lack although DID Core demands them (5.4), and ids that are not unique.

    A document needs no services, and an id may be relative.
    """
    services = did.get("service", [])
    if not isinstance(services, list):
        return ["service: no list"]
    texts = [one for one in services if isinstance(one, dict)]
    lacking = ["service: no object"] * (len(services) - len(texts))
    for one in texts:
        name = one.get("id")
        lacking += [] if isinstance(name, str) and name else ["service: no id"]
        lacking += [] if _is_type(one.get("type")) else [f"service {name}: type"]
        endpoint = one.get("serviceEndpoint")
        lacking += [] if isinstance(endpoint, str | dict | list) and endpoint else [f"service {name}: serviceEndpoint"]
    return lacking + _twice(texts)


def _twice(members: Sequence[Mapping[str, Any]]) -> list[str]:
    ids = [one["id"] for one in members if isinstance(one.get("id"), str)]
    return sorted(f"{one}: twice" for one in set(ids) if ids.count(one) > 1)


def _is_type(value: Any) -> bool:
    """Return whether a value is the type of a service: a text or a list of texts."""
    listed = value if isinstance(value, list) else [value]
    return bool(listed) and all(isinstance(one, str) and one for one in listed)


def names_host(identifier: Any, expected: str) -> bool:
    """Return whether a did:web identifier names the expected host.

    The method forbids IP addresses, so a rail at a loopback address may name itself localhost.
    """
    if not isinstance(identifier, str):
        return False
    given, wanted = identifier.replace("%3a", "%3A"), expected.replace("%3a", "%3A")
    return given == wanted or given == _LOOPBACK.sub("did:web:localhost", wanted)
