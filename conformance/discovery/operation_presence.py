"""Presence of an operation: whether an answer comes from an operation of the interface or from some other server."""

from __future__ import annotations

from typing import Final
from weakref import WeakKeyDictionary

from conformance.http.client import Answer, Client, JsonFault

_ABSENT: Final = frozenset({404, 405, 410, 501})
_OPENAPI: Final = ("/openapi.json", "/v1/openapi.json", "/.well-known/openapi.json", "/api/openapi.json")
NOWHERE: Final = "/v1/weldproof-asks-for-no-such-operation"


async def is_there(client: Client, url: str, path: str, headers: dict[str, str] | None = None) -> bool:
    """Return whether a server has an operation POST `path`: it answers in JSON, and differently from unknown paths.

    Raises:
        Unreachable: It gave no answer.
    """
    answer = await client.call("POST", url + path, json_body={}, headers=headers or {})
    if not _is_answer(answer):
        return False
    anywhere = await _answer_nowhere(client, url, headers or {})
    return (anywhere.status, _members(anywhere)) != (answer.status, _members(answer))


# The answer at an unknown path, for each client by address and header fields. Some servers answer every path alike, so
# that only the difference from this answer shows that an operation exists.
_answers_elsewhere: Final[WeakKeyDictionary[Client, dict[tuple[str, tuple[tuple[str, str], ...]], Answer]]] = (
    WeakKeyDictionary()
)


async def _answer_nowhere(client: Client, url: str, headers: dict[str, str]) -> Answer:
    """Return a server's answer at a path that no server has; it is requested once."""
    answers, place = _answers_elsewhere.setdefault(client, {}), (url, tuple(sorted(headers.items())))
    if place not in answers:
        answers[place] = await client.call("POST", url + NOWHERE, json_body={}, headers=headers)
    return answers[place]


async def openapi_path(client: Client, url: str) -> str | None:
    """Return the path of a server's OpenAPI document, or None if no usual path has one.

    Raises:
        Unreachable: It gave no answer.
    """
    for path in _OPENAPI:
        document = await client.call("GET", url + path)
        if document.status == 200 and isinstance(document.read_object().get("openapi"), str):
            return path
    return None


def describe_foreign_answer(answer: Answer) -> str:
    """Return a description of an answer that no surface gives, such as a redirect or an HTML page."""
    if 300 <= answer.status < 400:
        return f"{answer.status} to {answer.headers.get('Location', 'nowhere')}"
    media = answer.headers.get("Content-Type", "").partition(";")[0].strip().lower()
    if media in {"text/html", "application/xhtml+xml"} or answer.body.lstrip()[:9].lower().startswith(
        (b"<!doctype", b"<html")
    ):
        return f"{answer.status} with an HTML page"
    return f"{answer.status} with {media or 'a body of no type'}"


def _is_answer(answer: Answer) -> bool:
    # A redirect or a server fault says nothing about the operation.
    if answer.status in _ABSENT or 300 <= answer.status < 400 or answer.status >= 500:
        return False
    return _members(answer) is not None


def _members(answer: Answer) -> tuple[str, ...] | None:
    """Return what distinguishes two answers: the members of an object and its error; None if it is not an object."""
    try:
        document = answer.parse_json()
    except JsonFault:
        return None
    if not isinstance(document, dict):
        return None
    return (*sorted(document), str(document.get("error")))


def asks_to_retry(answer: Answer) -> bool:
    """Return whether an answer is a 503 that says when to retry, which is no fault of the request."""
    return answer.status == 503 and "Retry-After" in answer.headers
