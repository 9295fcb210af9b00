"""HTTP/1.1 only, on uvicorn, parsed in C by httptools; its refusals are the same as on Hypercorn.

uvicorn answers unparsable requests by itself, in plain text. Here the app answers: it finds the fault in the scope, and
has the surface's error body and request id. At an upgrade httptools hands the connection over before the body is read.
Here such a head is parsed again without the field, which ignores the upgrade (RFC 9110, 7.8).
"""

from __future__ import annotations

import asyncio
import re
from enum import Enum, auto
from typing import Any
from urllib.parse import unquote

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from reference.web.errors import Refused
from reference.web.http.asgi_envelope import FRAMING
from reference.web.servers.framing import (
    CODING_UNKNOWN,
    FIRST_REQUEST_SECONDS,
    HEAD_LIMIT,
    HEAD_TOO_LARGE,
    NOT_FRAMED,
    OTHER_VERSION,
    Head,
    judge_head,
)

# The parser knows a list of methods and stops at any other. The app refuses those, so POST replaces them in the parser.
_METHOD = re.compile(rb"(?:\r\n)*([!#$%&'*+.^_`|~0-9A-Za-z-]+)(?= )")
_STAND_IN = b"POST"
# The parser ends no line with a bare LF (RFC 9112, 2.2), and yet skips one before a request.
_BARE_LINE_FEED = re.compile(rb"(?:\r\n)*\n")
# Faults of the parser by its own sentences; all others are broken frames.
_FAULTS = {
    "Invalid HTTP version": OTHER_VERSION,
    "Pause on PRI/Upgrade": OTHER_VERSION,
    "Invalid `Transfer-Encoding` header value": CODING_UNKNOWN,
}


class _Place(Enum):
    """Where in a connection the parser is."""

    BETWEEN = auto()
    HEAD = auto()
    BODY = auto()


class _Ended(Exception):
    """The rest of the connection is not read."""


class FastHttp1(HttpToolsProtocol):
    """One connection."""

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        """Take what uvicorn hands to a connection."""
        super().__init__(*arguments, **keywords)
        self._place = _Place.BETWEEN
        self._method = b""  # the one that the parser did not know, empty for one that it does
        self._has_request = False
        self._messages_begun = 0
        self._unfinished = 0  # bytes since something was whole
        self._after_cr = False  # between two messages, whether a CR came last
        self._is_upgrade = False
        self._is_over = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin; every head must arrive in time, also the first one."""
        super().connection_made(transport)
        self.timeout_keep_alive_task = self.loop.call_later(self.timeout_keep_alive, self.timeout_keep_alive_handler)

    def shutdown(self) -> None:
        """End the connection with the process; one without a request waits for its first one for a short time."""
        # A proxy that has just connected has sent its request already. To end the connection would lose the call.
        seconds = 0.0 if self._has_request else FIRST_REQUEST_SECONDS
        self.loop.call_later(seconds, super().shutdown)

    def data_received(self, data: bytes) -> None:
        """Read received bytes."""
        while data and not self._is_over and self.parser is not None:
            data = self._feed(data)

    def _feed(self, data: bytes) -> bytes:
        """Feed the parser; return the bytes that a new parser must read."""
        was_between, self._messages_begun = self._place is _Place.BETWEEN, 0
        self._unfinished += len(data)
        # The parser skips a bare LF before a request. A proxy in front may count it as an empty request, and so see
        # other requests than this server.
        if was_between and _BARE_LINE_FEED.match(b"\r" + data if self._after_cr else data):
            self._break(NOT_FRAMED)
            return b""
        self._after_cr = data.endswith(b"\r")
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            if not self._is_over:
                return self._remove_upgrade() + data[upgrade.args[0] :]
        except httptools.HttpParserError as fault:
            if self._is_over:
                return b""
            unknown = (
                isinstance(fault, httptools.HttpParserInvalidMethodError) and was_between and self._messages_begun == 1
            )
            method_match = _METHOD.match(data) if unknown else None
            if method_match is not None:
                self._method, self.parser = method_match[1], httptools.HttpRequestParser(self)
                return _STAND_IN + data[method_match.end() :]
            self._break(_FAULTS.get(str(fault), NOT_FRAMED))
        else:
            if self._place is not _Place.BETWEEN and self._unfinished > HEAD_LIMIT and not self._is_over:
                self._break(HEAD_TOO_LARGE)
        return b""

    def _remove_upgrade(self) -> bytes:
        """Return the head without the upgrade field, for a new parser."""
        self._is_upgrade = False
        version, method = self.parser.get_http_version().encode(), self.parser.get_method()
        fields = b"".join(b"%b: %b\r\n" % (name, value) for name, value in self.headers if name != b"upgrade")
        self.parser = httptools.HttpRequestParser(self)
        return b"%b %b HTTP/%b\r\n%b\r\n" % (method, self.url, version, fields)

    # Called by the parser.

    def on_message_begin(self) -> None:
        """Begin a head."""
        if self._is_over:
            raise _Ended
        super().on_message_begin()
        self._messages_begun += 1
        self._has_request = True
        self._place = _Place.HEAD

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header field; trailer fields are ignored."""
        if self._place is _Place.HEAD:
            super().on_header(name, value.rstrip(b" \t"))

    def on_headers_complete(self) -> None:
        """Start the app, or let it refuse."""
        self._unfinished = 0
        self._unset_keepalive_if_required()
        version, method = self.parser.get_http_version(), self._method or self.parser.get_method()
        self._is_upgrade = self.parser.should_upgrade() and method != b"CONNECT"
        if self._is_upgrade:
            return
        self._method, self._place = b"", _Place.BODY
        head = judge_head(method, self.url, version.encode(), self.headers)
        fault = _find_field_fault(self.headers, version) or head.fault
        self._open(method.decode("ascii"), version, head, fault)
        if fault is not None:
            raise _Ended

    def on_body(self, body: bytes) -> None:
        """Pass on a part of the body."""
        self._unfinished = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        """End a message; bytes after the last one are ignored."""
        self._unfinished = 0
        if self._is_upgrade:
            return
        self._place = _Place.BETWEEN
        self._is_over = not self.cycle.keep_alive
        super().on_message_complete()

    # Refusals.

    def _break(self, fault: Refused) -> None:
        """Let the app refuse what cannot be parsed; the connection ends with its answer."""
        if self._place is not _Place.BODY:
            self._unset_keepalive_if_required()
            super().on_message_begin()
            self._open("GET", "1.1", Head(b"/", [], fault), fault)
            return
        # The reader of the body finds the fault at its end.
        self._is_over = True
        if self.cycle.response_complete:
            self.transport.close()
            return
        self.cycle.scope["state"][FRAMING] = fault
        self._end(self.cycle)

    def _open(self, method: str, version: str, head: Head, fault: Refused | None) -> None:
        path, _, query = head.target.partition(b"?")
        self.scope["method"], self.scope["http_version"], self.scope["headers"] = method, version, head.headers
        self.scope["path"], self.scope["raw_path"], self.scope["query_string"] = (
            unquote(path.decode("ascii")),
            path,
            query,
        )
        if fault is not None:
            self.scope.setdefault("state", {})[FRAMING] = fault
        cycle = RequestResponseCycle(
            scope=self.scope,
            transport=self.transport,
            flow=self.flow,
            logger=self.logger,
            access_logger=self.access_logger,
            access_log=self.access_log,
            default_headers=self.server_state.default_headers,
            message_event=asyncio.Event(),
            expect_100_continue=self.expect_100_continue and version != "1.0",
            keep_alive=version == "1.1" and self.parser.should_keep_alive(),
            on_response=self.on_response_complete,
        )
        if fault is not None:
            self._is_over = True
            self._end(cycle)
        before, self.cycle = self.cycle, cycle
        if before is None or before.response_complete:
            self._start_asgi_task(cycle, self.app)
        else:
            # Pipelined requests are answered in their order (RFC 9112, 9.3.2).
            self.flow.pause_reading()
            self.pipeline.appendleft((cycle, self.app))

    @staticmethod
    def _end(cycle: RequestResponseCycle) -> None:
        cycle.keep_alive = cycle.more_body = False
        cycle.message_event.set()


def _find_field_fault(headers: list[tuple[bytes, bytes]], version: str) -> Refused | None:
    """Return the fault of fields that end or name a message; the parser accepts some faults."""
    hosts = 0
    for name, value in headers:
        if name == b"host":
            hosts += 1
        elif name == b"transfer-encoding" and value.lower() != b"chunked":
            return CODING_UNKNOWN
    return NOT_FRAMED if hosts > 1 or (hosts == 0 and version == "1.1") else None
