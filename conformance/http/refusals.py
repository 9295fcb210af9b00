"""What a refusal says about the request's body: the members that the server names, in the forms seen in the field."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from conformance.http.client import Answer

_UNPROCESSABLE = 422
_MALFORMED: Final = frozenset({400, _UNPROCESSABLE})
# RFC 9457 and JSON:API name a pointer, FastAPI `loc`, Ajv `instancePath`; others the member by a name of their own.
_PLACES: Final = frozenset(
    {"pointer", "loc", "instancepath", "datapath", "field", "error_field", "param", "parameter", "property", "member"}
)
# A value that a server does not offer may be refused as malformed, forbidden or not there.
_OF_CONTENT: Final = frozenset({400, 403, 404, _UNPROCESSABLE})
_SAYING: Final = frozenset(
    {"error", "code", "error_code", "errorcode", "reason", "type", "title", "message", "msg", "detail", "description"}
)
_WORD: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_DEPTH = 5
_MOST = 5
_LONGEST = 120


def pointers(answer: Answer) -> list[str]:
    """Return the members of the body that a 400 or 422 names, as the server spells them, the first five."""
    if answer.status not in _MALFORMED:
        return []
    found = dict.fromkeys(text for text in _places(answer.object(), _DEPTH) if text)
    return list(found)[:_MOST]


def refused_body(answer: Answer) -> str | None:
    """Return how an answer refuses the request's body, None where it does not say that it does.

    A 422 does by its meaning, a 400 where it names a member.
    """
    named = pointers(answer)
    if answer.status != _UNPROCESSABLE and not named:
        return None
    return f"{answer.status}" + (f" at {', '.join(named)}" if named else "")


def words(answer: Answer) -> frozenset[str]:
    """Return the words by which a refusal says what is wrong, in lower case; none where it is no refusal of content.

    They are those of its code, type, title and message, wherever these are: `currency_not_offered` is three words.
    """
    if answer.status not in _OF_CONTENT:
        return frozenset()
    return frozenset(
        word.lower() for text in _texts(answer.object(), _DEPTH) for word in _WORD.findall(text[:_LONGEST])
    )


def _texts(value: Any, depth: int) -> Iterator[str]:
    if not depth:
        return
    if isinstance(value, list):
        for one in value:
            yield from _texts(one, depth - 1)
    elif isinstance(value, dict):
        for name, member in value.items():
            if isinstance(member, str) and name.lower() in _SAYING:
                yield member
            else:
                yield from _texts(member, depth - 1)


def _places(value: Any, depth: int) -> Iterator[str]:
    if not depth:
        return
    if isinstance(value, list):
        for one in value:
            yield from _places(one, depth - 1)
    elif isinstance(value, dict):
        for name, member in value.items():
            if name.lower() in _PLACES and isinstance(member, str | list):
                parts = member if isinstance(member, list) else [member]
                yield "/".join(str(part) for part in parts)[:_LONGEST]
            else:
                yield from _places(member, depth - 1)
