"""Mutants of how the agent refuses malformed requests (6.2)."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import orjson
import quart

from reference.agent import app, runtime, skills
from reference.agent.skills import Moment
from reference.protocol.message_signatures.signing import PRIVATE_KEY_MEMBERS
from reference.variants.mutants.agent_verdicts import EXPLAIN, SIGN, VERIFY, agent_mutant
from reference.variants.seams import replace
from reference.web import quart_calls
from reference.web.detail_faults import json_reply
from reference.web.errors import Refused, Unprocessable


def _instead_of_422(path: str, kind: str, status: int = 400) -> Callable[[], None]:
    """Return what refuses one kind of malformed body at one operation with another status."""

    def changed(call: Callable[..., Any]) -> Callable[..., Any]:
        async def called(*args: Any) -> Any:
            body = await quart_calls.current_body()
            if quart.request.path == path and _kind(body) == kind:
                return quart_calls.replied(json_reply({"detail": "Bad Request"}, status))
            return await call(*args)

        return called

    def apply() -> None:
        replace(runtime, "build_app", lambda build: lambda *args, **options: _wrapped(build(*args, **options), changed))

    return apply


def _wrapped(made: Any, changed: Callable[[Callable[..., Any]], Callable[..., Any]]) -> Any:
    for name, view in list(made.view_functions.items()):
        if name.startswith("POST /verify"):
            made.view_functions[name] = changed(view)
    return made


def _kind(body: bytes) -> str:
    if not body:
        return "missing"
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError:
        return "no JSON"
    return "object" if isinstance(value, dict) else "no object"


def _junk_after_json() -> None:
    """Read the first JSON text of a body, as a reader of streams does."""

    def first(read: Callable[[bytes], Any]) -> Callable[[bytes], Any]:
        def called(body: bytes) -> Any:
            try:
                return read(body)
            except Unprocessable:
                try:
                    return json.JSONDecoder().raw_decode(body.decode().lstrip())[0]
                except (ValueError, RecursionError):
                    pass
                raise

        return called

    replace(app, "read_json", first)


def _null_is_an_object(path: str) -> Callable[[], None]:
    """Return what takes `null` for an empty body of an operation, which then fails on its members with 400."""

    def apply() -> None:
        def lenient(call: Callable[..., Any]) -> Callable[..., Any]:
            def called(self: skills.Skill, body: Any, moment: Moment) -> dict[str, Any]:
                if self.path == path and body is None:
                    raise Refused(400, "bad_request", "the body is null")
                result: dict[str, Any] = call(self, body, moment)
                return result

            return called

        replace(skills.Skill, "call", lenient)

    return apply


def _extras_refused(path: str) -> Callable[[], None]:
    def apply() -> None:
        def strict(call: Callable[..., Any]) -> Callable[..., Any]:
            def called(self: skills.Skill, body: Any, moment: Moment) -> dict[str, Any]:
                unknown = set(body) - set(self.model.model_fields) if isinstance(body, dict) else set()
                if self.path == path and unknown - set(PRIVATE_KEY_MEMBERS):
                    raise Unprocessable([{"loc": ["body"], "msg": "unknown member", "type": "extra_forbidden"}])
                result: dict[str, Any] = call(self, body, moment)
                return result

            return called

        replace(skills.Skill, "call", strict)

    return apply


def _detail(change: Callable[[list[dict[str, Any]]], Any]) -> Callable[[], None]:
    """Return what changes `detail` of every 422."""

    def changed(write: Callable[..., dict[str, Any]]) -> Callable[..., dict[str, Any]]:
        return lambda self: {"detail": change(write(self)["detail"])}

    return lambda: replace(Unprocessable, "body", changed)


def _each(change: Callable[[dict[str, Any]], dict[str, Any]]) -> Callable[[], None]:
    return _detail(lambda detail: [change(item) for item in detail])


def _indexed(item: dict[str, Any]) -> dict[str, Any]:
    return {**item, "loc": [None if isinstance(part, int) else part for part in item["loc"]] + [None]}


MUTANTS = (
    agent_mutant("missing-is-400", "a missing body is 422 (6.2)", _instead_of_422(VERIFY, "missing")),
    agent_mutant("no-json-is-400", "a body that is no JSON is 422 (6.2)", _instead_of_422(VERIFY, "no JSON")),
    agent_mutant("junk-after-json", "a body that is no JSON is 422 (6.2)", _junk_after_json),
    agent_mutant("no-object-is-400", "a body that is no object is 422 (6.2)", _instead_of_422(VERIFY, "no object")),
    agent_mutant("null-is-400", "a body that is no object is 422 (6.2)", _null_is_an_object(VERIFY)),
    agent_mutant("explain-no-json-is-400", "a body that is no JSON is 422 (6.2)", _instead_of_422(EXPLAIN, "no JSON")),
    agent_mutant("sign-missing-is-400", "a missing body is 422 (6.2)", _instead_of_422(SIGN, "missing")),
    agent_mutant("extras-refused", "unknown members are tolerated (6.2)", _extras_refused(VERIFY)),
    agent_mutant("explain-extras-refused", "unknown members are tolerated (6.2)", _extras_refused(EXPLAIN)),
    agent_mutant("sign-extras-refused", "unknown members are tolerated (6.5)", _extras_refused(SIGN)),
    agent_mutant("detail-text", "detail is an array (6.2)", _detail(lambda detail: detail[0]["msg"])),
    agent_mutant("detail-empty", "detail is not empty (6.2)", _detail(lambda _: [])),
    agent_mutant(
        "loc-text", "loc is an array (6.2)", _each(lambda item: {**item, "loc": ".".join(map(str, item["loc"]))})
    ),
    agent_mutant("loc-null", "loc has strings and integers (6.2)", _each(_indexed)),
    agent_mutant(
        "msg-absent", "an item has msg (6.2)", _each(lambda item: {name: item[name] for name in ("loc", "type")})
    ),
    agent_mutant("type-number", "an item's type is a string (6.2)", _each(lambda item: {**item, "type": 1})),
)
