"""RAIL-KEY: the keys that the rail publishes in its DID document and its key set."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from conformance.engine.check import Case, check
from conformance.oracles.ed25519_keys import did_web_of, is_sound_point, keys_of_did, keys_of_jwks, private_members
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
    is_document = (
        first.status == 200 and isinstance(did, dict) and isinstance(did.get("id"), str) and holds_methods(did)
    )
    case.expect("RAIL-KEY-01", is_document, "200 with a DID document", first.status, exchange=first)
    faults = [*find_method_faults(did), *find_service_faults(did)] if is_document else []
    beyond = None if case.profile.is_reference else _BY_DID_CORE
    core_rule = "methods and services by DID Core"
    case.expect("RAIL-KEY-01", not faults, core_rule, faults, exchange=first, beyond=beyond)
    identifier = did.get("id") if isinstance(did, dict) else None
    own_did = did_web_of(case.session.rail)
    case.expect("RAIL-KEY-02", names_host(identifier, own_did), own_did, identifier, exchange=first)
    second, jwks = await document(case, JWKS)
    set_keys = keys_of_jwks(jwks)
    # A key of small order would accept forged signatures, so the point itself is checked, not only the form of the
    # key.
    has_sound_key = second.status == 200 and any(is_sound_point(key.raw) for key in set_keys)
    case.expect("RAIL-KEY-03", has_sound_key, "200 with an OKP Ed25519 key", second.status, exchange=second)
    # Verifiers use either document. If the documents share no key, half of the verifiers reject every receipt.
    common_keys = {key.raw for key in set_keys} & {key.raw for key in keys_of_did(did)}
    case.expect(
        "RAIL-KEY-04", bool(common_keys), "one key in both documents", f"{len(common_keys)} shared", exchange=second
    )
    # A published private member lets anyone sign receipts in the rail's name.
    leaks = [*private_members(did), *private_members(jwks)]
    case.expect("RAIL-KEY-05", not leaks, "no private members", leaks, exchange=second)


def holds_methods(did: Mapping[str, Any]) -> bool:
    """Return whether a DID document has verification methods, listed or embedded in an assertionMethod."""
    return bool(_list_methods(did))


def _list_methods(did: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    method_lists = [did.get("verificationMethod"), did.get("assertionMethod")]
    return [one for methods in method_lists if isinstance(methods, list) for one in methods if isinstance(one, dict)]


def find_method_faults(did: Mapping[str, Any]) -> list[str]:
    """Return the members that methods lack although DID Core demands them (5.2), and ids that are not unique."""
    methods = _list_methods(did)
    faults = [
        f"{one.get('id')}: {name}" for one in methods for name in _OF_A_METHOD if not isinstance(one.get(name), str)
    ]
    return faults + _find_repeated_ids(methods)


def find_service_faults(did: Mapping[str, Any]) -> list[str]:
    """Return the members that services lack although DID Core demands them (5.4), and ids that are not unique.

    A document needs no services, and an id may be relative.
    """
    services = did.get("service", [])
    if not isinstance(services, list):
        return ["service: no list"]
    service_objects = [service for service in services if isinstance(service, dict)]
    faults = ["service: no object"] * (len(services) - len(service_objects))
    for service in service_objects:
        name = service.get("id")
        faults += [] if isinstance(name, str) and name else ["service: no id"]
        faults += [] if _is_type(service.get("type")) else [f"service {name}: type"]
        endpoint = service.get("serviceEndpoint")
        faults += [] if isinstance(endpoint, str | dict | list) and endpoint else [f"service {name}: serviceEndpoint"]
    return faults + _find_repeated_ids(service_objects)


def _find_repeated_ids(members: Sequence[Mapping[str, Any]]) -> list[str]:
    # A verifier looks a method up by its id. With two of them it may take the wrong key.
    ids = [one["id"] for one in members if isinstance(one.get("id"), str)]
    return sorted(f"{one}: twice" for one in set(ids) if ids.count(one) > 1)


def _is_type(value: Any) -> bool:
    """Return whether a value is the type of a service: a text or a list of texts."""
    types = value if isinstance(value, list) else [value]
    return bool(types) and all(isinstance(one, str) and one for one in types)


def names_host(identifier: Any, host_did: str) -> bool:
    """Return whether a did:web identifier names the expected host.

    The method forbids IP addresses, so a rail at a loopback address may name itself localhost.
    """
    if not isinstance(identifier, str):
        return False
    identifier_text, expected_text = identifier.replace("%3a", "%3A"), host_did.replace("%3a", "%3A")
    return identifier_text == expected_text or identifier_text == _LOOPBACK.sub("did:web:localhost", expected_text)
