"""Refusals of a request's body: the members that the server names, in the forms of common frameworks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from conformance.http.client import Answer

_UNPROCESSABLE = 422
_MALFORMED_STATUSES: Final = frozenset({400, _UNPROCESSABLE})
# RFC 9457 and JSON:API use a pointer, FastAPI `loc`, Ajv `instancePath`; other servers name the member differently.
_POINTER_MEMBERS: Final = frozenset(
    {"pointer", "loc", "instancepath", "datapath", "field", "error_field", "param", "parameter", "property", "member"}
)
# A server may refuse a value that it does not offer as malformed, forbidden or unknown.
_CONTENT_STATUSES: Final = frozenset({400, 403, 404, _UNPROCESSABLE})
_TEXT_MEMBERS: Final = frozenset(
    {"error", "code", "error_code", "errorcode", "reason", "type", "title", "message", "msg", "detail", "description"}
)
_WORD: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_DEPTH = 5
_MOST = 5
_LONGEST = 120


def list_members(answer: Answer) -> list[str]:
    """Return the first five members of the body that a 400 or 422 names, in the server's spelling."""
    if answer.status not in _MALFORMED_STATUSES:
        return []
    texts = dict.fromkeys(text for text in _walk_members(answer.read_object(), _DEPTH) if text)
    return list(texts)[:_MOST]


def describe_refused_body(answer: Answer) -> str | None:
    """Return how an answer refuses the request's body, None if it does not."""
    members = list_members(answer)
    # 422 refuses the content by its meaning. A 400 may be about anything, so it must name a member.
    if answer.status != _UNPROCESSABLE and not members:
        return None
    return f"{answer.status}" + (f" at {', '.join(members)}" if members else "")


def list_words(answer: Answer) -> frozenset[str]:
    """Return the lower-case words of a refusal's code, type, title and message; empty for another answer.

    `currency_not_offered` is three words.
    """
    if answer.status not in _CONTENT_STATUSES:
        return frozenset()
    return frozenset(
        word.lower() for text in _walk_texts(answer.read_object(), _DEPTH) for word in _WORD.findall(text[:_LONGEST])
    )


def _walk_texts(value: Any, depth: int) -> Iterator[str]:
    if not depth:
        return
    if isinstance(value, list):
        for element in value:
            yield from _walk_texts(element, depth - 1)
    elif isinstance(value, dict):
        for name, member in value.items():
            if isinstance(member, str) and name.lower() in _TEXT_MEMBERS:
                yield member
            else:
                yield from _walk_texts(member, depth - 1)


def _walk_members(value: Any, depth: int) -> Iterator[str]:
    if not depth:
        return
    if isinstance(value, list):
        for element in value:
            yield from _walk_members(element, depth - 1)
    elif isinstance(value, dict):
        for name, member in value.items():
            if name.lower() in _POINTER_MEMBERS and isinstance(member, str | list):
                parts = member if isinstance(member, list) else [member]
                yield "/".join(str(part) for part in parts)[:_LONGEST]
            else:
                yield from _walk_members(member, depth - 1)
