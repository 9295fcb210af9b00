"""CP-ISSUER-12, CP-TRUST-08 and CP-SVC-05: statuses and members of the control plane's answers (7.1, 7.2)."""

from __future__ import annotations

import asyncio
import base64
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from conformance.engine.check import Case, check
from conformance.http.client import Answer
from conformance.oracles.credentials.answers import differing_members
from conformance.surfaces.control_plane.access import ATB_KEYS, ISSUERS, PKS, SERVICES, Hub, Issuer, hub_of
from conformance.surfaces.control_plane.addon_key_document import PQC_KEYS
from conformance.surfaces.control_plane.document_reader import decode_base64
from conformance.surfaces.control_plane.played_hub import kid_of, make_key_entry

_ISSUER_ROW, _TRUST_ROW, _SERVICE_ROW = "CP-ISSUER-12", "CP-TRUST-08", "CP-SVC-05"
_TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
_LONGEST_DID: Final = 512
# Times have seconds, so that a later change has another time.
_NEXT_SECOND: Final = 1.1
# A name that never exists: it is looked up only when the posture is read, and an IP address may be refused (P-CP-05).
_ADDRESS: Final = "http://service.invalid:9"
# Addresses that are not public by the list of P-WH-10, some of them inside an IPv6 address. An operator may allow
# private networks; all but one of these are in no network in which services are.
_PRIVATE_ADDRESSES: Final = (
    *("http://169.254.169.254", "http://10.0.0.1:9", "http://0.0.0.0:9", "http://224.0.0.1:9", "http://240.0.0.1:9"),
    *("http://[fe80::1]:9", "http://[::]:9", "http://[ff02::1]:9", "http://[::ffff:169.254.169.254]:9"),
)


def _find_status_faults(answer: Answer, status: int, expected: Mapping[str, Any] | None = None) -> list[str]:
    if answer.status != status:
        return [f"status {answer.status}"]
    return differing_members(answer.read_object(), expected or {})


def _expect(case: Case, row: str, name: str, faults: Sequence[str], answer: Answer) -> None:
    finding = f"other: {', '.join(faults)}"
    case.expect(row, not faults, "as 7.1 says", finding, exchange=answer, where={"call": name})


@check(
    _ISSUER_ROW,
    surface="control_plane",
    fix="Answer 201 for a new issuer and 200 for one that is there, 204 and 404 for a DELETE, and 422 for what P-CP-01 "
    "does not take.",
)
async def issuers_are_answered_as_specified(case: Case) -> None:
    """Each change of an issuer has the status and the members of 7.1, and P-CP-01 says which issuers are taken.

    Registers an issuer, the same again, with another key and with a further member; revokes it twice and registers it
    again. Sends DIDs and keys at the limits of P-CP-01 and beyond them. Expects the statuses of 7.1 and, of a refusal,
    422 with a list in detail and a trust set without the issuer.
    """
    hub = await hub_of(case)
    issuer = hub.new_issuer("specified")
    other = Issuer(issuer.did, hub.new_key("specified"))
    try:
        for name, one, status in (
            ("a new issuer", issuer, 201),
            ("the same again", issuer, 200),
            ("another key", other, 200),
        ):
            answer = await hub.register(one)
            expected = {"did": one.did, "kid": kid_of(one.key), "alg": "Falcon-1024"}
            faults = _find_status_faults(answer, status, expected)
            created = answer.read_object().get("created_at")
            faults += [] if isinstance(created, str) and _TIME.fullmatch(created) else ["created_at"]
            _expect(case, _ISSUER_ROW, name, faults, answer)
        for name, status in (("revoked", 204), ("revoked again", 404)):
            answer = await hub.revoke(issuer.did)
            _expect(case, _ISSUER_ROW, name, _find_status_faults(answer, status), answer)
        answer = await hub.admin("POST", ISSUERS, json_body={**issuer.body, "note": {"of": ["the suite"]}})
        _expect(case, _ISSUER_ROW, "registered again, with a further member", _find_status_faults(answer, 201), answer)
    finally:
        await hub.revoke(issuer.did)
    await _judge_limits(case, hub)


async def _judge_limits(case: Case, hub: Hub) -> None:
    key = hub.new_key("limit")
    raw = base64.b64decode(key)
    host = hub.new_issuer("limit").did.removeprefix("did:web:")
    longest = f"did:web:{host}:".ljust(_LONGEST_DID, "a")
    # 1793 bytes leave two bits of the last letter but one without a meaning.
    spare = key[:-2] + chr(ord(key[-2]) + 1) + key[-1] if key.endswith("=") else key
    trials: dict[str, tuple[Issuer, bool]] = {
        "a DID of 512 characters": (Issuer(longest, key), True),
        "a DID of 513 characters": (Issuer(longest + "a", key), False),
        "a method in capitals": (Issuer(f"did:WEB:{host}", key), False),
        "a DID with a slash": (Issuer(f"did:web:{host}/a", key), False),
        "a DID with a fragment": (Issuer(f"did:web:{host}#key", key), False),
        "a DID with a space": (Issuer(f"did:web:{host} ", key), False),
        "a DID with letters beyond ASCII": (Issuer(f"did:web:\u00fc{host}", key), False),
        "a key of another form": (Issuer(f"did:web:{host}", _encode(b"\x09" + raw[1:])), False),
        "a key without padding": (Issuer(f"did:web:{host}", key.rstrip("=")), False),
        "a key in base64url": (Issuer(f"did:web:{host}", key.replace("+", "-").replace("/", "_")), False),
        "a key with spare bits": (Issuer(f"did:web:{host}", spare), False),
        "a key with a line break": (Issuer(f"did:web:{host}", key[:76] + "\n" + key[76:]), False),
    }
    for name, (issuer, is_taken) in trials.items():
        if name == "a key in base64url" and issuer.key == key:
            continue
        answer = await hub.register(issuer)
        trusted = (await hub.trust_set()).get(issuer.did)
        if is_taken:
            faults = _find_status_faults(answer, 201) + ([] if trusted == key else ["not trusted"])
        else:
            faults = [] if answer.status == 422 and isinstance(answer.read_object().get("detail"), list) else ["status"]
            faults += [] if trusted is None else ["trusted"]
        _expect(case, _ISSUER_ROW, name, faults, answer)
        if trusted is not None:
            await hub.revoke(issuer.did)


def _encode(data: bytes) -> str:
    return base64.b64encode(data).decode()


@check(
    _TRUST_ROW,
    surface="control_plane",
    fix="Make both key documents from the trust set, each entry with all eight members of 7.1.",
)
async def key_documents_have_each_member(case: Case) -> None:
    """The key documents have each member of 7.1 for each issuer.

    Registers three issuers, and replaces the key of the first. Expects of both paths the same issuer, the time of the
    last change, and an entry for each with all its members, in the order of registration. Expects an ETag and
    `Cache-Control: no-cache` of the trust set.
    """
    hub = await hub_of(case)
    # The names of the later ones precede that of the first by their letters.
    first, second, third = (hub.new_issuer(label) for label in ("m-first", "k-second", "b-third"))
    rekeyed = Issuer(first.did, hub.new_key("first"))
    publishers = set()
    updated_before = (await hub.call("GET", ATB_KEYS)).read_object().get("updated_at")
    await asyncio.sleep(_NEXT_SECOND)
    async with hub.registered_issuer(first), hub.registered_issuer(second), hub.registered_issuer(third):
        await hub.register(rekeyed)
        for path in (ATB_KEYS, PQC_KEYS):
            answer = await hub.call("GET", path)
            document = answer.read_object()
            publishers.add(str(document.get("issuer")))
            updated = document.get("updated_at")
            faults = [] if answer.status == 200 else [f"status {answer.status}"]
            faults += [] if isinstance(updated, str) and _TIME.fullmatch(updated) else ["updated_at"]
            # The times have one form, so their texts are in the order of time.
            faults += [] if str(updated) > str(updated_before) else ["updated_at before the last change"]
            faults += [] if str(document.get("issuer")).startswith("did:") else ["issuer"]
            keys = document.get("keys")
            entries = [one for one in keys if isinstance(one, dict)] if isinstance(keys, list) else []
            for issuer in (rekeyed, second):
                mine = [one for one in entries if one.get("did") == issuer.did]
                faults += [] if len(mine) == 1 else [f"{len(mine)} entries"]
                faults += differing_members(mine[0], make_key_entry(issuer.did, issuer.key)) if mine else []
            faults += [
                f"kid of {one.get('did')}"
                for one in entries
                if decode_base64(one.get("public_key_b64")) is None or one.get("kid") != kid_of(one["public_key_b64"])
            ]
            places = [[one.get("did") for one in entries].index(one.did) for one in (second, third) if entries]
            faults += [] if places == sorted(places) else ["the order of registration"]
            _expect(case, _TRUST_ROW, path, faults, answer)
    _expect(case, _TRUST_ROW, "both documents", [] if len(publishers) == 1 else ["issuer"], answer)
    answer = await hub.call("GET", PKS)
    faults = [] if answer.headers.get("Cache-Control") == "no-cache" else ["Cache-Control"]
    faults += [] if answer.headers.get("ETag") else ["ETag"]
    _expect(case, _TRUST_ROW, PKS, faults, answer)


@check(
    _SERVICE_ROW,
    surface="control_plane",
    fix="Answer a registration with its record, 201 for a new name and 200 for one that is there, and refuse with 422 "
    "what 7.1 does not take.",
)
async def services_are_answered_as_specified(case: Case) -> None:
    """A registration is answered with its record, and each of its members is taken within its rule only.

    Registers a service with all members, again with others, and with the required ones alone. Removes it twice. Sends
    each member at its limits and beyond them. Expects the statuses of 7.1, the record with its defaults and a time, and
    422 with a list in detail for the rest.
    """
    hub = await hub_of(case)
    name = f"specified-{case.session.nonce}-{case.session.count()}"
    case.client.names.name(name, "SERVICE")
    plain = {"name": name, "base_url": _ADDRESS}
    whole = {**plain, "type": "addon", "health_path": "/health"}
    try:
        for words, body, status, expected in (
            ("a new service", {**whole, "type": "rail", "health_path": "/live"}, 201, {"type": "rail"}),
            ("again, with the defaults", plain, 200, whole),
            ("again, with a further member", {**whole, "note": 1}, 200, whole),
        ):
            answer = await hub.admin("POST", SERVICES, json_body=body)
            faults = _find_status_faults(answer, status, {**body, **expected} if status == 201 else expected)
            registered = answer.read_object().get("registered_at")
            faults += [] if isinstance(registered, str) and _TIME.fullmatch(registered) else ["registered_at"]
            _expect(case, _SERVICE_ROW, words, faults, answer)
        for words, status in (("removed", 204), ("removed again", 404)):
            answer = await hub.admin("DELETE", f"{SERVICES}/{name}")
            _expect(case, _SERVICE_ROW, words, _find_status_faults(answer, status), answer)
    finally:
        await hub.admin("DELETE", f"{SERVICES}/{name}")
    await _judge_record_time(case, hub, {**plain, "name": f"{name}-kept"})
    await _judge_members(case, hub, plain)


async def _judge_record_time(case: Case, hub: Hub, body: Mapping[str, Any]) -> None:
    """Judge that `registered_at` says since when the name has its record."""
    path = f"{SERVICES}/{body['name']}"
    try:
        first = await hub.admin("POST", SERVICES, json_body=body)
        await asyncio.sleep(_NEXT_SECOND)
        again = await hub.admin("POST", SERVICES, json_body=body)
        changed = await hub.admin("POST", SERVICES, json_body={**body, "health_path": "/live"})
    finally:
        await hub.admin("DELETE", path)
    times = [str(one.read_object().get("registered_at")) for one in (first, again, changed)]
    faults = [] if times[0] == times[1] < times[2] else [f"registered_at {times}"]
    _expect(case, _SERVICE_ROW, "since when the name has its record", faults, changed)


async def _judge_members(case: Case, hub: Hub, plain: Mapping[str, Any]) -> None:
    refused: dict[str, Mapping[str, Any]] = {
        "an empty name": {"name": ""},
        "a name of 65 characters": {"name": "a" * 65},
        "a name with a slash": {"name": "a/b"},
        "a name with a space": {"name": "a b"},
        "a name beyond ASCII": {"name": "\u00e4ddon"},
        "a name with a line feed": {"name": "addon\n"},
        "no scheme": {"base_url": "service.invalid:9"},
        "another scheme": {"base_url": "ftp://service.invalid:9"},
        "no host": {"base_url": "http://"},
        "credentials": {"base_url": "http://a:b@service.invalid:9"},
        "a query": {"base_url": f"{_ADDRESS}/?a=b"},
        "a fragment": {"base_url": f"{_ADDRESS}/#a"},
        "a health path without a slash": {"health_path": "health"},
        "a health path that names a host": {"health_path": "//other.example/health"},
        "a health path that is a number": {"health_path": 7},
    }
    if case.profile.is_reference:
        refused |= {address: {"base_url": address} for address in _PRIVATE_ADDRESSES}
    bodies = [(name, {**plain, **members}) for name, members in refused.items()]
    bodies += [(f"no {name}", {one: value for one, value in plain.items() if one != name}) for name in plain]
    for name, body in bodies:
        answer = await hub.admin("POST", SERVICES, json_body=body)
        is_refused = answer.status == 422 and isinstance(answer.read_object().get("detail"), list)
        _expect(case, _SERVICE_ROW, name, [] if is_refused else [f"status {answer.status}"], answer)
        if answer.status < 300 and body.get("name"):
            await hub.admin("DELETE", f"{SERVICES}/{body['name']}")
    longest = str(plain["name"]).ljust(64, "a")
    answer = await hub.admin("POST", SERVICES, json_body={**plain, "name": longest})
    _expect(case, _SERVICE_ROW, "a name of 64 characters", _find_status_faults(answer, 201), answer)
    await hub.admin("DELETE", f"{SERVICES}/{longest}")
