"""What runs show of the control plane's open points, and of those of the addons."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from conformance.selftest.seen.wire import Exchange, Observer, Wire, each, names
from conformance.surfaces.agent.answers import ABSENT, at
from conformance.surfaces.control_plane import documents
from conformance.surfaces.control_plane.access import ATB_KEYS, AUDIT, ISSUERS, PKS, POSTURE, SERVICES
from conformance.surfaces.control_plane.services import HEALTH

HUB, ADDON = "control_plane", "addon"
_GENESIS = {"0" * 64: "zeros", "": "nothing"}
_CHAIN = re.compile(r"the log is made by the recipe ([a-z-]+), its key being ([a-z0-9]+)")
_HEX = re.compile(r"[0-9a-f]{64}")
_CAPITALS = re.compile(r"[0-9A-F]{64}")
_MACS = ("mac", "signature", "hash", "hmac", "chain.mac")
_ACTIONS = ("action", "event", "what", "change.what")
_TIMES = ("ts_ms", "at", "time", "when")
_PREVIOUS = ("prev_mac", "previous", "previous_hash", "chain.before")


_ROTATING, _REGISTRATIONS = "a_did_has_one_key", 4


# Calls.


def _errors(surface: str) -> Observer:
    def tell(one: Exchange) -> str | None:
        return names(one.object) if one.status in {400, 401, 403, 404, 409, 410, 422} and one.object else None

    return each(tell, surface)


def _is_admin(one: Exchange) -> bool:
    return (one.method, one.path) in {("POST", ISSUERS), ("POST", SERVICES), ("GET", AUDIT)} or (
        one.method == "DELETE" and one.path.startswith(f"{ISSUERS}/")
    )


def _credential_status(one: Exchange) -> str | None:
    if not _is_admin(one) or one.status not in {401, 403}:
        return None
    return f"{one.status} {'for a wrong one' if 'authorization' in one.asked else 'without one'}"


def _challenge(one: Exchange) -> str | None:
    return one.headers.get("www-authenticate", "none") if one.status == 401 else None


def _create_status(one: Exchange) -> str | None:
    made = one.method == "POST" and one.path in {ISSUERS, SERVICES}
    return str(one.status) if made and one.status < 300 else None


def _delete_answer(one: Exchange) -> str | None:
    return f"{one.status} {names(one.object)}" if _revokes(one) and one.status < 300 else None


def _revokes(one: Exchange) -> bool:
    return one.method == "DELETE" and one.path.startswith(f"{ISSUERS}/")


def _unknown(one: Exchange) -> str | None:
    return str(one.status) if _revokes(one) and "UNKNOWN" in one.path else None


def _bad_body(one: Exchange) -> str | None:
    lacking = one.method == "POST" and one.path == ISSUERS and "public_key_b64" not in one.sent
    return str(one.status) if lacking and one.status in {400, 422} else None


def _again(place: int) -> Observer:
    """Return an observer of one of the calls that register a DID four times, with three keys, the last one twice."""

    def observe(wire: Wire) -> Iterator[str]:
        calls = [one for one in wire.of(HUB) if one.event["check"] == _ROTATING and one.method == "POST"]
        if len(calls) == _REGISTRATIONS:
            yield "409" if calls[place].status == 409 else "a success"

    return observe


def _issuer_answer(one: Exchange) -> str | None:
    made = one.method == "POST" and one.path == ISSUERS and one.status < 300
    return names(one.object) if made else None


def _service_body(one: Exchange) -> str | None:
    made = one.method == "POST" and one.path == SERVICES and one.status < 300
    return names(one.sent) if made else None


def _service_answer(one: Exchange) -> str | None:
    made = one.method == "POST" and one.path == SERVICES and one.status < 300
    return names(one.object) if made else None


# Documents.


def _document(path: str) -> Observer:
    return lambda wire: (names(one.object) for one in wire.documents(HUB, path) if one.object)


def _posture(wire: Wire) -> Iterator[str]:
    for one in wire.documents(HUB, POSTURE):
        services = one.object.get("services")
        if isinstance(one.document, list):
            yield "a list"
        elif isinstance(services, dict):
            yield "by name" if services else "empty"
        else:
            yield next((name for name in ("services", "groups", "endpoints") if name in one.object), "other")


def _records(wire: Wire) -> Iterator[dict[str, Any]]:
    for one in wire.documents(HUB, POSTURE):
        groups = one.object.get("groups")
        lists = [group.get("members") for group in groups] if isinstance(groups, list) else [_listed(one)]
        for value in lists:
            found = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
            yield from (record for record in found if isinstance(record, dict))


def _listed(one: Exchange) -> Any:
    return one.document if isinstance(one.document, list) else one.object.get("services", one.object.get("endpoints"))


def _health_word(wire: Wire) -> Iterator[str]:
    for one in _records(wire):
        for place in ("healthy", "status", "state", "probe.ok"):
            if at(one, place) is not ABSENT:
                yield place


def _posture_members(wire: Wire) -> Iterator[str]:
    for one in _records(wire):
        yield names({"type", "tags", "latency_ms"} & one.keys()) or "none"


def _posture_order(wire: Wire) -> Iterator[str]:
    """Yield how three services that were registered one after the other stand in the posture."""
    for one in wire.documents(HUB, POSTURE):
        places = [_place(one.text, label) for label in ("ONE", "TWO", "THREE")]
        if -1 not in places:
            yield ", ".join(str(sorted(places).index(place) + 1) for place in places)


def _place(text: str, label: str) -> int:
    return max(text.find(f"${label}_NAME"), text.find(f"${label}_ADDRESS"))


def _polls(wire: Wire) -> Iterator[str]:
    """Yield what the first posture that lists a service which is well says of it."""
    for one in wire.documents(HUB, POSTURE):
        found = documents.records(one.document, "$WELL_NAME", "http://$WELL_ADDRESS", None)
        if found:
            yield "asked when read" if documents.read_health(found[0], None, None) else "asked beforehand"
            return


def _keys(wire: Wire) -> Iterator[str]:
    for one in wire.documents(HUB, ATB_KEYS):
        keys = one.object.get("keys")
        if isinstance(keys, list) and any(key.get("status") == "revoked" for key in keys):
            yield "revoked ones too"
        elif one.object:
            yield names(one.object)


def _entity_tags(one: Exchange) -> str | None:
    if one.path != PKS or one.status != 200 or one.method != "GET":
        return None
    tag = one.headers.get("etag")
    return "none" if tag is None else "weak" if tag.startswith("W/") else "strong"


def _contracts(wire: Wire) -> Iterator[Exchange]:
    for one in wire.of(HUB):
        if one.method == "GET" and one.status == 200 and isinstance(one.object.get("openapi"), str):
            yield one


def _contract(wire: Wire) -> Iterator[str]:
    return (names(one.object.keys() & {"servers", "tags"}) or "nothing" for one in _contracts(wire))


def _removal(wire: Wire) -> Iterator[str]:
    for one in _contracts(wire):
        yield "by a call" if "/v1/services/{name}" in one.object.get("paths", {}) else "not at all"


# The log.


def _logs(wire: Wire) -> Iterator[tuple[Exchange, list[dict[str, Any]]]]:
    for one in wire.documents(HUB, AUDIT):
        found = documents.entries(one.document, None) or []
        if found and all(isinstance(entry, dict) for entry in found):
            yield one, found


def _entries(wire: Wire) -> Iterator[dict[str, Any]]:
    for _, found in _logs(wire):
        yield from found


def _audit_document(wire: Wire) -> Iterator[str]:
    for one, _ in _logs(wire):
        yield names(one.object) if one.object else "a list"


def _member(entry: Mapping[str, Any], known: tuple[str, ...]) -> Any:
    return next((found for name in known if (found := at(entry, name)) is not ABSENT), ABSENT)


def _audit_order(wire: Wire) -> Iterator[str]:
    for _, found in _logs(wire):
        times = [_member(entry, _TIMES) for entry in (found[0], found[-1])]
        if times[0] != times[1]:
            yield "oldest first" if times[0] < times[1] else "newest first"


def _of_entries(tell: Callable[[dict[str, Any]], str | None]) -> Observer:
    return lambda wire: (value for entry in _entries(wire) if (value := tell(entry)) is not None)


def _action(entry: dict[str, Any]) -> str | None:
    value = _member(entry, _ACTIONS)
    if isinstance(value, int):
        return "numbers"
    text = str(value)
    return "capitals" if text.isupper() else "a sentence" if " " in text else "dotted"


def _time(entry: dict[str, Any]) -> str | None:
    value = _member(entry, _TIMES)
    return "text" if isinstance(value, str) else "milliseconds" if value > 10**11 else "seconds"


def _mac(entry: dict[str, Any]) -> str | None:
    value = str(_member(entry, _MACS))
    return "hex" if _HEX.fullmatch(value) else "hex in capitals" if _CAPITALS.fullmatch(value) else "base64url"


def _genesis(wire: Wire) -> Iterator[str]:
    """Yield the MAC before the first entry, where entries name one."""
    for entry in _entries(wire):
        before = _member(entry, _PREVIOUS)
        if isinstance(before, str) and (before in _GENESIS or not (_HEX.fullmatch(before.lower()) or len(before) > 40)):
            yield _GENESIS.get(before, before)


def _chain_note(place: int) -> Observer:
    """Return an observer of how the check of the chain found the log to be made: its recipe, then its key."""

    def observe(wire: Wire) -> Iterator[str]:
        for text in wire.notes:
            if (found := _CHAIN.fullmatch(text)) is not None:
                yield found[place]

    return observe


def _starts(wire: Wire) -> Iterator[str]:
    for _, found in _logs(wire):
        subjects = [_member(entry, ("subject", "target", "did", "change.of")) for entry in found]
        yield "yes" if "control-plane" in subjects else "no"


def _services_logged(wire: Wire) -> Iterator[str]:
    """Yield whether a log that is read after a service was registered has an entry about it."""
    registered: list[str] = []
    for one in wire.of(HUB):
        if one.method == "POST" and one.path == SERVICES and one.status < 300:
            registered += re.findall(r"\$[A-Z]+_NAME[0-9A-Z_-]*", str(one.sent))
        elif one.path == AUDIT and one.status == 200 and registered:
            yield "yes" if any(name in one.text for name in registered) else "no"


# Addons.


def _calls_of(wire: Wire, path: str) -> list[Any]:
    return [one for one in wire.hub_calls if one.event["request"]["path"].partition("?")[0] == path]


def _join_order(wire: Wire) -> Iterator[str]:
    """Yield what an addon called first; the log has these calls in the order in which they came."""
    paths = (str(one.event["request"]["path"]) for one in wire.hub_calls)
    first = next((path for path in paths if path in {PKS, SERVICES}), None)
    if first is not None:
        yield "registered first" if first == SERVICES else "pulled first"


def _scheme(wire: Wire) -> Iterator[str]:
    for one in _calls_of(wire, SERVICES):
        yield one.headers.get("authorization", "none").partition(" ")[0]


def _registration(wire: Wire) -> Iterator[str]:
    for one in _calls_of(wire, SERVICES):
        yield "more" if "capabilities" in one.object else "none"


def _addon_health(wire: Wire) -> Iterator[str]:
    return (names(one.object) for one in wire.documents(ADDON, HEALTH) if one.object)


def _asked(one: Exchange) -> bool:
    return one.method == "POST" and bool({"credential", "credentials", "presented"} & one.sent.keys())


def _question(one: Exchange) -> str | None:
    return f"{one.path} {names(one.sent)}" if _asked(one) else None


def _answer(one: Exchange) -> str | None:
    known = {"valid", "results", "status", "outcome", "report"}
    return names(one.object.keys() & known) if _asked(one) and one.status == 200 else None


OBSERVERS: Mapping[str, Observer] = {
    "hub.errors": _errors(HUB),
    "hub.credential-status": each(_credential_status, HUB),
    "hub.challenge": each(_challenge, HUB),
    "hub.create-status": each(_create_status, HUB),
    "hub.delete-answer": each(_delete_answer, HUB),
    "hub.unknown-did": each(_unknown, HUB),
    "hub.bad-body-status": each(_bad_body, HUB),
    "hub.known-issuer": _again(3),
    "hub.other-key": _again(1),
    "hub.issuer-answer": each(_issuer_answer, HUB),
    "hub.service-body": each(_service_body, HUB),
    "hub.service-answer": each(_service_answer, HUB),
    "hub.service-removal": _removal,
    "hub.health": _document(HEALTH),
    "hub.posture": _posture,
    "hub.health-word": _health_word,
    "hub.posture-members": _posture_members,
    "hub.posture-order": _posture_order,
    "hub.polls": _polls,
    "hub.atb-keys": _keys,
    "hub.entity-tags": each(_entity_tags, HUB),
    "hub.openapi-path": lambda wire: (one.path for one in _contracts(wire)),
    "hub.openapi": _contract,
    "hub.audit-document": _audit_document,
    "hub.audit-order": _audit_order,
    "hub.audit-entry": _of_entries(names),
    "hub.audit-actions": _of_entries(_action),
    "hub.audit-times": _of_entries(_time),
    "hub.audit-recipe": _chain_note(1),
    "hub.audit-key": _chain_note(2),
    "hub.audit-genesis": _genesis,
    "hub.audit-mac": _of_entries(_mac),
    "hub.audit-starts": _starts,
    "hub.audit-services": _services_logged,
    "addon.join-order": _join_order,
    "addon.scheme-case": _scheme,
    "addon.registration": _registration,
    "addon.health": _addon_health,
    "addon.question": each(_question, ADDON),
    "addon.answer": each(_answer, ADDON),
}
