"""Whether an answer is one that an operation of the interface gives, or that of some other server."""

from __future__ import annotations

from typing import Final
from weakref import WeakKeyDictionary

from conformance.http.client import Answer, Client, JsonFault

_ABSENT: Final = frozenset({404, 405, 410, 501})
_OPENAPI: Final = ("/openapi.json", "/v1/openapi.json", "/.well-known/openapi.json", "/api/openapi.json")
NOWHERE: Final = "/v1/weldproof-asks-for-no-such-operation"


async def is_there(client: Client, url: str, path: str, headers: dict[str, str] | None = None) -> bool:
    """Return whether a server has an operation POST `path`: it answers in JSON, and not as it does anywhere.

    Raises:
        Unreachable: It gave no answer.
    """
    answer = await client.call("POST", url + path, json_body={}, headers=headers or {})
    if not _is_answer(answer):
        return False
    anywhere = await _answer_nowhere(client, url, headers or {})
    return (anywhere.status, _members(anywhere)) != (answer.status, _members(answer))


# What each client was told where nothing is, by address and header fields.
_answers_elsewhere: Final[WeakKeyDictionary[Client, dict[tuple[str, tuple[tuple[str, str], ...]], Answer]]] = (
    WeakKeyDictionary()
)


async def _answer_nowhere(client: Client, url: str, headers: dict[str, str]) -> Answer:
    """Return what a server answers where nothing is; it is asked once."""
    answers, place = _answers_elsewhere.setdefault(client, {}), (url, tuple(sorted(headers.items())))
    if place not in answers:
        answers[place] = await client.call("POST", url + NOWHERE, json_body={}, headers=headers)
    return answers[place]


async def openapi_path(client: Client, url: str) -> str | None:
    """Return where a server has its OpenAPI document, None where it has none at a usual path.

    Raises:
        Unreachable: It gave no answer.
    """
    for path in _OPENAPI:
        document = await client.call("GET", url + path)
        if document.status == 200 and isinstance(document.object().get("openapi"), str):
            return path
    return None


def describe_foreign_answer(answer: Answer) -> str:
    """Return what an answer is that no surface gives, in words."""
    if 300 <= answer.status < 400:
        return f"{answer.status} to {answer.headers.get('Location', 'nowhere')}"
    media = answer.headers.get("Content-Type", "").partition(";")[0].strip().lower()
    if media in {"text/html", "application/xhtml+xml"} or answer.body.lstrip()[:9].lower().startswith(
        (b"<!doctype", b"<html")
    ):
        return f"{answer.status} with an HTML page"
    return f"{answer.status} with {media or 'a body of no type'}"


def _is_answer(answer: Answer) -> bool:
    if answer.status in _ABSENT or 300 <= answer.status < 400 or answer.status >= 500:
        return False
    return _members(answer) is not None


def _members(answer: Answer) -> tuple[str, ...] | None:
    """Return what tells two answers apart: the members of an object and its error, None where it is not an object."""
    try:
        document = answer.json()
    except JsonFault:
        return None
    if not isinstance(document, dict):
        return None
    return (*sorted(document), str(document.get("error")))


def asks_to_retry(answer: Answer) -> bool:
    """Return whether a 5xx is no fault of the request's: 503 that says when to come again."""
    return answer.status == 503 and "Retry-After" in answer.headers
