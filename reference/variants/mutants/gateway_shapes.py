"""Mutants of what endpoints share: hostile input, secrets told back, JSON to the letter, the contract (1.1, 3.2)."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from pydantic import ValidationError

from reference.gateway import calls, faults
from reference.gateway.calls import Call, Calls, Operation
from reference.gateway.checkout.actions import Actions, CancelRequest
from reference.gateway.documents import Documents
from reference.gateway.resources import ResourceRecords
from reference.protocol.canonical_json import NotCanonical
from reference.store.links import Link, Links
from reference.variants.mutants.mutant import Mutant
from reference.variants.seams import replace
from reference.web.envelope import Envelope, Message, Scope, Send
from reference.web.errors import Refused, Unprocessable
from reference.web.exchange import JSON, Reply, Request

_MANY_DIGITS = re.compile(rb"[0-9]{4301}")
_DEEP = 1000


# --- hostile input


def _reading(trip: Callable[[bytes], None]) -> Callable[[], None]:
    """Return what trips over some bodies before anything judges them."""

    def tripping(read: Callable[..., Any]) -> Callable[..., Any]:
        def body(request: Request, **options: Any) -> Any:
            trip(request.body)
            return read(request, **options)

        return body

    return lambda: replace(calls, "body_of", tripping)


def _decode(body: bytes) -> None:
    body.decode("utf-8")


def _recurse(body: bytes) -> None:
    if body.count(b"[") > _DEEP:
        raise RecursionError("maximum recursion depth exceeded")


def _count_digits(body: bytes) -> None:
    found = _MANY_DIGITS.search(body)
    if found is not None:
        int(found[0])


def _surrogates_unplanned() -> None:
    def unplanned(read: Callable[..., Any]) -> Callable[..., Any]:
        def body(request: Request, **options: Any) -> Any:
            try:
                return read(request, **options)
            except Unprocessable as fault:
                if isinstance(fault.__cause__, NotCanonical):
                    raise fault.__cause__ from None
                raise

        return body

    replace(calls, "body_of", unplanned)


def _tokens_in_ascii() -> None:
    def encoding(find: Callable[..., Any]) -> Callable[..., Any]:
        async def by_token(self: Links, token: str) -> Link | None:
            found: Link | None = await find(self, token.encode("ascii").decode())
            return found

        return by_token

    replace(Links, "by_token", encoding)


# --- secrets told back


def _key_told_back() -> None:
    def telling(admit: Callable[..., Any]) -> Callable[..., Any]:
        async def admitted(self: Calls, operation: Operation, scope: Scope, request: Request) -> Any:
            try:
                return await admit(self, operation, scope, request)
            except Refused as fault:
                fault.message = f"{fault.message}; you sent {request.one('authorization')}"
                raise

        return admitted

    replace(Calls, "_admitted", telling)


def _input_told_back() -> None:
    def telling(describe: Callable[..., Any]) -> Callable[..., Any]:
        def of(fault: ValidationError) -> Unprocessable:
            made: Unprocessable = describe(fault)
            told = fault.errors(include_url=False, include_context=False, include_input=True)
            quoted = [{**one, "input": repr(item["input"])} for one, item in zip(made.detail, told, strict=True)]
            return Unprocessable(quoted)

        return of

    replace(Unprocessable, "of", telling)


def _cancel_secret_told_back() -> None:
    def telling(cancel: Callable[..., Any]) -> Callable[..., Any]:
        async def cancelled(self: Actions, link: Link, request: CancelRequest) -> dict[str, str]:
            try:
                answer: dict[str, str] = await cancel(self, link, request)
            except Refused as fault:
                fault.message = f"{fault.message}: {request.cancel_secret}"
                raise
            return answer

        return cancelled

    replace(Actions, "cancel", telling)


# --- JSON to the letter, and the contract


def _health_told_twice() -> None:
    def twice(tell: Callable[..., Any]) -> Callable[..., Any]:
        async def health(self: Documents, call: Call) -> Reply:
            reply: Reply = await tell(self, call)
            return Reply(reply.status, b'{"status":"ok","status":"ok"}', reply.headers)

        return health

    replace(Documents, "health", twice)


def _refusals_as_text() -> None:
    def as_text(write: Callable[..., Any]) -> Callable[..., Any]:
        def reply(status: int, *arguments: Any) -> Reply:
            made: Reply = write(status, *arguments)
            kind = "text/plain" if status == 422 else JSON
            return Reply(made.status, made.body, {**made.headers, "Content-Type": kind})

        return reply

    replace(faults, "json_reply", as_text)


def _refusals_untyped() -> None:
    def untyped(refuse: Callable[..., Any]) -> Callable[..., Any]:
        async def refused(self: Envelope, scope: Scope, send: Send, refusal: Refused) -> None:
            async def bare(message: Message) -> None:
                if message["type"] == "http.response.start":
                    kept = [(name, value) for name, value in message["headers"] if name.lower() != b"content-type"]
                    message = {**message, "headers": kept}
                await send(message)

            await refuse(self, scope, bare, refusal)

        return refused

    replace(Envelope, "_refuse", untyped)


def _gone_for_not_found() -> None:
    def gone(show: Callable[..., Any]) -> Callable[..., Any]:
        async def shown(self: ResourceRecords, call: Call) -> Reply:
            try:
                reply: Reply = await show(self, call)
            except Refused as fault:
                fault.status = 410
                raise
            return reply

        return shown

    replace(ResourceRecords, "show", gone)


def _time_as_number() -> None:
    def numbered(record: Callable[..., Any]) -> Callable[..., Any]:
        def recorded(self: ResourceRecords, request: Any) -> dict[str, Any]:
            return {**record(self, request), "created_at": self._clock.now()}

        return recorded

    replace(ResourceRecords, "_record", numbered)


def _mutant(name: str, rule: str, apply: Callable[[], None]) -> Mutant:
    return Mutant(name, rule, apply, surface="gateway")


MUTANTS = (
    _mutant("broken-utf8-crashes", "bad UTF-8 is not JSON, never 5xx (P-CV-02)", _reading(_decode)),
    _mutant("deep-json-crashes", "more than 32 levels are not JSON, never 5xx (P-CV-02)", _reading(_recurse)),
    _mutant("many-digits-crash", "an integer of any length is read, never 5xx (P-CV-20)", _reading(_count_digits)),
    _mutant("surrogate-crashes", "what JCS refuses is a schema fault, never 500 (P-CV-20)", _surrogates_unplanned),
    _mutant("odd-token-crashes", "a token of any text is unknown, never 5xx (P-CK-03)", _tokens_in_ascii),
    _mutant("key-told-back", "a key that was sent stands in no answer (P-CV-12)", _key_told_back),
    _mutant("input-told-back", "detail has no input member (P-GW-02)", _input_told_back),
    _mutant(
        "cancel-secret-told-back",
        "a cancel secret that was sent stands in no answer (P-CV-12)",
        _cancel_secret_told_back,
    ),
    _mutant("health-told-twice", "no answer names a member twice (P-CV-01)", _health_told_twice),
    _mutant("refusals-as-text", "answers in JSON say application/json (P-CV-03)", _refusals_as_text),
    _mutant("refusals-untyped", "what no operation refuses says application/json, too (P-CV-03)", _refusals_untyped),
    _mutant("gone-for-not-found", "a resource that is not there answers 404 (3.2)", _gone_for_not_found),
    _mutant("time-as-number", "times in text are YYYY-MM-DDThh:mm:ssZ (P-CV-04)", _time_as_number),
)
