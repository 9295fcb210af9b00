"""Whether a secret that was sent stands in an answer, in any form in which it would be recognised."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from urllib.parse import quote

from conformance.http.client import Answer

_SHORTEST = 6


def shapes_of(secret: str) -> Mapping[str, bytes]:
    """Return the forms in which a secret would be recognised, by name."""
    raw = secret.encode("utf-8", "surrogateescape")
    return {
        "as it was sent": raw,
        "percent-encoded": quote(secret, safe="", errors="surrogateescape").encode(),
        "in base64": base64.b64encode(raw).rstrip(b"=")[:-1],
        "in hex": raw.hex().encode(),
    }


def comes_back(answer: Answer, secret: str) -> list[str]:
    """Return where and how a secret stands in an answer."""
    places = {"the body": answer.body}
    for name, value in answer.headers.items():
        places[f"the header {name}"] = f"{name}: {value}".encode("utf-8", "surrogateescape")
    return [
        f"{place}, {shape}"
        for place, data in places.items()
        for shape, text in shapes_of(secret).items()
        if len(text) >= _SHORTEST and text in data
    ]
