"""Leaks: a secret of the request that is in the answer, in any form in which it can be recognised."""

from __future__ import annotations

from collections.abc import Mapping

from conformance.http.client import Answer
from conformance.text.secret_forms import forms_of

_SHORTEST = 6


def shapes_of(secret: str) -> Mapping[str, tuple[bytes, ...]]:
    """Return the forms in which a secret can be recognised, by name."""
    forms = {"as it was sent": (secret,), **forms_of(secret)}
    return {name: tuple(text.encode("utf-8", "surrogateescape") for text in texts) for name, texts in forms.items()}


def comes_back(answer: Answer, secret: str) -> list[str]:
    """Return the places and forms of a secret in an answer."""
    places = {"the body": answer.body}
    for name, value in answer.headers.items():
        places[f"the header {name}"] = f"{name}: {value}".encode("utf-8", "surrogateescape")
    # Computed once for all places: an answer has about ten headers.
    shapes = shapes_of(secret)
    return [
        f"{place}, {shape}"
        for place, data in places.items()
        for shape, texts in shapes.items()
        if any(len(text) >= _SHORTEST and text in data for text in texts)
    ]
