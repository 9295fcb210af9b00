"""Checks of a request's head, common to all servers: bytes and values in, a verdict out.

Behind a proxy that filters paths, another protocol, a second length or a second host brings a caller past the filter.
So a message is refused, and its connection ends, if it has another version, a target of unknown form, or two fields
that may be sent once. The app sends the refusal, because it has the surface's error body and request id.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from reference.web.errors import Refused

HEAD_LIMIT = 65536
"""Bytes after which an incomplete head is refused; the envelope judges complete ones."""
HEAD_SECONDS = 30
"""Seconds in which a connection must send a whole head: before the first request, and between two."""
FIRST_REQUEST_SECONDS = 1.0
"""Seconds that a new connection has for its first request after the process got the signal to end (P-CV-22)."""

_ABSOLUTE = re.compile(rb"https?://([^/?#@]+)([/?].*)?", re.IGNORECASE | re.DOTALL)
# Each label of a host has 1 to 63 characters (RFC 1035, 2.3.4); a port counts with the last label. Routing by any other
# host fails before a request could be answered.
_LABEL = rb"[A-Za-z0-9_~!$&'()*+,;=:%\[\]-]{1,63}"
_HOST = re.compile(rb"(?:%b(?:\.%b)*\.?)?" % (_LABEL, _LABEL))
NOT_FRAMED = Refused(400, "invalid_request", "the request is not framed as HTTP/1.1 has it (RFC 9112)")
HEAD_TOO_LARGE = Refused(431, "headers_too_large", "the headers are over the limit")
CODING_UNKNOWN = Refused(501, "not_implemented", "of transfer codings there is chunked alone, once")
METHOD_UNKNOWN = Refused(501, "not_implemented", "a method is written in capitals: its case counts (RFC 9110, 9.1)")
OTHER_VERSION = Refused(505, "http_version_not_supported", "HTTP/1.1 is spoken here")
_NO_TARGET = Refused(
    400, "invalid_request", "the target is a path, with http:// and a host before it if you like (RFC 9112, 3.2)"
)
_NO_HOST = Refused(400, "invalid_request", "Host is a host, with a port if you like")


@dataclass(frozen=True, slots=True)
class Head:
    """A request's head as the app sees it, and what is wrong with it."""

    target: bytes
    headers: list[tuple[bytes, bytes]]
    fault: Refused | None


def judge_head(method: bytes, target: bytes, version: bytes, fields: Iterable[tuple[bytes, bytes]]) -> Head:
    """Return the head of a request that was parsed.

    Args:
        method: As it was sent.
        target: As it was sent.
        version: Such as `1.1`.
        fields: Names in lower case, and values.
    """
    headers = list(fields)
    path, authority = _read_origin_form(target, method)
    if authority is not None:
        # RFC 9112, 3.2.2: the host of the target decides, whatever Host says.
        headers = [(name, value) for name, value in headers if name != b"host"] + [(b"host", authority)]
    fault = None
    # The order is fixed, so that all servers name the same fault of a head with several.
    if not version.startswith(b"1."):
        fault = OTHER_VERSION
    elif method != method.upper():
        # A filter in front that knows only GET lets `get` pass, so `get` is not GET here.
        fault = METHOD_UNKNOWN
    elif not path:
        fault = _NO_TARGET
    elif _HOST.fullmatch(dict(headers).get(b"host", b"")) is None:
        fault = _NO_HOST
    return Head(path or b"/", headers, fault)


def _read_origin_form(target: bytes, method: bytes) -> tuple[bytes, bytes | None]:
    """Return path and query, empty for a target in an unsupported form, and the authority in front of them."""
    if target.startswith(b"/") or (target == b"*" and method == b"OPTIONS"):
        return target, None
    absolute = _ABSOLUTE.fullmatch(target)
    if absolute is None:
        return b"", None
    path = absolute[2] or b""
    if not path:
        path = b"*" if method == b"OPTIONS" else b"/"
    return path if path[:1] != b"?" else b"/" + path, absolute[1]
