"""Trace context: the ids by which an operator follows a call through several programs (P-CV-26).

`traceparent` is that of W3C Trace Context. It has fixed hexadecimal fields, so it is taken from any caller. An
`X-Request-Id` is free text, so it is taken from trusted proxies only, and it never replaces the id of the answer.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from reference.fast_records import record
from reference.web.http.peers import Networks, is_proxy

if TYPE_CHECKING:
    import aiohttp

_TRACEPARENT = re.compile(rb"([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?")
_PROXY_ID = re.compile(rb"[A-Za-z0-9._-]{1,64}")
_FIELDS = frozenset({b"traceparent", b"x-request-id"})
_NO_TRACE, _NO_PARENT = b"0" * 32, b"0" * 16


@record
class TraceContext:
    """The ids of one call.

    Attributes:
        request_id: The id of the answer, `req_` and 32 hexadecimal digits.
        trace_id: The trace that the caller named, 32 hexadecimal digits, or the empty text.
        parent_id: The caller's part of it, 16 hexadecimal digits, or the empty text.
        flags: The caller's flags, two hexadecimal digits, or the empty text.
        proxy_request_id: The id that a trusted proxy gave to the call, or the empty text.
    """

    request_id: str
    trace_id: str = ""
    parent_id: str = ""
    flags: str = ""
    proxy_request_id: str = ""

    @property
    def span_id(self) -> str:
        """This call's part of the trace, 16 hexadecimal digits: the first ones of the request id."""
        return self.request_id[4:20]

    def headers(self) -> dict[str, str]:
        """Return the header fields that calls to other services carry."""
        headers = {"X-Request-Id": self.request_id}
        if self.trace_id:
            headers["traceparent"] = f"00-{self.trace_id}-{self.span_id}-{self.flags}"
        return headers

    def members(self) -> dict[str, str]:
        """Return what a line of the log contains of it."""
        members = {"request_id": self.request_id}
        if self.trace_id:
            members |= {"trace_id": self.trace_id, "parent_id": self.parent_id, "span_id": self.span_id}
        if self.proxy_request_id:
            members["proxy_request_id"] = self.proxy_request_id
        return members


CURRENT: ContextVar[TraceContext | None] = ContextVar("trace_context", default=None)
"""The context of the call that is being answered."""


def read_context(request_id: str, headers: Sequence[tuple[bytes, bytes]], peer: str, proxies: Networks) -> TraceContext:
    """Return the context of a call.

    Args:
        request_id: The id of its answer.
        headers: Its header fields, names in lower case.
        peer: Address of the other end of the connection.
        proxies: Networks whose `X-Request-Id` is taken.
    """
    named = [header for header in headers if header[0] in _FIELDS]
    if not named:  # the usual case
        return TraceContext(request_id)
    parents = [value for name, value in named if name == b"traceparent"]
    ids = [value for name, value in named if name == b"x-request-id"]
    trace = _read_trace(parents[0]) if len(parents) == 1 else ("", "", "")
    is_taken = len(ids) == 1 and _PROXY_ID.fullmatch(ids[0]) is not None and is_proxy(peer, proxies)
    return TraceContext(request_id, *trace, ids[0].decode("ascii") if is_taken else "")


def _read_trace(value: bytes) -> tuple[str, str, str]:
    """Return trace id, parent id and flags of a `traceparent`, or empty texts if it is invalid."""
    match = _TRACEPARENT.fullmatch(value)
    if match is None or match[1] == b"ff" or match[2] == _NO_TRACE or match[3] == _NO_PARENT:
        return "", "", ""
    # "Vendors MUST parse" a higher version by the fields of version 00, which has no further ones (W3C, 4.3).
    if match[1] == b"00" and match[5] is not None:
        return "", "", ""
    return match[2].decode(), match[3].decode(), match[4].decode()


def build_client_tracing() -> aiohttp.TraceConfig:
    """Return the configuration of an HTTP client whose calls carry the ids of the call that they are made for."""
    import aiohttp  # noqa: PLC0415 - some services make no calls

    async def add_headers(_: Any, __: Any, parameters: aiohttp.TraceRequestStartParams) -> None:
        context = CURRENT.get()
        if context is not None:
            parameters.headers.update(context.headers())

    tracing = aiohttp.TraceConfig()
    tracing.on_request_start.append(add_headers)
    return tracing
