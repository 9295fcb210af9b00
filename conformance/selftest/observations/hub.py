"""Observers of the open points of the control plane and of the addons."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from conformance.selftest.observations.observed_exchanges import Exchange, Observer, Wire, join_names, observe_each
from conformance.surfaces.agent.answer_reader import ABSENT, at
from conformance.surfaces.control_plane import document_reader
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


_ROTATION_PATH, _REGISTRATIONS = "a_did_has_one_key", 4


# Calls.


def _errors(surface: str) -> Observer:
    def tell(exchange: Exchange) -> str | None:
        return (
            join_names(exchange.object)
            if exchange.status in {400, 401, 403, 404, 409, 410, 422} and exchange.object
            else None
        )

    return observe_each(tell, surface)


def _is_admin(exchange: Exchange) -> bool:
    return (exchange.method, exchange.path) in {("POST", ISSUERS), ("POST", SERVICES), ("GET", AUDIT)} or (
        exchange.method == "DELETE" and exchange.path.startswith(f"{ISSUERS}/")
    )


def _credential_status(exchange: Exchange) -> str | None:
    if not _is_admin(exchange) or exchange.status not in {401, 403}:
        return None
    return f"{exchange.status} {'for a wrong one' if 'authorization' in exchange.request_headers else 'without one'}"


def _challenge(exchange: Exchange) -> str | None:
    return exchange.headers.get("www-authenticate", "none") if exchange.status == 401 else None


def _create_status(exchange: Exchange) -> str | None:
    created = exchange.method == "POST" and exchange.path in {ISSUERS, SERVICES}
    return str(exchange.status) if created and exchange.status < 300 else None


def _delete_answer(exchange: Exchange) -> str | None:
    return f"{exchange.status} {join_names(exchange.object)}" if _revokes(exchange) and exchange.status < 300 else None


def _revokes(exchange: Exchange) -> bool:
    return exchange.method == "DELETE" and exchange.path.startswith(f"{ISSUERS}/")


def _unknown(exchange: Exchange) -> str | None:
    return str(exchange.status) if _revokes(exchange) and "UNKNOWN" in exchange.path else None


def _bad_body(exchange: Exchange) -> str | None:
    missing_members = (
        exchange.method == "POST" and exchange.path == ISSUERS and "public_key_b64" not in exchange.request_body
    )
    return str(exchange.status) if missing_members and exchange.status in {400, 422} else None


def _again(place: int) -> Observer:
    """Return an observer of one of four registrations of a DID with three keys, of which the last is sent twice."""

    def observe(wire: Wire) -> Iterator[str]:
        calls = [
            exchange
            for exchange in wire.of(HUB)
            if exchange.event["check"] == _ROTATION_PATH and exchange.method == "POST"
        ]
        # A check that broke off has fewer calls, and their places mean something else.
        if len(calls) == _REGISTRATIONS:
            yield "409" if calls[place].status == 409 else "a success"

    return observe


def _issuer_answer(exchange: Exchange) -> str | None:
    created = exchange.method == "POST" and exchange.path == ISSUERS and exchange.status < 300
    return join_names(exchange.object) if created else None


def _service_body(exchange: Exchange) -> str | None:
    created = exchange.method == "POST" and exchange.path == SERVICES and exchange.status < 300
    return join_names(exchange.request_body) if created else None


def _service_answer(exchange: Exchange) -> str | None:
    created = exchange.method == "POST" and exchange.path == SERVICES and exchange.status < 300
    return join_names(exchange.object) if created else None


# Documents.


def _document(path: str) -> Observer:
    return lambda wire: (join_names(exchange.object) for exchange in wire.documents(HUB, path) if exchange.object)


def _posture(wire: Wire) -> Iterator[str]:
    for exchange in wire.documents(HUB, POSTURE):
        services = exchange.object.get("services")
        if isinstance(exchange.document, list):
            yield "a list"
        elif isinstance(services, dict):
            yield "by name" if services else "empty"
        else:
            yield next((name for name in ("services", "groups", "endpoints") if name in exchange.object), "other")


def _records(wire: Wire) -> Iterator[dict[str, Any]]:
    for exchange in wire.documents(HUB, POSTURE):
        groups = exchange.object.get("groups")
        lists = [group.get("members") for group in groups] if isinstance(groups, list) else [_list_entries(exchange)]
        for value in lists:
            values = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
            yield from (record for record in values if isinstance(record, dict))


def _list_entries(exchange: Exchange) -> Any:
    return (
        exchange.document
        if isinstance(exchange.document, list)
        else exchange.object.get("services", exchange.object.get("endpoints"))
    )


def _health_word(wire: Wire) -> Iterator[str]:
    for exchange in _records(wire):
        # The names that the chameleon may draw for the health of a service.
        for place in ("healthy", "status", "state", "probe.ok"):
            if at(exchange, place) is not ABSENT:
                yield place


def _posture_members(wire: Wire) -> Iterator[str]:
    for exchange in _records(wire):
        yield join_names({"type", "tags", "latency_ms"} & exchange.keys()) or "none"


def _posture_order(wire: Wire) -> Iterator[str]:
    """Yield the order in the posture of three services that were registered one after the other."""
    for exchange in wire.documents(HUB, POSTURE):
        places = [_place(exchange.text, label) for label in ("ONE", "TWO", "THREE")]
        # A posture that lacks one of the three services was read before all of them were registered.
        if -1 not in places:
            yield ", ".join(str(sorted(places).index(place) + 1) for place in places)


def _place(text: str, label: str) -> int:
    # The log contains names in place of live values. A document lists a service by its name, its address, or both.
    return max(text.find(f"${label}_NAME"), text.find(f"${label}_ADDRESS"))


def _polls(wire: Wire) -> Iterator[str]:
    """Yield the state of a healthy service in the first posture that lists it."""
    for exchange in wire.documents(HUB, POSTURE):
        values = document_reader.records(exchange.document, "$WELL_NAME", "http://$WELL_ADDRESS", None)
        if values:
            # A hub that polls only when the posture is read has a state at the first reading; a hub that polls in the
            # background may not have asked yet.
            yield "asked when read" if document_reader.read_health(values[0], None, None) else "asked beforehand"
            return


def _keys(wire: Wire) -> Iterator[str]:
    for exchange in wire.documents(HUB, ATB_KEYS):
        keys = exchange.object.get("keys")
        # A list with a revoked key shows that the document keeps such keys.
        if isinstance(keys, list) and any(key.get("status") == "revoked" for key in keys):
            yield "revoked ones too"
        elif exchange.object:
            yield join_names(exchange.object)


def _entity_tags(exchange: Exchange) -> str | None:
    if exchange.path != PKS or exchange.status != 200 or exchange.method != "GET":
        return None
    tag = exchange.headers.get("etag")
    return "none" if tag is None else "weak" if tag.startswith("W/") else "strong"


def _contracts(wire: Wire) -> Iterator[Exchange]:
    for exchange in wire.of(HUB):
        if exchange.method == "GET" and exchange.status == 200 and isinstance(exchange.object.get("openapi"), str):
            yield exchange


def _contract(wire: Wire) -> Iterator[str]:
    return (join_names(exchange.object.keys() & {"servers", "tags"}) or "nothing" for exchange in _contracts(wire))


def _removal(wire: Wire) -> Iterator[str]:
    for exchange in _contracts(wire):
        yield "by a call" if "/v1/services/{name}" in exchange.object.get("paths", {}) else "not at all"


# The log.


def _logs(wire: Wire) -> Iterator[tuple[Exchange, list[dict[str, Any]]]]:
    for exchange in wire.documents(HUB, AUDIT):
        values = document_reader.entries(exchange.document, None) or []
        if values and all(isinstance(entry, dict) for entry in values):
            yield exchange, values


def _entries(wire: Wire) -> Iterator[dict[str, Any]]:
    for _, values in _logs(wire):
        yield from values


def _audit_document(wire: Wire) -> Iterator[str]:
    for exchange, _ in _logs(wire):
        yield join_names(exchange.object) if exchange.object else "a list"


def _member(entry: Mapping[str, Any], known_value: tuple[str, ...]) -> Any:
    return next((values for name in known_value if (values := at(entry, name)) is not ABSENT), ABSENT)


def _audit_order(wire: Wire) -> Iterator[str]:
    for _, values in _logs(wire):
        times = [_member(entry, _TIMES) for entry in (values[0], values[-1])]
        # Equal times show no order.
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
    # 10**11 seconds are the year 5138, and 10**11 milliseconds the year 1973: no log contains either.
    return "text" if isinstance(value, str) else "milliseconds" if value > 10**11 else "seconds"


def _mac(entry: dict[str, Any]) -> str | None:
    value = str(_member(entry, _MACS))
    return "hex" if _HEX.fullmatch(value) else "hex in capitals" if _CAPITALS.fullmatch(value) else "base64url"


def _genesis(wire: Wire) -> Iterator[str]:
    """Yield the MAC before the first entry, if entries name one."""
    for entry in _entries(wire):
        before = _member(entry, _PREVIOUS)
        # Only the first entry has such a value; every other one names the MAC of the entry before, which is long
        # hexadecimal or base64url.
        if isinstance(before, str) and (before in _GENESIS or not (_HEX.fullmatch(before.lower()) or len(before) > 40)):
            yield _GENESIS.get(before, before)


def _chain_note(place: int) -> Observer:
    """Return an observer of the recipe and the key of the log, as the check of the chain found them."""

    def observe(wire: Wire) -> Iterator[str]:
        for text in wire.notes:
            if (values := _CHAIN.fullmatch(text)) is not None:
                yield values[place]

    return observe


def _starts(wire: Wire) -> Iterator[str]:
    for _, values in _logs(wire):
        subjects = [_member(entry, ("subject", "target", "did", "change.of")) for entry in values]
        yield "yes" if "control-plane" in subjects else "no"


def _services_logged(wire: Wire) -> Iterator[str]:
    """Yield whether the log contains an entry about a registered service."""
    registration: list[str] = []
    for exchange in wire.of(HUB):
        if exchange.method == "POST" and exchange.path == SERVICES and exchange.status < 300:
            registration += re.findall(r"\$[A-Z]+_NAME[0-9A-Z_-]*", str(exchange.request_body))
        # Only a log that was read after a registration can show whether registrations are logged.
        elif exchange.path == AUDIT and exchange.status == 200 and registration:
            yield "yes" if any(name in exchange.text for name in registration) else "no"


# Addons.


def _calls_of(wire: Wire, path: str) -> list[Any]:
    return [exchange for exchange in wire.hub_calls if exchange.event["request"]["path"].partition("?")[0] == path]


def _join_order(wire: Wire) -> Iterator[str]:
    """Yield the first calls of an addon; the log contains them in the order of arrival."""
    paths = (str(exchange.event["request"]["path"]) for exchange in wire.hub_calls)
    first = next((path for path in paths if path in {PKS, SERVICES}), None)
    if first is not None:
        yield "registered first" if first == SERVICES else "pulled first"


def _scheme(wire: Wire) -> Iterator[str]:
    for exchange in _calls_of(wire, SERVICES):
        yield exchange.headers.get("authorization", "none").partition(" ")[0]


def _registration(wire: Wire) -> Iterator[str]:
    for exchange in _calls_of(wire, SERVICES):
        yield "more" if "capabilities" in exchange.object else "none"


def _addon_health(wire: Wire) -> Iterator[str]:
    return (join_names(exchange.object) for exchange in wire.documents(ADDON, HEALTH) if exchange.object)


def _list_requests(exchange: Exchange) -> bool:
    return exchange.method == "POST" and bool({"credential", "credentials", "presented"} & exchange.request_body.keys())


def _question(exchange: Exchange) -> str | None:
    return f"{exchange.path} {join_names(exchange.request_body)}" if _list_requests(exchange) else None


def _answer(exchange: Exchange) -> str | None:
    known_value = {"valid", "results", "status", "outcome", "report"}
    return (
        join_names(exchange.object.keys() & known_value)
        if _list_requests(exchange) and exchange.status == 200
        else None
    )


OBSERVERS: Mapping[str, Observer] = {
    "hub.errors": _errors(HUB),
    "hub.credential-status": observe_each(_credential_status, HUB),
    "hub.challenge": observe_each(_challenge, HUB),
    "hub.create-status": observe_each(_create_status, HUB),
    "hub.delete-answer": observe_each(_delete_answer, HUB),
    "hub.unknown-did": observe_each(_unknown, HUB),
    "hub.bad-body-status": observe_each(_bad_body, HUB),
    "hub.known-issuer": _again(3),
    "hub.other-key": _again(1),
    "hub.issuer-answer": observe_each(_issuer_answer, HUB),
    "hub.service-body": observe_each(_service_body, HUB),
    "hub.service-answer": observe_each(_service_answer, HUB),
    "hub.service-removal": _removal,
    "hub.health": _document(HEALTH),
    "hub.posture": _posture,
    "hub.health-word": _health_word,
    "hub.posture-members": _posture_members,
    "hub.posture-order": _posture_order,
    "hub.polls": _polls,
    "hub.atb-keys": _keys,
    "hub.entity-tags": observe_each(_entity_tags, HUB),
    "hub.openapi-path": lambda wire: (one.path for one in _contracts(wire)),
    "hub.openapi": _contract,
    "hub.audit-document": _audit_document,
    "hub.audit-order": _audit_order,
    "hub.audit-entry": _of_entries(join_names),
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
    "addon.question": observe_each(_question, ADDON),
    "addon.answer": observe_each(_answer, ADDON),
}
