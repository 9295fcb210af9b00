"""Paths that a server charges for, served by another spelling: reported by `check`, and never where a page is usual."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import unquote

import pytest

from conformance.first_look.spellings import SpellingResult, try_spellings
from conformance.http.client import Client, Counter, Names
from conformance.http.raw import RawTransport
from conformance.log.events import EventLog
from tests.conformance.wrong_targets import Serve, serve_connections

PATH = "/weather"
# Status and body; a text is a page.
ServedAnswer = tuple[int, Any]
Answer = Callable[[str, str], ServedAnswer | None]
GOODS: ServedAnswer = (200, {"weather": "sunny"})
PAGE: ServedAnswer = (200, "<html>Shop</html>")


def serve_paid(answer: Answer, path: str = PATH) -> Serve:
    """Return a server that charges GET and HEAD of a path, and answers anything else as `answer` says, else 404."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        method, _, remainder = head.split("\r\n")[0].partition(" ")
        target = remainder.rpartition(" ")[0]
        served_answer = answer(method, target)
        if served_answer is None:
            served_answer = (402, {}) if target == path and method in {"GET", "HEAD"} else (404, {"error": "not_found"})
        status, value = served_answer
        body = value.encode() if isinstance(value, str) else json.dumps(value).encode()
        kind = "text/html; charset=utf-8" if isinstance(value, str) else "application/json"
        lines = [f"HTTP/1.1 {status} x", f"Content-Type: {kind}", f"Content-Length: {len(body)}", "", ""]
        writer.write("\r\n".join(lines).encode() + (b"" if method == "HEAD" else body))
        await writer.drain()
        writer.close()

    return serve


async def find_spellings(answer: Answer, path: str = PATH) -> SpellingResult | None:
    """Return what trying the spellings of a server's path comes to."""
    with serve_connections(serve_paid(answer, path)) as place:
        raw = RawTransport(f"http://{place}", seconds=5)
        client = Client(raw, EventLog(), "check", Names(), Counter())
        return await try_spellings(client, f"http://{place}{path}")


def route_target(read: Callable[[str], str], goods: ServedAnswer = GOODS) -> Answer:
    """Return what serves GET of a target that is read as the path, and is not spelled so."""
    return lambda method, target: goods if method == "GET" and target != PATH and read(target) == PATH else None


LENIENT: Mapping[str, tuple[Callable[[str], str], str]] = {
    "decodes": (unquote, "an encoded letter"),
    "decodes twice": (lambda target: unquote(unquote(target)), "a letter encoded twice"),
    "drops parameters": (lambda target: re.sub(r";[^/]*", "", target), "a path parameter"),
    "merges slashes": (lambda target: re.sub("//+", "/", target), "two slashes in front"),
    "takes a backslash for a slash": (lambda target: target.replace("\\", "/").replace("//", "/"), "a backslash"),
    "cuts a percent sign off": (lambda target: target.rstrip("%"), "a percent sign at the end"),
    "ends at NUL": (lambda target: target.partition("%00")[0], "an encoded NUL"),
}


@pytest.mark.parametrize("goods", [GOODS, PAGE], ids=["an object", "a page"])
@pytest.mark.parametrize("name", LENIENT)
async def test_a_path_that_is_free_by_another_spelling_is_told(name: str, goods: ServedAnswer) -> None:
    """The report names the target that is served, whatever is sold there."""
    read, description = LENIENT[name]
    result = await find_spellings(route_target(read, goods))
    assert result is not None
    assert any(f"({description})" in one for one in result.free), result


@pytest.mark.parametrize("read", [str.lower, lambda target: target.removesuffix("/"), lambda target: target[:-1]])
async def test_what_may_be_another_resource_is_a_doubt(read: Callable[[str], str]) -> None:
    """A page at the path with a slash may be its description, and letters count in paths."""
    result = await find_spellings(route_target(read))
    assert result is not None
    assert result.doubtful


async def test_heads_that_are_served_are_a_doubt() -> None:
    """No body is handed over, and yet the handler ran."""
    plain = await find_spellings(lambda method, target: (200, {}) if (method, target) == ("HEAD", PATH) else None)
    assert plain == SpellingResult((), (f"HEAD {PATH} is answered 200",))
    result = await find_spellings(
        lambda method, target: (200, {}) if (method, target) == ("HEAD", f"{PATH};x") else None
    )
    assert result == SpellingResult((), (f"HEAD {PATH};x (a path parameter) is answered 200",))


def elsewhere(goods: ServedAnswer) -> Answer:
    """Return what answers everything but the path with one answer."""
    return lambda _, target: goods if target != PATH else None


CAREFUL: Mapping[str, Answer] = {
    "404": lambda *_: None,
    "400": elsewhere((400, {})),
    "a page for whatever it does not have": elsewhere(PAGE),
    "an index for whatever it does not have": elsewhere(GOODS),
    "402 everywhere": elsewhere((402, {})),
    "a redirect": elsewhere((301, "")),
    "nothing": elsewhere((204, "")),
    "an empty page": elsewhere((200, " ")),
}


@pytest.mark.parametrize("name", CAREFUL)
async def test_a_server_that_hands_nothing_over_breaks_nothing(name: str) -> None:
    """Whatever is answered at each path that is not there is not the service."""
    assert await find_spellings(CAREFUL[name]) == SpellingResult((), ())


async def test_a_path_that_is_free_at_times_is_not_judged() -> None:
    """Some servers give a few calls away: once the path itself is free, a spelling that is free tells nothing."""
    calls = iter(range(1000))

    def given_away(method: str, target: str) -> ServedAnswer | None:
        if target == PATH:
            return (402, {}) if next(calls) == 0 else GOODS
        return GOODS if target == f"{PATH};x" and method == "GET" else None

    result = await find_spellings(given_away)
    assert result is not None
    assert not result.free


async def test_a_path_that_get_is_not_charged_for_is_not_tried() -> None:
    """A service that is sold by POST cannot be distinguished from a page by GET."""
    assert await find_spellings(lambda *_: (405, {})) is None
    assert await find_spellings(lambda *_: GOODS) is None


async def test_the_root_has_no_other_spelling() -> None:
    """A shop that sells one thing at its root is judged by nothing here."""
    assert await find_spellings(lambda *_: None, "/") == SpellingResult((), ())
