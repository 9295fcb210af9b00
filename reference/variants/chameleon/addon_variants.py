"""Variants of the bundled addons: requests, answers and the health document."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from reference.addons.kit.handler_context import Call
from reference.variants.chameleon.addon_points import OTHER_PATH
from reference.variants.chameleon.answer_rewriter import Answer
from reference.variants.chameleon.hub_answer_variants import put_error
from reference.variants.chameleon.variant_shape import Shape
from reference.variants.seams import replace

# The addons that judge credentials: the path of each, and a function that makes its body from a credential.
QUESTIONS: Mapping[str, tuple[str, Callable[[Any], dict[str, Any]]]] = {
    "addons.atb_verifier": ("/v1/verify", lambda text: {"credential": text}),
    "addons.federation_validator": ("/v1/validate", lambda text: {"credentials": [text]}),
}


def install(shape: Shape, surface: str) -> None:
    """Install the variant of an addon's requests."""
    if shape.addon_question == "words" and surface in QUESTIONS:
        replace(Call, "json", lambda read: lambda call: _own(call, read(call), surface))


def _own(call: Call, body: Any, surface: str) -> Any:
    """Return a body in the addon's form."""
    path, make_body = QUESTIONS[surface]
    if call.request.path != path or not isinstance(body, dict):
        return body
    presentation = body.get("presented")
    other_members = {
        name: value for name, value in body.items() if name not in {"presented", "credential", "credentials"}
    }
    return (
        {**other_members, **make_body(presentation["vc"])}
        if isinstance(presentation, dict) and "vc" in presentation
        else other_members
    )


def elsewhere(shape: Shape, surface: str) -> Callable[[str], str]:
    """Return a function from the variant's path to the addon's path."""
    if shape.addon_question != "words" or surface not in QUESTIONS:
        return str
    own_paths = {OTHER_PATH: QUESTIONS[surface][0], QUESTIONS[surface][0]: "/nothing-here"}
    return lambda path: own_paths.get(path, path)


def edit(answer: Answer, shape: Shape, surface: str) -> None:
    """Change health, answers, refusals and the contract."""
    document, path = answer.document, answer.request.path
    if not isinstance(document, dict):
        return
    if answer.status >= 400:
        put_error(answer, shape.hub_errors)
    elif path == "/health":
        answer.document = _health(document, shape)
    elif surface in QUESTIONS and path in {OTHER_PATH, QUESTIONS[surface][0]}:
        answer.document = _answer(document, shape)
    elif path == "/openapi.json" and shape.addon_question == "words" and surface in QUESTIONS:
        document["paths"] = {_show_path(one, surface): item for one, item in document["paths"].items()}


def _show_path(path: str, surface: str) -> str:
    return OTHER_PATH if path == QUESTIONS[surface][0] else path


def _health(document: dict[str, Any], shape: Shape) -> dict[str, Any]:
    if shape.addon_health == "few":
        return {"up": True}
    if shape.addon_health == "nested":
        return {
            "healthy": True,
            "trust": {"issuers": document["issuers"], "hub": document["hub"]},
            "build": document["version"],
        }
    return document


def _answer(document: dict[str, Any], shape: Shape) -> dict[str, Any]:
    if shape.addon_answer == "few":
        return {"valid": document["valid"]}
    if shape.addon_answer == "nested":
        return {"outcome": {"accepted": document["valid"]}, "report": document}
    return document
