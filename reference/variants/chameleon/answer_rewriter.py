"""The ASGI layer around a service: it buffers each answer, edits it, and sends it in another notation."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, MutableMapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

import orjson

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
AsgiApp = Callable[[Scope, Receive, Send], Awaitable[None]]

ABSENT = object()


@dataclass(frozen=True, slots=True)
class ReceivedRequest:
    """The request that is being served, as it came.

    Attributes:
        method: Its method.
        path: Its path.
        query: Raw query without `?`.
        parts: The parts of its body that were read so far.
        headers: Its fields, by name in lower case.
    """

    method: str
    path: str
    query: str
    parts: list[bytes] = field(default_factory=list)
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def body(self) -> bytes:
        """The body as far as it was read."""
        return b"".join(self.parts)


# A context variable, because some seams are deep inside the service and have no request at hand.
CURRENT_REQUEST: ContextVar[ReceivedRequest] = ContextVar("asked")


@dataclass(slots=True)
class Answer:
    """An answer before it is sent.

    Attributes:
        request: The request that it answers.
        status: HTTP status.
        headers: Fields as (name, value).
        body: Its bytes; None when it is a stream, of which only the head can be edited.
        document: The body as JSON, `ABSENT` if it is not JSON.
    """

    request: ReceivedRequest
    status: int
    headers: list[tuple[str, str]]
    body: bytes | None
    document: Any = ABSENT

    def header(self, name: str) -> str | None:
        """Return the first value of a header."""
        return next((value for one, value in self.headers if one.lower() == name.lower()), None)

    def set_header(self, name: str, value: str | None) -> None:
        """Set a header, or remove it with None."""
        self.headers = [(one, told) for one, told in self.headers if one.lower() != name.lower()]
        if value is not None:
            self.headers.append((name, value))

    @property
    def media_type(self) -> str:
        """The media type without parameters, in lower case."""
        return (self.header("content-type") or "").partition(";")[0].strip().lower()


Edit = Callable[[Answer], None]


@dataclass(frozen=True, slots=True)
class Wire:
    """The ASGI layer.

    Attributes:
        app: The service.
        before: Edits of the answer's JSON and head, in order.
        encode: The writer of JSON.
        after: Edits of the head once the body is written.
        elsewhere: A function from the requested path to the service's path.
        own: A function that returns an answer of the layer itself, or None.
    """

    app: AsgiApp
    before: Sequence[Edit]
    encode: Callable[[Any], bytes]
    after: Sequence[Edit]
    elsewhere: Callable[[str], str] = str
    own: Callable[[ReceivedRequest], Answer | None] = lambda _: None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one ASGI event."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        fields = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope.get("headers", ())}
        query = scope.get("query_string", b"").decode("latin-1")
        request = ReceivedRequest(scope["method"], scope["path"], query, headers=fields)
        own_answer = self.own(request)
        if own_answer is not None:
            await _send_whole(send, self._apply_edits(own_answer))
            return
        CURRENT_REQUEST.set(request)
        path = self.elsewhere(request.path)
        if path != request.path:
            scope = {**scope, "path": path, "raw_path": path.encode()}

        async def receive_and_record() -> Message:
            message = await receive()
            request.parts.append(message.get("body", b""))
            return message

        await self.app(scope, receive_and_record, _BufferedAnswer(self, request, send))

    def _apply_edits(self, answer: Answer) -> Answer:
        # JSON is edited before the body is written. Headers that depend on the body, such as a repeated challenge,
        # are edited after.
        for edit in self.before:
            edit(answer)
        if answer.document is not ABSENT:
            answer.body = self.encode(answer.document)
        for edit in self.after:
            edit(answer)
        return answer


class _BufferedAnswer:
    """Buffers an answer until it is complete; of a stream, only the head is edited."""

    def __init__(self, wire: Wire, request: ReceivedRequest, send: Send) -> None:
        self._wire = wire
        self._request = request
        self._send = send
        self._start: Message = {}
        self._parts: list[bytes] = []
        self._streams = False

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            await self._begin(message)
        elif message["type"] != "http.response.body" or self._streams:
            await self._send(message)
        else:
            self._parts.append(message.get("body", b""))
            if not message.get("more_body", False):
                await _send_whole(self._send, self._wire._apply_edits(self._answer(b"".join(self._parts))))  # noqa: SLF001 - one pair

    async def _begin(self, message: Message) -> None:
        self._start = message
        answer = self._answer(None)
        # A stream has no end to wait for. Its head is edited and its body passes unchanged.
        if answer.media_type == "text/event-stream":
            self._streams = True
            edited_answer = self._wire._apply_edits(answer)  # noqa: SLF001 - one pair
            await self._send({**message, "headers": _raw(edited_answer.headers)})

    def _answer(self, body: bytes | None) -> Answer:
        headers = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in self._start["headers"]]
        answer = Answer(self._request, self._start["status"], headers, body)
        if body and (answer.media_type == "application/json" or answer.media_type.endswith("+json")):
            answer.document = orjson.loads(body)
        return answer


def _raw(headers: Sequence[tuple[str, str]]) -> list[tuple[bytes, bytes]]:
    return [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers]


async def _send_whole(send: Send, answer: Answer) -> None:
    body = answer.body or b""
    # RFC 9110: a HEAD answer, a 204 and a 304 have no content. A wrong Content-Length there breaks clients.
    bodiless = answer.request.method == "HEAD" or answer.status in {204, 304}
    answer.set_header("content-length", None if bodiless else str(len(body)))
    await send({"type": "http.response.start", "status": answer.status, "headers": _raw(answer.headers)})
    await send({"type": "http.response.body", "body": b"" if bodiless else body})


def change_texts(value: Any, change: Callable[[str], str]) -> Any:
    """Return a JSON value with every text in it changed; member names stay."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, Mapping):
        return {name: change_texts(member, change) for name, member in value.items()}
    return [change_texts(member, change) for member in value] if isinstance(value, list) else value


def encoder(style: str) -> Callable[[Any], bytes]:
    """Return a writer of JSON: `compact`, `indented`, `reversed`, `escaped`, or with `fractions` of zero."""
    import json  # noqa: PLC0415 - its writer escapes and indents as orjson does not

    if style == "indented":
        return lambda value: json.dumps(value, indent=2, ensure_ascii=False).encode() + b"\n"
    if style == "reversed":
        return lambda value: json.dumps(_reverse_members(value), separators=(", ", ": "), ensure_ascii=False).encode()
    if style == "escaped":
        return lambda value: json.dumps(value, sort_keys=True).replace("/", "\\/").encode()
    if style == "fractions":
        return lambda value: json.dumps(_fractions(value), separators=(",", ":"), ensure_ascii=False).encode()
    return lambda value: json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


def _fractions(value: Any) -> Any:
    """Return a value whose integers are written with a point, as languages with one type of number write them."""
    if isinstance(value, Mapping):
        return {name: _fractions(member) for name, member in value.items()}
    if isinstance(value, list):
        return [_fractions(member) for member in value]
    # Beyond 2^53 a float would be another number.
    whole = isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**53
    return float(value) if whole else value


def _reverse_members(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _reverse_members(member) for name, member in reversed(list(value.items()))}
    return [_reverse_members(member) for member in value] if isinstance(value, list) else value
