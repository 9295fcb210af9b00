"""Mutants that ask for a payment by one reading of a request and serve by another one (5.1, 5.3)."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any
from urllib.parse import unquote

import orjson

from reference.rail.front import Front
from reference.rail.services import SERVICES
from reference.variants.mutants.mutant import Mutant
from reference.variants.seams import replace
from reference.web import fast_http1, http1
from reference.web.envelope import Receive, Scope, Send
from reference.web.framing import Head
from reference.web.single_task_connection import send_whole

_OTHER_METHOD_CASE = b"x-method-in-another-case"


def _sent_path(scope: Scope) -> str:
    """Return the path as it was sent, without the query."""
    raw: bytes = scope.get("raw_path") or scope["path"].encode()
    return raw.partition(b"?")[0].decode("latin-1")


def _served_at(read: Callable[[Scope], str]) -> Callable[[], None]:
    """Return what serves a call whose path is a paid one by `read`, and is not by its own spelling."""

    def calling(call: Callable[..., Any]) -> Callable[..., Any]:
        async def called(self: Front, scope: Scope, receive: Receive, send: Send) -> None:
            path = read(scope) if scope["type"] == "http" else ""
            service = SERVICES.get(path)
            if service is None:
                await call(self, scope, receive, send)
                return
            body = orjson.dumps({"service_id": service.id, "result": dict(service.example_result)})
            await send_whole(send, 200, [(b"content-type", b"application/json")], body)

        return called

    return lambda: replace(Front, "__call__", calling)


def _tidied(tidy: Callable[[str], str]) -> Callable[[], None]:
    """Return what routes by a tidied path, and asks for a payment by the path as it was sent."""

    def read(scope: Scope) -> str:
        sent = _sent_path(scope)
        tidy_path = tidy(sent)
        return "" if tidy_path == sent else tidy_path

    return _served_at(read)


def _named_by(header: bytes) -> Callable[[Scope], str]:
    def read(scope: Scope) -> str:
        value = dict(scope["headers"]).get(header, b"")
        return value.decode("latin-1") if scope["path"] not in SERVICES else ""

    return read


def _by_override(scope: Scope) -> str:
    override = dict(scope["headers"]).get(b"x-http-method-override", b"")
    return scope["path"] if scope["method"] == "GET" and override == b"POST" else ""


def _in_another_case(scope: Scope) -> str:
    return scope["path"] if _OTHER_METHOD_CASE in dict(scope["headers"]) else ""


def _methods_in_any_case() -> None:
    """Take a method in any case for the one in capitals, and ask for a payment by the one in capitals alone."""

    def judging(judge: Callable[..., Head]) -> Callable[..., Head]:
        def judged(method: bytes, target: bytes, version: bytes, given: Any) -> Head:
            marked = [(_OTHER_METHOD_CASE, b"1")] if method != method.upper() else []
            return judge(method.upper(), target, version, [*given, *marked])

        return judged

    for module in (http1, fast_http1):
        replace(module, "judged", judging)
    _served_at(_in_another_case)()


def _without_parameters(path: str) -> str:
    return re.sub(r";[^/]*", "", path)


def _decoded_twice(path: str) -> str:
    return unquote(unquote(path)) if "%25" in path else path


_RULE = "a paid call costs something by whichever spelling it is called (5.1): "
MUTANTS = (
    Mutant("free-with-a-path-parameter", _RULE + "`;x`", _tidied(_without_parameters)),
    Mutant("free-with-an-encoded-letter", _RULE + "`%72`", _tidied(lambda path: unquote(path.replace("%25", "")))),
    Mutant("free-when-decoded-twice", _RULE + "`%252F`", _tidied(_decoded_twice)),
    Mutant("free-with-two-slashes", _RULE + "a second slash in front", _tidied(lambda path: re.sub("^//+", "/", path))),
    Mutant("free-with-a-backslash", _RULE + "a backslash", _tidied(lambda path: path.replace("\\", "/"))),
    Mutant(
        "free-in-capitals",
        _RULE + "the case of its letters",
        _tidied(lambda path: path.lower() if path.isupper() else path),
    ),
    Mutant("free-with-an-ending", _RULE + "what is cut off at its end", _tidied(lambda path: path.rstrip("%.?\0"))),
    Mutant("free-by-another-url", _RULE + "X-Original-URL", _served_at(_named_by(b"x-original-url"))),
    Mutant("free-by-method-override", _RULE + "X-HTTP-Method-Override", _served_at(_by_override)),
    Mutant("free-by-method-case", _RULE + "the case of its method", _methods_in_any_case),
)
