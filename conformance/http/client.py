"""The recording client, through which every check calls the target; each exchange is logged, with secrets redacted."""

from __future__ import annotations

import asyncio
import json
import re
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from email.utils import parsedate_to_datetime
from typing import Any, Final, Protocol, TypeAlias, runtime_checkable
from urllib.parse import urlsplit

from multidict import CIMultiDict, CIMultiDictProxy

from conformance.http.echoes import Echo, find_echoes
from conformance.http.pacing import Pacer
from conformance.http.redaction import Names
from conformance.http.workers import Workers, origin_of
from conformance.log.events import EventLog
from conformance.log.thread_ownership import Owned
from conformance.oracles.json_acceptance import by_value, refuse_constant, unique_members
from conformance.outcome import Inconclusive
from conformance.text.shell_words import Span

__all__ = [
    "LONGEST_BODY",
    "PATIENCE",
    "Answer",
    "Client",
    "Counter",
    "EchoListener",
    "JsonFault",
    "LateAnswer",
    "Names",
    "PacedTransport",
    "Permit",
    "PieceListener",
    "Recorded",
    "StreamingTransport",
    "Throttled",
    "Transport",
    "Unreachable",
    "describe_long_answer",
    "describe_silent_address",
    "encode_json",
    "read_retry_after",
]

# Header fields whose values are replaced in the log whatever they contain: a proof can be presented by any reader.
_SECRET_HEADERS = {
    "x-payment": "$X_PAYMENT",
    "payment-signature": "$PAYMENT_SIGNATURE",
    "authorization": "$AUTHORIZATION",
    "x-algo-api-token": "$ALGOD_TOKEN",
}
# The gateway and the hub issue these members. Found by pattern and not by JSON, since a target may issue them in a
# broken document, too.
_ISSUED_SECRET = re.compile(rb'"(cancel_secret|api_key|secret)"\s*:\s*"([^"\\]+)"')
_LONGEST_SHOWN_BODY = 65_536
_TOO_MANY_REQUESTS: Final = 429
_LONGEST_WAIT = 120.0
# Concurrent checks share one limit: after the wait that a 429 asks for, another check may have taken the free place.
_PATIENCE_SECONDS: Final = 180.0
_LONGEST_PAUSE: Final = 1.0
# Bytes of an answer's body that are read; no answer of the interface comes near it.
LONGEST_BODY: Final = 32 * 1024 * 1024
# Raises Inconclusive for a request (method, URL, body) that no check may send in this run.
Permit: TypeAlias = Callable[[str, str, bytes | None], None]
# Receives each echo of a request in its answer, with the answer.
EchoListener: TypeAlias = Callable[["Answer", Echo], None]
# Receives each piece of an answer's body as soon as it has arrived.
PieceListener: TypeAlias = Callable[[bytes], None]
# After so many requests without any answer in time, no more requests are sent to the address. A dead host would
# otherwise cost every check the whole time of an answer.
PATIENCE: Final = 8


class Unreachable(Exception):
    """The target gave no HTTP answer; the text says what happened.

    Attributes:
        n: Number of the exchange in the event log; 0 if nothing was recorded.
    """

    n: int = 0


class Throttled(Inconclusive):
    """The target answers 429 however long the client waits, which answers no call."""


class LateAnswer(Unreachable):
    """No answer came in time; the target may be slow, or may hang."""


def describe_long_answer() -> Unreachable:
    """Return the fault of an answer without an end, or whose end would not fit into memory."""
    return Unreachable(f"its answer is longer than {LONGEST_BODY} bytes, of which no more is read")


def describe_silent_address(address: str) -> Unreachable:
    """Return the fault that replaces a further request to an address that never answered in time."""
    return Unreachable(f"{address} let {PATIENCE} requests time out and answered none, so it is asked no more")


class JsonFault(Exception):
    """An answer's body is not the JSON it should be."""


class Recorded(Protocol):
    """Something with a place in the event log that a judgement can cite."""

    @property
    def n(self) -> int:
        """Its number there."""


@dataclass(frozen=True, slots=True)
class Answer:
    """One HTTP answer.

    Attributes:
        n: Number of the exchange in the event log.
        status: HTTP status.
        headers: Case-insensitive multi-mapping.
        body: Raw bytes.
        seconds: From the call until the answer was whole.
    """

    n: int
    status: int
    headers: CIMultiDictProxy[str]
    body: bytes
    seconds: float = 0.0

    def parse_json(self) -> Any:
        """Return the body as JSON by RFC 8259 (no NaN, no duplicate members); a whole number is an integer.

        Raises:
            JsonFault: It is not.
        """
        try:
            return json.loads(
                self.body, object_pairs_hook=unique_members, parse_constant=refuse_constant, parse_float=by_value
            )
        except (ValueError, RecursionError) as fault:
            raise JsonFault(f"the body is not JSON: {fault}") from fault

    def read_object(self) -> dict[str, Any]:
        """Return the body as a JSON object; empty if it is anything else, which a separate check judges."""
        try:
            value = self.parse_json()
        except JsonFault:
            return {}
        return value if isinstance(value, dict) else {}


def encode_json(value: Any) -> bytes:
    """Return a JSON value as the client sends it: compact, in UTF-8."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


class Transport(Protocol):
    """Sender of requests; the runner passes a paced `HttpTransport`."""

    async def send(
        self, method: str, url: str, headers: Sequence[tuple[str, str]], body: bytes | None
    ) -> tuple[int, CIMultiDictProxy[str], bytes]:
        """Return status, headers and body.

        Raises:
            Unreachable: No HTTP answer came.
        """


@runtime_checkable
class PacedTransport(Protocol):
    """A transport with a separate pace for each operation."""

    @property
    def pacer(self) -> Pacer:
        """The pacer of its operations."""


@runtime_checkable
class StreamingTransport(Protocol):
    """A transport that passes on the pieces of a body as they arrive."""

    async def stream(
        self,
        method: str,
        url: str,
        headers: Sequence[tuple[str, str]],
        body: bytes | None,
        listener: PieceListener,
    ) -> tuple[int, CIMultiDictProxy[str], bytes]:
        """Send as `Transport.send`, and call the listener with each piece of the answer's body."""


@runtime_checkable
class RememberingTransport(Protocol):
    """A transport that knows which addresses have answered in its run."""

    def has_answered(self, url: str) -> bool:
        """Return whether any answer came from the address of a URL."""


@runtime_checkable
class SingleAddressTransport(Protocol):
    """A transport that sends to one address, whatever the URL of a request."""

    @property
    def address(self) -> str:
        """The address, without a slash at its end."""


@dataclass(frozen=True, slots=True)
class _Outgoing:
    """A request that is sent, maybe several times.

    Attributes:
        method: HTTP method.
        url: Absolute URL.
        fields: Header fields in order.
        body: Raw body.
        listener: Called with each piece of the answer's body.
    """

    method: str
    url: str
    fields: list[tuple[str, str]]
    body: bytes | None
    listener: PieceListener | None

    def to_worker(self, url: str) -> _Outgoing:
        """Return the request with the same Host, sent to the URL of a worker."""
        # As a proxy in front of several workers sends it: documents and bindings name the address of the service.
        has_host = any(name.lower() == "host" for name, _ in self.fields)
        host = [] if has_host else [("host", urlsplit(self.url).netloc.rpartition("@")[2])]
        return replace(self, url=url, fields=[*host, *self.fields])


class Client:
    """The recording client of one check.

    Attributes:
        permit: May refuse a request.
        echo_listener: Receives echoes.
        workers: The services whose requests alternate between several addresses.
    """

    def __init__(self, transport: Transport, log: EventLog, check: str, names: Names, counter: Counter) -> None:
        self.permit: Permit | None = None
        self.echo_listener: EchoListener | None = None
        self._transport = transport
        self._log = log
        self._check = check
        self._counter = counter
        self._ordinals = Counter()
        self.names = names
        self.workers = Workers()
        self._repeats = 0

    def has_answered(self, url: str) -> bool:
        """Return whether the address of a URL has answered in this run; True if the transport does not record it.

        A service with several workers has answered if any of them has.
        """
        transport = self._transport
        if not isinstance(transport, RememberingTransport):
            return True
        return any(map(transport.has_answered, self.workers.list_urls(url) or (url,)))

    def without_workers(self) -> Client:
        """Return a client of the same check that sends to the address of each URL."""
        clone = self.with_transport(self._transport)
        clone.workers = Workers()
        return clone

    def with_transport(self, transport: Transport) -> Client:
        """Return a client of the same check, with the same counters, that sends over another transport."""
        clone = Client(transport, self._log, self._check, self.names, self._counter)
        clone.permit, clone.echo_listener = self.permit, self.echo_listener
        clone._ordinals, clone.workers = self._ordinals, self.workers
        return clone

    async def call(
        self,
        method: str,
        url: str,
        *,
        json_body: Any = None,
        body: bytes | None = None,
        headers: Mapping[str, str] | Sequence[tuple[str, str]] = (),
        retry: bool = False,
        patient: bool = True,
        piece_listener: PieceListener | None = None,
    ) -> Answer:
        """Send one request and record it.

        Args:
            method: HTTP method.
            url: Absolute URL, sent as it is.
            json_body: Value sent as JSON with `Content-Type: application/json`, unless `body` is given.
            body: Raw body; a Content-Type must then be among `headers` if one is wanted.
            headers: Header fields, in order, repeats allowed.
            retry: It repeats an exchange because the target asked for that.
            patient: Wait and ask again when the target answers 429 with Retry-After; a check of limits does not.
            piece_listener: Called with each piece of the answer's body as it arrives, for an answer that lasts.

        Raises:
            Unreachable: No HTTP answer came.
            Throttled: The target answers 429 without Retry-After, or for minutes; only if `patient`.
            Inconclusive: This run sends no such request.
        """
        fields = list(headers.items()) if isinstance(headers, Mapping) else list(headers)
        if body is None and json_body is not None:
            body = encode_json(json_body)
            if not any(name.lower() == "content-type" for name, _ in fields):
                fields.insert(0, ("content-type", "application/json"))
        # Before anything is recorded: a first look may send reading requests only, whatever a check asks for.
        if self.permit is not None:
            self.permit(method, url, body)
        outgoing = _Outgoing(method, url, fields, body, piece_listener)
        if not patient:
            return await self._send_once(outgoing, retry=retry)
        answer = await self._send_in_turn(outgoing, retry=retry)
        ends, pause = time.monotonic() + _PATIENCE_SECONDS, 0.0
        while answer.status == _TOO_MANY_REQUESTS:
            wait = read_retry_after(answer)
            if wait is None or time.monotonic() + wait > ends:
                raise Throttled(
                    "the target answers 429, which decides nothing: give its rate as [pace] requests_per_second, or "
                    f'that of {method} and its path in [pace.limits], such as "POST /v1/receipt/verify" = 120'
                )
            # A target may answer `Retry-After: 0` again and again; the pause keeps the client from a busy loop.
            await asyncio.sleep(max(wait, pause))
            pause = min(2 * pause or 0.02, _LONGEST_PAUSE)
            answer = await self._send_in_turn(outgoing, retry=True)
        return answer

    async def _send_in_turn(self, outgoing: _Outgoing, *, retry: bool) -> Answer:
        """Send one request when its operation's turn comes, and record what the answer shows of the pace."""
        pacer = self._transport.pacer if isinstance(self._transport, PacedTransport) else None
        if pacer is not None:
            await pacer.wait_for_turn(outgoing.method, outgoing.url)
        answer = await self._send_once(outgoing, retry=retry)
        if pacer is not None and answer.status != _TOO_MANY_REQUESTS:
            pacer.record_answer(outgoing.method, outgoing.url)
        elif pacer is not None and (wait := read_retry_after(answer)) is not None:
            pacer.slow_down(outgoing.method, outgoing.url, wait)
        return answer

    async def _send_once(self, outgoing: _Outgoing, *, retry: bool) -> Answer:
        url, fields, body = outgoing.url, outgoing.fields, outgoing.body
        n = self._counter.take()
        ordinal = self._ordinals.last if retry else self._ordinals.take()
        # Repeats alternate, too: a client that polls asks every worker.
        self._repeats = self._repeats + 1 if retry else 0
        has_choice = not isinstance(self._transport, SingleAddressTransport)
        worker = self.workers.choose(url, self._check, ordinal + self._repeats) if has_choice else None
        start = time.perf_counter()
        status, headers, content, error = 0, CIMultiDictProxy(CIMultiDict[str]()), b"", None
        try:
            status, headers, content = await self._transfer(outgoing if worker is None else outgoing.to_worker(worker))
        except Unreachable as fault:
            error, fault.n = str(fault), n
            raise
        finally:
            milliseconds = (time.perf_counter() - start) * 1000
            # Before the request and the answer are recorded, which may both contain the new secret.
            self._hide_issued_secrets(content)
            request = self._record_request(outgoing.method, url, fields, body)
            self._log.add(
                "exchange",
                n=n,
                check=self._check,
                ordinal=ordinal,
                retry=retry,
                request=request,
                response=None if status == 0 else self._record_response(status, headers, content, milliseconds),
                error=None if error is None else self.names.redact(error),
                **({} if worker is None else {"worker": self.names.redact(origin_of(worker))}),
            )
        answer = Answer(n, status, headers, content, milliseconds / 1000)
        if self.echo_listener is not None:
            elsewhere = url.encode("utf-8", "surrogatepass") + (body or b"")
            for echo in find_echoes(fields, headers, content, self.names, elsewhere):
                self.echo_listener(answer, echo)
        return answer

    async def _transfer(self, outgoing: _Outgoing) -> tuple[int, CIMultiDictProxy[str], bytes]:
        request = (outgoing.method, outgoing.url, outgoing.fields, outgoing.body)
        if outgoing.listener is None:
            return await self._transport.send(*request)
        if isinstance(self._transport, StreamingTransport):
            return await self._transport.stream(*request, outgoing.listener)
        # A transport in memory has the whole body at once.
        status, headers, content = await self._transport.send(*request)
        outgoing.listener(content)
        return status, headers, content

    def record_delivery(
        self,
        destination: str,
        request: tuple[str, str, Sequence[tuple[str, str]], bytes],
        answer: tuple[int, Sequence[tuple[str, str]], bytes] | str,
    ) -> int:
        """Record a request that the target sent to us, and return its number.

        Args:
            destination: Name of the webhook destination that it came to.
            request: Its method, the URL it came to, its header fields and its raw body.
            answer: Status, header fields and body of the suite's answer; or why there is no answer.
        """
        n = self._counter.take()
        response = None
        if not isinstance(answer, str):
            status, fields, body = answer
            response = self._record_response(status, CIMultiDictProxy(CIMultiDict(fields)), body, 0.0)
        self._log.add(
            "arrival",
            n=n,
            destination=destination,
            request=self._record_request(*request),
            response=response,
            error=answer if isinstance(answer, str) else None,
        )
        return n

    def _record_request(
        self, method: str, url: str, fields: Sequence[tuple[str, str]], body: bytes | None
    ) -> dict[str, Any]:
        redacted_fields = [(name, *self._redact_header(name, value)) for name, value in fields]
        text, in_text, whole = (None, [], True) if body is None else self._redact_body(body)
        address, in_address = self.names.redact_with_places(url)
        parts = urlsplit(url)
        in_fields = {str(place): found for place, (_, _, found) in enumerate(redacted_fields) if found}
        names = {"url": in_address, "headers": in_fields, "body": in_text}
        return {
            "method": method,
            "url": address,
            "path": self.names.redact(parts.path + (f"?{parts.query}" if parts.query else "")),
            "headers": [(_intern_text(name), _intern_text(value)) for name, value, _ in redacted_fields],
            "body": None if text is None else _intern_text(text),
            "names": {part: found for part, found in names.items() if found},
            **({} if whole else {"whole": False}),
        }

    def _redact_body(self, body: bytes) -> tuple[str, list[Span], bool]:
        """Return a body as it is recorded, the places of names in it, and whether it is complete, byte for byte."""
        try:
            text, is_text = body.decode("utf-8"), True
        except UnicodeDecodeError:
            text, is_text = body.decode("utf-8", "backslashreplace"), False
        shown_text, names, whole = self.names.redact_beginning(text, _LONGEST_SHOWN_BODY)
        return shown_text if whole else f"{shown_text}… ({len(body)} bytes)", names, whole and is_text

    def _hide_issued_secrets(self, content: bytes) -> None:
        """Redact the secrets that an answer issues."""
        for member, value in _ISSUED_SECRET.findall(content):
            self.names.key(value.decode("utf-8", "replace"), member.decode().upper(), is_given=False)

    def _redact_header(self, name: str, value: str) -> tuple[str, list[Span]]:
        text, names = self.names.redact_with_places(value)
        header_name = _SECRET_HEADERS.get(name.lower(), "")
        # A known credential has a separate name, so that the reader sees which one was sent.
        return (text, names) if text != value or not header_name else (header_name, [(0, len(header_name))])

    def _record_response(
        self, status: int, headers: CIMultiDictProxy[str], body: bytes, milliseconds: float
    ) -> dict[str, Any]:
        return {
            "status": status,
            "headers": [tuple(_intern_text(self.names.redact(text)) for text in field) for field in headers.items()],
            "body": _intern_text(self._redact_body(body)[0]),
            "body_bytes": len(body),
            "milliseconds": round(milliseconds, 3),
        }


class Counter(Owned):
    """Numbers the exchanges of a run, or of a check.

    Attributes:
        last: The last number that was taken, 0 before the first.
    """

    def __init__(self) -> None:
        self.last = 0

    def take(self) -> int:
        """Return the next number, from 1."""
        self._check_owner()
        self.last += 1
        return self.last


def read_retry_after(answer: Answer, *, longest: float = _LONGEST_WAIT) -> float | None:
    """Return the seconds that an answer asks to wait, at most `longest`, or None when it does not.

    Both forms of RFC 9110 (10.2.3) are read.
    """
    # RFC 9110 (10.2.3) allows seconds or a date. The date counts from the answer's own Date: the clock of the target
    # may differ from the clock of this machine.
    value = answer.headers.get("Retry-After", "")
    if re.fullmatch(r"[0-9]{1,9}", value):
        return min(float(value), longest)
    try:
        return_time, answer_time = (parsedate_to_datetime(text) for text in (value, answer.headers.get("Date", "")))
        return min(max((return_time - answer_time).total_seconds(), 0.0), longest)
    except (TypeError, ValueError):
        # One text is not a date, or one date has a zone and the other does not.
        return None


def _intern_text(text: str) -> str:
    """Return the interned text."""
    # Header fields and bodies repeat thousands of times in a run, and the log keeps all of them in memory.
    return sys.intern(str(text))
