"""The addons' look: a credential is asked about by what a profile binds, and the verdict is read where it says."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import pytest

from conformance.surfaces.agent.answer_reader import values_at
from conformance.surfaces.control_plane import document_reader
from reference.addons.kit import Call
from reference.variants.chameleon import addon_variants
from reference.variants.chameleon.addon_points import POINTS
from reference.variants.chameleon.answer_rewriter import Answer, ReceivedRequest
from reference.variants.chameleon.points import Choice
from reference.variants.chameleon.variant_shape import Shape
from reference.web.http.exchange import Request

_BY_ID = {point.id: {choice.name: choice for choice in point.choices} for point in POINTS}
_OWN: dict[str, Any] = {"atb_verifier": {"credential": "c"}, "federation_validator": {"credentials": ["c"]}}


def shape_of(*chosen_values: Choice) -> Shape:
    """Return the shape that choices make together."""
    return dataclasses.replace(Shape(), **{name: value for one in chosen_values for name, value in one.sets.items()})


@pytest.mark.parametrize("addon", _OWN)
@pytest.mark.parametrize("question", _BY_ID["addon.question"])
@pytest.mark.parametrize("answer", _BY_ID["addon.answer"])
@pytest.mark.parametrize("valid", [True, False])
def test_a_question_is_taken_and_its_verdict_told(addon: str, question: str, answer: str, valid: bool) -> None:
    """The bound body is the addon's own after the look, the bound path leads to it, and the verdict is at its place."""
    choice = _BY_ID["addon.question"][question]
    shape = shape_of(choice, _BY_ID["addon.answer"][answer])
    surface = f"addons.{addon}"
    bindings = choice.binds[f"addons.{addon}.question"](shape)
    path = addon_variants.elsewhere(shape, surface)(bindings["path"])
    body = document_reader.fill_template(bindings["body"], {"credential": "c"})
    call = Call(Request(path, "POST", "", {}, json.dumps(body).encode(), ""))
    own = addon_variants._own(call, call.json(), surface) if shape.addon_question == "words" else call.json()
    assert own == _OWN[addon]
    said = Answer(
        ReceivedRequest("POST", bindings["path"], ""),
        200,
        [],
        b"",
        {"valid": valid, "status": "active", "reason": None},
    )
    addon_variants.edit(said, shape, surface)
    assert values_at(said.document, bindings["valid_at"]) == [valid]


@pytest.mark.parametrize("addon", _OWN)
def test_the_addons_own_names_are_unknown_elsewhere(addon: str) -> None:
    """A look with words of its own takes nothing by the addon's, at neither path."""
    shape = Shape(addon_question="words")
    path = addon_variants.QUESTIONS[f"addons.{addon}"][0]
    assert addon_variants.elsewhere(shape, f"addons.{addon}")(path) != path
    call = Call(Request(path, "POST", "", {}, b"", ""))
    assert addon_variants._own(call, _OWN[addon], f"addons.{addon}") == {}
    assert "credential" not in addon_variants._own(call, {"presented": 7, "credential": "c"}, f"addons.{addon}")


@pytest.mark.parametrize("form", _BY_ID["addon.health"])
def test_health_tells_the_issuers_where_it_is_bound(form: str) -> None:
    """If a place is bound, it contains the number of trusted issuers; otherwise the number is nowhere."""
    choice = _BY_ID["addon.health"][form]
    health = {"status": "ok", "service": "s", "version": "1", "hub": "connected", "issuers": 3}
    answer = Answer(ReceivedRequest("GET", "/health", ""), 200, [], b"", health)
    addon_variants.edit(answer, shape_of(choice), "addons.atb_verifier")
    place = choice.binds.get("addons.atb_verifier.issuers_at")
    assert document_reader.count(answer.document, "issuers", place) == (3 if place else None)
