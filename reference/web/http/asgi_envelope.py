"""ASGI envelope of every surface: request ids, size limits, CORS, HEAD, and refusals before routing.

A plain ASGI layer in front of the app, because oversized heads and bodies must be refused before anything reads them
(P-CV-10, P-CV-11, P-CV-16, P-CH-09).
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, MutableMapping
from collections.abc import Set as AbstractSet
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from typing import Any

import orjson

from reference.deadlines import Deadlines
from reference.web.errors import Refused
from reference.web.http.call_records import GONE, OTHER, CallRecords
from reference.web.http.metric_families import Metric
from reference.web.http.peers import Networks
from reference.web.http.trace_context import CURRENT, read_context
from reference.web.process import file_descriptors
from reference.web.process.readiness import READINESS, Readiness
from reference.web.process.shutdown import SHUTDOWN, CutShort, Interruptible, Shutdown
from reference.web.process.work_limit import WorkLimit

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
AsgiApp = Callable[[Scope, Receive, Send], Awaitable[None]]
Headers = Iterable[tuple[bytes, bytes]]

MAX_REQUEST_LINE = 8192
MAX_HEADERS = 16384
BODY_SECONDS = 30.0
RETRY_SECONDS = "5"
REQUEST_ID = "weldproof.request_id"
ANSWER_HEADERS = "weldproof.answer_headers"
# Where a gate puts the path of a call's operation, with names in place of tokens and ids, for metrics and the log.
ROUTE = "weldproof.route"
# The key in the scope's state with which the server reports broken HTTP framing; it ends the connection.
FRAMING = "weldproof.framing"
# Whether the status of the answer was sent.
_STATUS_SENT = "weldproof.begun"
# Whether a call that is at work presents a payment.
_AT_WORK = "weldproof.at_work"
_REQUEST_ID_HEADER = b"x-request-id"
_CLOSE = (b"connection", b"close")
_HEALTH_PATH = "/health"
_READY_PATH = "/health/ready"
_PROBES = {"/health/live": b'{"status":"live"}', _READY_PATH: b'{"status":"ready"}'}
_LENGTHS = frozenset({b"content-length", b"transfer-encoding"})
Gate = Callable[[Scope], Awaitable[None]]
# Returns headers and body of a refusal, None where the usual JSON is right.
RefusalRenderer = Callable[[Scope, Refused], "tuple[Mapping[str, str], bytes] | None"]


@dataclass(frozen=True, slots=True)
class Envelope:
    """The layer around one app.

    Attributes:
        app: The surface.
        body_limit: Largest body in bytes.
        always: Headers of every answer.
        preflight: Headers of an answer to OPTIONS; without any, OPTIONS goes to the app.
        body_seconds: How long a body may take to come in.
        gate: Judges a call by its head before the body is looked at, and raises `Refused`; without one, a body with a
            content coding is refused here. Headers that it puts at `ANSWER_HEADERS` of the scope are sent along.
        context: Whether a refusal's body contains its context.
        render_refusal: Renders a refusal as a page for people.
        shutdown: The end of the process, at which a call that is not answered yet gets 503 (P-CV-22).
        readiness: What must hold for `/health/ready` to answer 200 (P-CV-24).
        work: Bounds the calls that are at work at once, except `/health` (P-CV-25).
        presents_payment: Returns, from a call and its body, whether it presents a payment.
        records: Records every call (P-CV-26).
        routes: Paths under which calls are recorded; others are recorded under the `ROUTE` of the gate.
        proxies: Networks whose `X-Request-Id` is recorded.
    """

    app: AsgiApp
    body_limit: int
    always: Mapping[str, str] = field(default_factory=dict)
    preflight: Mapping[str, str] = field(default_factory=dict)
    body_seconds: float = BODY_SECONDS
    gate: Gate | None = None
    context: bool = False
    render_refusal: RefusalRenderer | None = None
    shutdown: Shutdown = field(default=SHUTDOWN, repr=False, compare=False)
    readiness: Readiness = field(default=READINESS, repr=False, compare=False)
    work: WorkLimit | None = field(default=None, repr=False, compare=False)
    presents_payment: Callable[[Scope, bytes], bool] = lambda _, __: False
    records: CallRecords = field(default_factory=CallRecords, repr=False, compare=False)
    routes: AbstractSet[str] = frozenset()
    proxies: Networks = ()
    _extra: tuple[tuple[bytes, bytes], ...] = field(init=False)
    _deadlines: Deadlines = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Prepare the headers of every answer and the deadline of bodies."""
        extra = tuple((name.lower().encode(), value.encode()) for name, value in self.always.items())
        object.__setattr__(self, "_extra", extra)
        object.__setattr__(self, "_deadlines", Deadlines(self.body_seconds))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one ASGI event."""
        if scope["type"] == "websocket":
            # No surface has WebSockets: this message makes the server refuse the handshake.
            await send({"type": "websocket.close"})
            return
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        begun = time.perf_counter()
        # Always our own: an id from the caller could be forged into the logs.
        request_id = "req_" + secrets.token_bytes(16).hex()
        scope[REQUEST_ID] = request_id
        peer = scope.get("client") or ("", 0)
        context = read_context(request_id, scope["headers"], str(peer[0]), self.proxies)
        CURRENT.set(context)

        def record(status: int, body: bytes) -> None:
            path = scope["path"]
            route = path if path in self.routes or path in _PROBES else scope.get(ROUTE, OTHER)
            self.records.add(context, scope["method"], route, status, body, begun=begun)

        # Every answer passes here, also refusals, so all have a request id and the common headers.
        answer = self._wrap_send(send, request_id, scope, record)
        try:
            with Interruptible(self.shutdown):
                await self._respond(scope, receive, answer)
        except CutShort:
            if not scope.get(_STATUS_SENT):
                await self._refuse(scope, answer, _shutting_down())
        finally:
            if not scope.get(_STATUS_SENT):
                record(GONE, b"")

    def metrics(self) -> Iterable[Metric]:
        """Return the metrics of the calls that passed here."""
        return self.records.metrics(self.work)

    async def _respond(self, scope: Scope, receive: Receive, answer: Send) -> None:
        try:
            # Before every limit: a probe that is refused for its rate would take a process out that works.
            if scope["method"] in {"GET", "HEAD"} and scope["path"] in _PROBES:
                await self._answer_probe(scope, answer)
                return
            await self._judge(scope)
        except Refused as refusal:
            await self._refuse(scope, answer, refusal)
            return
        if self.preflight and scope["method"] == "OPTIONS":
            await _send(answer, 204, self.preflight.items(), b"")
        else:
            await self._serve(scope, receive, answer)

    async def _answer_probe(self, scope: Scope, answer: Send) -> None:
        """Answer a probe of liveness or readiness (P-CV-24).

        Raises:
            Refused: 503; the process is alive and not ready.
        """
        _refuse_framing(scope)
        if scope["path"] == _READY_PATH:
            file_descriptors.refuse_health()
            fault = await self.readiness.find_fault()
            if fault is not None:
                raise Refused(503, "not_ready", f"not ready: {fault}", {"Retry-After": RETRY_SECONDS})
        fields = {"content-type": "application/json", "cache-control": "no-store"}
        await _send(answer, 200, fields.items(), _PROBES[scope["path"]])

    async def _judge(self, scope: Scope) -> None:
        _refuse_framing(scope)
        # First, so that a load balancer takes this process out before calls fail for want of descriptors.
        if scope["path"] == _HEALTH_PATH:
            file_descriptors.refuse_health()
        target = len(scope.get("raw_path") or scope["path"].encode()) + len(scope.get("query_string", b""))
        if len(scope["method"]) + target + len(" ? HTTP/1.1") > MAX_REQUEST_LINE:
            raise _too_long(414, "uri_too_long", "the request line is", MAX_REQUEST_LINE)
        if sum([len(name) + len(value) + 4 for name, value in scope["headers"]]) > MAX_HEADERS:
            raise _too_long(431, "headers_too_large", "the headers are", MAX_HEADERS)
        # Servers decode other bytes differently, and the query is part of the request hash (P-RH-01).
        if not scope["query_string"].isascii():
            raise Refused(400, "invalid_request", "write the query in ASCII, everything else percent-encoded")
        headers = dict(scope["headers"])
        if b"transfer-encoding" in headers:
            _refuse_two_lengths(headers, scope)
        if self.gate is not None:
            await self.gate(scope)
        elif headers.get(b"content-encoding", b"identity").strip().lower() != b"identity":
            raise Refused(415, "unsupported_media_type", "send the body without a content coding")
        length = headers.get(b"content-length", b"0")
        # By its announced length, before a byte of it is read; a body without one is counted while it is read
        # (P-CV-16).
        if length.isdigit() and int(length) > self.body_limit:
            raise self._too_large()

    def _too_large(self) -> Refused:
        return _too_long(413, "payload_too_large", "the body is", self.body_limit)

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            with self._deadlines.start() if _has_body(scope) else nullcontext():
                body = await _read_body(receive, self.body_limit)
        except TimeoutError:
            await self._refuse(scope, send, _too_slow())
            return
        try:
            _refuse_framing(scope)
        except Refused as refusal:
            await self._refuse(scope, send, refusal)
            return
        if body is None:
            await self._refuse(scope, send, self._too_large())
            return
        is_sent = False

        async def replay() -> Message:
            nonlocal is_sent
            if is_sent:
                return await receive()
            is_sent = True
            return {"type": "http.request", "body": body, "more_body": False}

        # The app receives the whole body at once: it was read here, within its limit and its time.
        if self.work is None or scope["path"] == _HEALTH_PATH:
            await self.app(scope, replay, send)
            return
        # Only now, because a client that sends its body slowly must not hold a place.
        is_paid = self.presents_payment(scope, body)
        try:
            self.work.begin(is_paid=is_paid)
        except Refused as refusal:
            await self._refuse(scope, send, refusal, is_read=True)
            return
        scope[_AT_WORK] = is_paid
        try:
            # Calls that arrived together are all counted before the first is answered. Otherwise those that never wait
            # would pile up in the event loop, where no bound sees them.
            await asyncio.sleep(0)
            await self.app(scope, replay, send)
        finally:
            self._end_work(scope)

    def _end_work(self, scope: Scope) -> None:
        """End the work of a call, if it is at work."""
        is_paid = scope.pop(_AT_WORK, None)
        if is_paid is not None and self.work is not None:
            self.work.end(is_paid=is_paid)

    async def _refuse(self, scope: Scope, send: Send, refusal: Refused, *, is_read: bool = False) -> None:
        # A body that was not read is in the way of the connection's next request.
        is_unread = not is_read and _has_body(scope)
        close_header = {"connection": "close"} if is_unread or _framing_fault(scope) is not None else {}
        page = None if self.render_refusal is None else self.render_refusal(scope, refusal)
        if page is None:
            body = orjson.dumps(refusal.body(scope[REQUEST_ID], context=self.context))
            page = {"content-type": "application/json"}, body
        headers, body = page
        await _send(send, refusal.status, {**headers, **close_header, **refusal.headers}.items(), body)

    def _wrap_send(self, send: Send, request_id: str, scope: Scope, record: Callable[[int, bytes], None]) -> Send:
        head = scope["method"] == "HEAD"
        status = 0  # of an answer whose body has not begun

        async def send_completed(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                scope[_STATUS_SENT] = True
                status = message["status"]
                # A page that follows a link holds its answer open for minutes, which is no work.
                self._end_work(scope)
                message = {**message, "headers": self._complete_headers(message["headers"], request_id, scope)}
            elif message["type"] == "http.response.body":
                if status:
                    record(status, message.get("body", b""))
                    status = 0
                # HEAD is GET without the body; the headers stay those of GET (RFC 9110, 9.3.2).
                if head:
                    message = {**message, "body": b""}
            await send(message)

        return send_completed

    def _complete_headers(self, headers: Headers, request_id: str, scope: Scope) -> list[tuple[bytes, bytes]]:
        """Return an answer's headers with those that every answer has and this one lacks."""
        own = (_REQUEST_ID_HEADER, request_id.encode())
        present = [name for name, _ in headers]
        answer_headers = scope.get(ANSWER_HEADERS, {}).items()
        further = [(name.lower().encode(), value.encode()) for name, value in answer_headers]
        # A process that ends closes its connections. A client that does not know would lose its next call.
        close_header = (_CLOSE,) if self.shutdown.is_draining else ()
        return [
            *headers,
            *[header for header in (own, *self._extra, *further, *close_header) if header[0] not in present],
        ]


def _framing_fault(scope: Scope) -> Refused | None:
    state = scope.get("state")
    fault: Refused | None = state.get(FRAMING) if state else None
    return fault


def _refuse_framing(scope: Scope) -> None:
    # The server reports faults of framing through the scope, so that the refusal has the surface's own form.
    fault = _framing_fault(scope)
    if fault is not None:
        # A copy: the server keeps one object for each fault and raises it again.
        raise replace(fault)


def _refuse_two_lengths(headers: Mapping[bytes, bytes], scope: Scope) -> None:
    """Refuse a message that two readers may end at different places; so requests are smuggled (RFC 9112, 6.1)."""
    if b"content-length" in headers:
        raise Refused(400, "invalid_request", "send Content-Length or Transfer-Encoding, not both")
    if scope.get("http_version") == "1.0":
        raise Refused(400, "invalid_request", "HTTP/1.0 has no Transfer-Encoding")


def _has_body(scope: Scope) -> bool:
    for name, value in scope["headers"]:  # noqa: SIM110 - half the time of any()
        if name in _LENGTHS and value != b"0":
            return True
    return False


def _too_long(status: int, code: str, subject: str, limit: int) -> Refused:
    return Refused(status, code, f"{subject} over {limit} bytes", context={"limit": limit})


def _shutting_down() -> Refused:
    sentence = "this server is shutting down; send the same request again, with the same payment if it was paid"
    return Refused(503, "shutting_down", sentence, {"Retry-After": RETRY_SECONDS})


def _too_slow() -> Refused:
    return Refused(408, "request_timeout", "the body did not come in time; send it again")


async def _read_body(receive: Receive, limit: int) -> bytes | None:
    """Return the whole body, or None when it is over the limit; never holds more than that."""
    parts: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return b"".join(parts)
        # Counted before it is kept, so that no more than the limit is ever held.
        size += len(message.get("body", b""))
        if size > limit:
            return None
        parts.append(message.get("body", b""))
        if not message.get("more_body", False):
            return b"".join(parts)


async def _send(send: Send, status: int, headers: Iterable[tuple[str, str]], body: bytes) -> None:
    fields = [(name.lower().encode(), value.encode()) for name, value in headers]
    # With a length the connection can be reused; without one the server would have to close it or send chunks.
    fields.append((b"content-length", str(len(body)).encode()))
    await send({"type": "http.response.start", "status": status, "headers": fields})
    await send({"type": "http.response.body", "body": body})
