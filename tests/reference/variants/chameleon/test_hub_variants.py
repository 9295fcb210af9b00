"""The control plane's look: every form says the same, is read by the suite, and takes what a profile binds."""

from __future__ import annotations

import asyncio
import dataclasses
import itertools
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from conformance.oracles import audit_chain as oracle
from conformance.surfaces.control_plane import document_reader
from conformance.surfaces.control_plane.access import CANDIDATES
from conformance.surfaces.control_plane.log_reading import oldest_first
from reference.control_plane.health_client import HealthResult
from reference.control_plane.service_health import HealthBoard
from reference.protocol.audit_chain import Entry, Head, encode_entry
from reference.variants.chameleon import (
    control_plane_join_variants,
    hub_answer_variants,
    hub_audit_points,
    hub_audit_variants,
    hub_behaviour_variants,
)
from reference.variants.chameleon.answer_rewriter import ABSENT, Answer, ReceivedRequest
from reference.variants.chameleon.hub_documents import edit as edit_document
from reference.variants.chameleon.hub_points import POINTS
from reference.variants.chameleon.points import Choice
from reference.variants.chameleon.variant_shape import Shape
from reference.web.clock import WpClock

_BY_ID = {point.id: point for point in (*POINTS, *hub_audit_points.POINTS)}
_KEY = bytes(range(32))
_NAME, _URL = "verifier-1", "http://127.0.0.1:9000"
_VALUES = {"name": _NAME, "base_url": _URL, "health_path": "/health", "health_url": _URL + "/health"}
_OTHER_NAMES = ("neighbour", "verifier-11")


def choices(point: str) -> Mapping[str, Choice]:
    """Return the choices of a point by name."""
    return {choice.name: choice for choice in _BY_ID[point].choices}


def shape_of(*chosen_values: Choice) -> Shape:
    """Return the shape that choices make together."""
    return dataclasses.replace(Shape(), **{name: value for one in chosen_values for name, value in one.sets.items()})


def bindings_of(shape: Shape, *chosen_values: Choice) -> dict[str, Any]:
    """Return what an operator may tell, by the name of each binding."""
    bindings = {name: value for one in chosen_values for name, value in (*one.may_bind.items(), *one.binds.items())}
    return {name.partition(".")[2]: value(shape) if callable(value) else value for name, value in bindings.items()}


def answer_of(path: str, document: Any, status: int = 200, method: str = "GET", **headers: str) -> Answer:
    """Return an answer of the control plane itself."""
    request = ReceivedRequest(method, path, "", headers=headers)
    return Answer(request, status, [("Content-Type", "application/json")], b"", document)


def posture(*, healthy: bool) -> dict[str, Any]:
    """Return the posture of three services as the control plane itself tells it, with their addresses."""
    services = [
        {
            "name": name,
            "type": "addon" if at else "rail",
            "base_url": _URL if name == _NAME else f"http://127.0.0.1:{9100 + at}",
            "health_path": "/health",
            "healthy": healthy if name == _NAME else not healthy,
            "status_code": 200,
            "latency_ms": 1,
            "error": None,
            "checked_at": "2026-01-01T00:00:00Z",
        }
        for at, name in enumerate((_OTHER_NAMES[0], _NAME, _OTHER_NAMES[1]))
    ]
    summary = {"total": 3, "healthy": 1, "unhealthy": 2}
    return {"status": "degraded", "checked_at": "2026-01-01T00:00:00Z", "services": services, "summary": summary}


@pytest.mark.parametrize("healthy", [True, False])
@pytest.mark.parametrize("word", choices("hub.health-word"))
@pytest.mark.parametrize("form", choices("hub.posture"))
@pytest.mark.parametrize("members", choices("hub.posture-members"))
def test_every_form_of_the_posture_says_how_a_service_is(form: str, word: str, members: str, healthy: bool) -> None:
    """One record shows a service, and whether it is healthy, at the bound places and without them."""
    chosen_values = (
        choices("hub.posture")[form],
        choices("hub.health-word")[word],
        choices("hub.posture-members")[members],
    )
    shape = shape_of(*chosen_values)
    answer = answer_of(hub_answer_variants.POSTURE, posture(healthy=healthy))
    hub_answer_variants.edit(answer, shape)
    bindings = bindings_of(shape, *chosen_values)
    for name_at, healthy_at in ((None, None), (bindings.get("posture_name_at"), bindings.get("posture_healthy_at"))):
        records = document_reader.records(answer.document, _NAME, _URL, name_at)
        assert [healthy] == [document_reader.read_health(one, name_at, healthy_at) for one in records]


@pytest.mark.parametrize("form", choices("hub.health"))
def test_every_form_of_health_tells_both_counts(form: str) -> None:
    """Both counts are read at their bound places; without bound places, they are found by their names."""
    choice = choices("hub.health")[form]
    shape = shape_of(choice)
    health = {"status": "ok", "service": "weldproof-controlplane", "version": "0.1.0", "issuers": 3, "services": 5}
    answer = answer_of(hub_answer_variants.HEALTH, health)
    hub_answer_variants.edit(answer, shape)
    places = bindings_of(shape, choice)["health_counts"]
    for member, expected in (("issuers", 3), ("services", 5)):
        assert document_reader.count(answer.document, member, places[member]) == expected
        assert document_reader.count(answer.document, member, None) == (expected if choice.may_bind else None)


@pytest.mark.parametrize("form", choices("hub.service-body"))
def test_every_registration_is_read_as_the_same_service(form: str) -> None:
    """What a profile binds, and what a service of this look sends, is the record that the control plane takes."""
    choice = choices("hub.service-body")[form]
    shape = shape_of(choice)
    record = {"name": _NAME, "type": "addon", "base_url": _URL, "health_path": "/health"}
    for registration in (
        document_reader.fill_template(bindings_of(shape, choice)["service_body"], _VALUES),
        control_plane_join_variants.registration(record, dataclasses.replace(shape, join_more=True)),
    ):
        own = (
            registration
            if shape.hub_service_request == "base_url"
            else hub_behaviour_variants.own_record(registration, shape)
        )
        assert all(own.get(name, "/health") == record[name] for name in ("name", "base_url", "health_path"))


@pytest.mark.parametrize("form", [name for name, one in choices("hub.service-body").items() if one.may_bind])
def test_a_registration_that_may_be_told_is_among_those_that_are_tried(form: str) -> None:
    """Where a profile need not tell the body, one of the suite's own registers the service."""
    shape = shape_of(choices("hub.service-body")[form])
    candidates = [document_reader.fill_template(one, _VALUES) for one in CANDIDATES]
    own = (
        candidates
        if shape.hub_service_request == "base_url"
        else [hub_behaviour_variants.own_record(one, shape) for one in candidates]
    )
    assert any(one.get("name") == _NAME and one.get("base_url") == _URL for one in own)


@pytest.mark.parametrize("told", [{}, {"member": []}, {"member": {"reach": 7}}, {"health_url": 7}, {"url": None}])
@pytest.mark.parametrize("form", list(choices("hub.service-body"))[1:])
def test_what_registers_nothing_is_left_to_the_service(form: str, told: dict[str, Any]) -> None:
    """A body of another form gives no record, which the service refuses."""
    own = hub_behaviour_variants.own_record(told, shape_of(choices("hub.service-body")[form]))
    assert "name" not in own


def log_of(shape: Shape, count: int = 5) -> list[Entry]:
    """Return a log that is made in a look; two entries are of the same second."""
    head, entries = Head(), []
    actions = ("log.opened", "issuer.registered", "issuer.rotated", "issuer.revoked", "service.registered")
    for number in range(count):
        arguments: dict[str, Any] = {"actor": "admin", "subject": f"did:web:{number}.example", "payload": {"kid": "ä1"}}
        time = 1_767_225_600_000 + number * 700
        new_entry = hub_audit_variants._seal_entry(
            head, _KEY, shape, ts_ms=time, action=actions[number % 5], **arguments
        )
        entries.append(new_entry)
        head = new_entry.head
    return entries


# An entry without names and a recipe without its MAC are never drawn together.
DRAWN_FORMS = [
    names
    for names in itertools.product(*(choices(f"hub.audit-{one}") for one in ("entry", "recipe", "key")))
    if shape_of(choices("hub.audit-entry")[names[0]]).audit_entry != "unnamed" or not names[1].endswith("-without-mac")
]


@pytest.mark.parametrize(("entry", "recipe", "key"), DRAWN_FORMS)
def test_every_log_is_a_chain_for_the_oracle(entry: str, recipe: str, key: str) -> None:
    """By the bound keys and by discovery, a log holds as it is shown, and a changed one does not."""
    chosen_values = (
        choices("hub.audit-entry")[entry],
        choices("hub.audit-recipe")[recipe],
        choices("hub.audit-key")[key],
    )
    for genesis, mac, time in itertools.product(
        *(choices(f"hub.audit-{one}").values() for one in ("genesis", "mac", "times"))
    ):
        shape = shape_of(*chosen_values, genesis, mac, time)
        shown_log = [hub_audit_variants.show_entry(one, shape) for one in log_of(shape)]
        assert oldest_first(shown_log[::-1]) == shown_log
        assert oldest_first(shown_log) == shown_log
        if shape.audit_entry == "nested":
            assert oracle.find_links([document_reader.flatten_entry(one) for one in shown_log])
            continue
        chain = bindings_of(shape, *chosen_values)["audit_chain"]
        for form in (oracle.Form(**{"seq": None, "prev": None, **chain}, any_case=True), found_form(shown_log)):
            text = oracle.key_bytes(_KEY.hex(), form.key)
            assert oracle.first_fault(shown_log, text, form) is None
            for place in (0, 4):
                subject = hub_audit_points.NAMES[shape.audit_entry]["subject"]
                changed_log = [*shown_log[:place], {**shown_log[place], subject: "did:web:x"}, *shown_log[place + 1 :]]
                fault = oracle.first_fault(changed_log, text, form)
                assert fault is not None
                assert fault.place == place


def found_form(shown_log: list[dict[str, Any]]) -> oracle.Form:
    """Return how a log is made as the oracle finds it out."""
    form = oracle.find_form(shown_log, _KEY.hex())
    assert form is not None
    return form


@pytest.mark.parametrize("entry", choices("hub.audit-entry"))
def test_the_log_checks_its_own_entries(entry: str) -> None:
    """A stored entry is sealed under the key that it was written with; a changed one is not, nor one without a MAC."""
    shape = dataclasses.replace(shape_of(choices("hub.audit-entry")[entry]), audit_recipe="prev-jcs")
    row = encode_entry(log_of(shape)[2])
    assert hub_audit_variants._is_sealed(_KEY, row, shape)
    assert not hub_audit_variants._is_sealed(bytes(32), row, shape)
    for place, other_value in ((4, "did:web:other"), (6, "no MAC"), (7, "no MAC"), (7, "")):
        changed_row = (*row[:place], other_value, *row[place + 1 :])
        assert not hub_audit_variants._is_sealed(_KEY, changed_row, shape)  # type: ignore[arg-type] # a tuple of the same columns


@pytest.mark.parametrize("form", choices("hub.audit-document"))
@pytest.mark.parametrize("order", choices("hub.audit-order"))
def test_every_document_holds_the_entries(form: str, order: str) -> None:
    """The entries are found at the bound place and without it, and are the same in any order."""
    choice, order_choice = choices("hub.audit-document")[form], choices("hub.audit-order")[order]
    shape = shape_of(choice, order_choice)
    log = log_of(shape)
    page = {"entries": [one.wire() for one in log], "count": 5, "head": {"seq": 5, "mac": log[-1].mac}, "valid": True}
    answer = answer_of(hub_audit_variants.AUDIT, page)
    hub_audit_variants.edit(answer, shape)
    expected = [hub_audit_variants.show_entry(one, shape) for one in log]
    for place in (bindings_of(shape, choice)["audit_entries_at"], None):
        entries = document_reader.entries(answer.document, place)
        assert entries is not None
        assert oldest_first(entries) == expected


@pytest.mark.parametrize("form", choices("hub.errors"))
@pytest.mark.parametrize("status", [401, 404, 422, 405])
def test_a_refusal_stays_one(form: str, status: int) -> None:
    """Whatever the form, a refusal is a client error with a JSON object that says why."""
    detail: Any = [{"loc": ["body"], "msg": "no", "type": "missing"}] if status == 422 else "no"
    for credential, bad in itertools.product(
        *(choices(one).values() for one in ("hub.credential-status", "hub.bad-body-status"))
    ):
        answer = answer_of("/v1/issuers", {"detail": detail}, status, "POST", authorization="Bearer x")
        hub_answer_variants.edit(answer, shape_of(choices("hub.errors")[form], credential, bad))
        assert 400 <= answer.status < 500
        assert "no" in json.dumps(answer.document)
        assert (answer.header("WWW-Authenticate") is not None) == (answer.status == 401)


@pytest.mark.parametrize("created", choices("hub.create-status"))
@pytest.mark.parametrize("deleted", choices("hub.delete-answer"))
def test_a_success_stays_one(created: str, deleted: str) -> None:
    """Registrations and revocations are successes in every variant; only that of an unknown issuer may be a refusal."""
    shape = shape_of(choices("hub.create-status")[created], choices("hub.delete-answer")[deleted])
    for status in (200, 201):
        answer = answer_of("/v1/services", {"name": "a"}, status, "POST")
        hub_answer_variants.edit(answer, shape)
        assert 200 <= answer.status < 300
    gone = answer_of("/v1/issuers/did:web:a", ABSENT, 204, "DELETE")
    hub_answer_variants.edit(gone, shape)
    assert 200 <= gone.status < 300
    assert (gone.status == 204) == (gone.document is ABSENT)
    for unknown in choices("hub.unknown-did").values():
        nobody = answer_of("/v1/issuers/did:web:a", {"detail": "Not Found"}, 404, "DELETE")
        hub_answer_variants.edit(nobody, dataclasses.replace(shape, **unknown.sets))
        assert nobody.status in {200, 202, 204, 404, 410}


def test_the_contract_promises_what_the_look_keeps() -> None:
    """The document says nothing of request ids, of bodies that look otherwise, and of calls that are not there."""
    path = Path(__file__).parents[4] / "openapi" / "control_plane.json"
    shape = Shape(hub_openapi_path="/docs/hub.json", hub_service_removal=False, hub_service_request="url")
    answer = answer_of("/docs/hub.json", json.loads(path.read_bytes()))
    edit_document(answer, shape)
    paths = answer.document["paths"]
    assert "/docs/hub.json" in paths
    assert not {"/openapi.json", "/v1/services/{name}"} & paths.keys()
    assert all("headers" not in one for one in paths["/health"]["get"]["responses"].values())


async def test_rounds_tell_what_the_last_one_found() -> None:
    """A service that was never asked for is not healthy yet; once a round is over, the posture knows."""
    asked_addresses: list[str] = []

    async def ask(address: str) -> HealthResult:
        asked_addresses.append(address)
        return HealthResult(200, 1, None)

    board = HealthBoard(ask, WpClock(None))
    look_in_rounds = hub_behaviour_variants._look_in_rounds
    first = await look_in_rounds(board, ["a", "b", "a"])
    assert {one: seen.finding.error for one, seen in first.items()} == {"a": "not_asked_yet", "b": "not_asked_yet"}
    async with asyncio.timeout(120):
        while any(seen.finding.error for seen in (await look_in_rounds(board, ["a", "b"])).values()):  # noqa: ASYNC110 - no signal
            await asyncio.sleep(0)
    assert {"a", "b"} == set(asked_addresses)
    await board.close()
