"""The open points of the bundled addons, and of services that join the control plane."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reference.variants.chameleon.points import Choice, Point
from reference.variants.chameleon.variant_shape import Shape

OTHER_PATH = "/check"
_OWN: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "atb_verifier": ("/v1/verify", {"credential": "{credential}"}),
    "federation_validator": ("/v1/validate", {"credentials": ["{credential}"]}),
}
_OTHER_BODY = {"presented": {"vc": "{credential}"}}


def _valid_at(shape: Shape) -> str:
    return "outcome.accepted" if shape.addon_answer == "nested" else "valid"


def _own(name: str) -> Any:
    path, body = _OWN[name]
    return lambda shape: {"path": path, "body": body, "valid_at": _valid_at(shape)}


def _other_question(shape: Shape) -> dict[str, Any]:
    return {"path": OTHER_PATH, "body": _OTHER_BODY, "valid_at": _valid_at(shape)}


def _of_each(member: str, value: Any) -> dict[str, Any]:
    return {f"addons.{name}.{member}": value for name in _OWN}


POINTS = (
    Point(
        # The interface demands both calls on startup and no order of them.
        "addon.join-order",
        ("CP-ADDON-02", "CP-ADDON-03"),
        "whether an addon registers before it pulls the trust set",
        (Choice("after it"), Choice("before it", {"join_order": "registration first"})),
    ),
    Point(
        # RFC 9110, 11.1: the scheme is a case-insensitive token.
        "addon.scheme-case",
        ("RFC 9110",),
        "letter case of the scheme in front of the admin token, which RFC 9110 leaves open",
        (Choice("Bearer"), Choice("bearer", {"join_scheme": "bearer"}), Choice("BEARER", {"join_scheme": "BEARER"})),
    ),
    Point(
        # Any service can join, so the control plane must tolerate members that it does not know (P-CV-14).
        "addon.registration",
        ("3",),
        "members of an addon's registration that the hub does not know",
        (Choice("none"), Choice("build and capabilities", {"join_more": True})),
    ),
    Point(
        # Only the status 200 of `/health` is part of the interface (8.1).
        "addon.health",
        ("28",),
        "the health document of an addon, and whether it contains the number of trusted issuers",
        (
            Choice("issuers", binds=_of_each("issuers_at", "issuers")),
            Choice("one member", {"addon_health": "few"}),
            Choice("in an object", {"addon_health": "nested"}, binds=_of_each("issuers_at", "trust.issuers")),
        ),
    ),
    Point(
        # The interface names the bundled services and no request of theirs, so paths and members must be bound in
        # the profile.
        "addon.question",
        ("CP-TRUST-07", "CP-ISSUER-10"),
        "path and body by which a bundled service is asked about a credential",
        (
            Choice("its own", binds={f"addons.{name}.question": _own(name) for name in _OWN}),
            Choice(
                "/check and a presentation", {"addon_question": "words"}, binds=_of_each("question", _other_question)
            ),
        ),
    ),
    Point(
        "addon.answer",
        ("CP-TRUST-07", "CP-ISSUER-10"),
        "what a bundled service answers about a credential",
        (
            Choice("valid and more"),
            Choice("valid alone", {"addon_answer": "few"}),
            Choice("accepted, in an object", {"addon_answer": "nested"}),
        ),
    ),
)
