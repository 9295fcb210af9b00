"""The agent's look: a body of any form is read as the same message, and every form of a result says the same."""

from __future__ import annotations

import base64
import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from conformance.checks.agent.explain import find_lacking_parameters, shows_components
from conformance.oracles.message_signatures.message import Message
from conformance.surfaces.agent import answer_reader
from conformance.surfaces.agent.templates import fill_template, values_of
from reference.agent.skills import SKILLS, Moment
from reference.variants.chameleon import agent_requests
from reference.variants.chameleon.agent_points import POINTS
from reference.variants.chameleon.agent_results import reshape_signed, reshape_verdict
from reference.variants.chameleon.agent_variants import edit
from reference.variants.chameleon.answer_rewriter import Answer, ReceivedRequest
from reference.variants.chameleon.points import Choice
from reference.variants.chameleon.variant_shape import Shape

_NOW = 1_767_225_600
_MOMENT = Moment(_NOW, 60)
_CONTENT = b'{"a":1}'
_KEY = bytes.fromhex("26b40b8f93fff3d897112f7ebc582b232dbd72517d082fe83cfb30ddce43d1bb")
_MESSAGE = Message(
    "POST",
    "shop.example:8443",
    "https",
    "/a//b?c=%20d",
    (("X-List", "a"), ("X-List", "b"), ("Accept", "text/html")),
    None,
    _CONTENT,
)
_BY_ID = {point.id: point for point in POINTS}


def shape_of(choice: Choice) -> Shape:
    """Return the shape that a choice makes."""
    return dataclasses.replace(Shape(), **choice.sets)


def choices(point: str) -> Mapping[str, Choice]:
    """Return the choices of a point by name."""
    return {choice.name: choice for choice in _BY_ID[point].choices}


def demo() -> dict[str, Any]:
    """Return what sign itself answers."""
    request = {"method": "POST", "authority": "a.example", "path": "/x?y=1", "headers": {"Accept": "a"}}
    return SKILLS["sign-demo"].call({**request, "body_b64": base64.b64encode(_CONTENT).decode()}, _MOMENT)


def explain_demo(**changes: Any) -> dict[str, Any]:
    """Return what explain itself answers about a demo request with members changed."""
    return SKILLS["explain-rfc9421"].call({**demo(), **changes}, _MOMENT)


@pytest.mark.parametrize("name", choices("agent.request"))
@pytest.mark.parametrize("operation", ["verify", "explain", "sign"])
def test_the_body_that_a_profile_binds_is_read_as_the_message_it_was_made_of(name: str, operation: str) -> None:
    """Whatever form a look takes, the template that its profile tells makes a body of it."""
    choice = choices("agent.request")[name]
    bindings = {**choice.may_bind, **choice.binds}
    usual = bindings["agent.verify_body"]
    template = bindings.get(f"agent.{operation}_body", usual)
    body = fill_template(template, values_of(_MESSAGE, None if operation == "sign" else _KEY))
    skill = {"verify": "verify-rfc9421", "explain": "explain-rfc9421", "sign": "sign-demo"}[operation]
    own = agent_requests.own(body, skill, shape_of(choice))
    expected = {
        "method": "POST",
        "authority": "shop.example:8443",
        "scheme": "https",
        "path": "/a//b?c=%20d",
        "headers": {"X-List": ["a", "b"], "Accept": ["text/html"]},
        "body_b64": base64.b64encode(_CONTENT).decode(),
        **({} if operation == "sign" else {"public_key_hex": _KEY.hex()}),
    }
    lines = {field: value if isinstance(value, list) else [value] for field, value in own["headers"].items()}
    assert expected == {**own, "headers": lines}


def test_a_signature_in_members_counts_and_one_among_the_headers_does_not() -> None:
    """Where a look takes the signature as members, fields of those names are nothing."""
    shape = shape_of(choices("agent.request")["the signature in members of its own"])
    headers = {"SIGNATURE": "old", "signature-input": "old", "Accept": "a"}
    own = agent_requests.own({"headers": headers, "signature": "sig=:AA==:"}, "verify-rfc9421", shape)
    assert own == {"headers": {"Accept": "a", "Signature": "sig=:AA==:"}}


@pytest.mark.parametrize("name", ["a URL", "in an envelope", "other words, pairs and a JWK"])
def test_the_references_own_names_are_unknown_members_elsewhere(name: str) -> None:
    """A look with names of its own reads nothing from the reference's, so that a guess at names finds nothing."""
    body = {"method": "GET", "authority": "a.example", "path": "/", "headers": {}, "public_key_hex": _KEY.hex()}
    own = agent_requests.own(body, "verify-rfc9421", shape_of(choices("agent.request")[name]))
    assert "authority" not in own
    assert "path" not in own


@pytest.mark.parametrize("body", [None, 7, [], "text", {}, {"url": 7}, {"envelope": []}, {"fields": [["a"]]}])
@pytest.mark.parametrize("name", choices("agent.request"))
def test_what_is_no_body_is_never_a_fault_of_the_look(name: str, body: Any) -> None:
    """Whatever comes, the look hands something on, for the service to refuse."""
    assert not agent_requests.own(body, "verify-rfc9421", shape_of(choices("agent.request")[name])) or body


_READ: Mapping[str, Callable[[Any, str | None], Any]] = {
    "validity": lambda told, place: answer_reader.validity(told, place, {"accepted": True, "refused": False}),
    "errors": lambda told, place: bool(answer_reader.errors(told, place)),
    "base": answer_reader.base,
    "notes": lambda told, place: bool(answer_reader.notes(told, place)),
}


@pytest.mark.parametrize("what", _READ)
@pytest.mark.parametrize("changes", [{}, {"path": "/other"}, {"body_b64": ""}], ids=["sound", "path", "content"])
def test_every_form_of_a_result_says_the_same_at_its_place(what: str, changes: Mapping[str, Any]) -> None:
    """Where a profile binds the place, validity, errors, base and notes are read there, whatever their form."""
    own = explain_demo(**changes)
    names = {"validity": "valid", "errors": "errors", "base": "signature_base", "notes": "fix_notes"}
    expected = _READ[what](own, names[what])
    for choice in choices(f"agent.{what}").values():
        result = reshape_verdict(own, shape_of(choice), _CONTENT)
        place = next(value for value in {**choice.may_bind, **choice.binds}.values() if isinstance(value, str))
        assert expected == _READ[what](result, place), choice.name


@pytest.mark.parametrize("name", choices("agent.digest"))
def test_every_form_shows_the_digest_of_the_content(name: str) -> None:
    """The recomputed digest stands in each form, of the content and not of the field."""
    result = reshape_verdict(explain_demo(body_b64="e30="), shape_of(choices("agent.digest")[name]), b"{}")
    expected = "RBNvo1WzZ4oRRq0W9+hknpT7T8If536DEMBg9hyq/4o="
    assert any(expected in text for _, text in answer_reader.texts(result))


@pytest.mark.parametrize("name", choices("agent.components"))
def test_every_form_lists_the_components_in_their_order(name: str) -> None:
    """The covered components are shown in signed order, in each form."""
    result = reshape_verdict(explain_demo(), shape_of(choices("agent.components")[name]), _CONTENT)
    assert shows_components(result, ("@method", "@authority", "@path", "@query", "content-digest"))


@pytest.mark.parametrize("name", list(choices("agent.parameters"))[:2])
def test_forms_of_an_object_show_the_parameters(name: str) -> None:
    """Each parameter stands with its value."""
    own = explain_demo()
    result = reshape_verdict(own, shape_of(choices("agent.parameters")[name]), _CONTENT)
    assert find_lacking_parameters(result, own["parameters"]) == []


def test_few_members_are_those_that_are_stated() -> None:
    """A look without further members says validity and errors, and explains what the interface names."""
    shape = dataclasses.replace(Shape(), agent_members="few")
    own_result = SKILLS["verify-rfc9421"].call(demo(), _MOMENT)
    assert {"valid", "errors", "error_codes"} == reshape_verdict(own_result, shape, _CONTENT).keys()
    assert "checked" not in reshape_verdict(explain_demo(), shape, _CONTENT)


@pytest.mark.parametrize("name", choices("agent.sign-request"))
def test_every_form_of_a_signed_request_has_both_fields(name: str) -> None:
    """The signature's fields stand together in each form, with the same values."""
    own = demo()
    choice = choices("agent.sign-request")[name]
    fields = answer_reader.signed_fields(reshape_signed(own, shape_of(choice)), choice.binds.get("agent.signed_fields"))
    assert fields is not None
    field_values = {line.lower(): value for line, value in fields}
    for field_name in ("Signature-Input", "Signature", "Content-Digest"):
        assert field_values[field_name.lower()] == own["headers"][field_name]


@pytest.mark.parametrize("name", choices("agent.sign-key"))
def test_every_form_of_the_demo_key_is_the_key(name: str) -> None:
    """The returned key is the one that signed."""
    own = demo()
    choice = choices("agent.sign-key")[name]
    place = next(iter({**choice.may_bind, **choice.binds}.values()), None)
    assert [bytes.fromhex(own["public_key_hex"])] == answer_reader.public_keys(
        reshape_signed(own, shape_of(choice)), place
    )


@pytest.mark.parametrize("name", choices("agent.detail"))
def test_every_422_has_the_stated_shape(name: str) -> None:
    """`detail` is a list of items with loc, msg and type, whatever the look."""
    item = {"loc": ["body", "path"], "msg": "Field required", "type": "missing"}
    answer = Answer(ReceivedRequest("POST", "/verify/rfc9421", ""), 422, [], None, {"detail": [item, dict(item)]})
    edit(answer, shape_of(choices("agent.detail")[name]))
    assert answer.document["detail"]
    for detail_member in answer.document["detail"]:
        assert all(isinstance(part, str | int) for part in detail_member["loc"])
        assert isinstance(detail_member["msg"], str)
        assert isinstance(detail_member["type"], str)
