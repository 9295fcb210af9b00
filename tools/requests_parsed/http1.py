"""A strict reader of HTTP/1.1 requests (RFC 9112): what was sent, and what of it is not as the grammar says."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

_TOKEN: Final = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_TARGET: Final = re.compile(rb"(/|\*$|https?://)[!$&'()*+,;=:@%/?._~0-9A-Za-z-]*")
_VALUE: Final = re.compile(rb"([\x21-\x7e\x80-\xff]([\x20-\x7e\x80-\xff\t]*[\x21-\x7e\x80-\xff])?)?")
_ONCE: Final = {
    "host",
    "content-length",
    "content-type",
    "authorization",
    "x-tenant-id",
    "x-payment",
    "idempotency-key",
}


@dataclass(slots=True)
class Request:
    """One request as its bytes say it.

    Attributes:
        method: As sent.
        target: As sent.
        fields: Pairs of a lower-case name and a value, in order.
        body: Without chunk framing.
        faults: What the grammar or the framing does not allow.
    """

    method: str
    target: str
    fields: list[tuple[str, bytes]] = field(default_factory=list)
    body: bytes = b""
    faults: set[str] = field(default_factory=set)

    def values(self, name: str) -> list[bytes]:
        """Return the values of the fields of one name."""
        return [value for one, value in self.fields if one == name]

    @property
    def path(self) -> str:
        """The target's path."""
        return re.sub(r"^https?://[^/?]*", "", self.target).partition("?")[0]

    @property
    def query(self) -> str:
        """The target's query."""
        return self.target.partition("?")[2]


def read(data: bytes) -> Request | None:
    """Return the last request in the bytes of an exchange (a kept connection may have needed two), None without any."""
    requests, tail = None, data
    while tail:
        requests, tail = read_one(tail)
    return requests


def read_one(data: bytes) -> tuple[Request, bytes]:
    """Return the first request in bytes, and what follows it."""
    head, blank_line, tail = data.partition(b"\r\n\r\n")
    lines = head.split(b"\r\n")
    parts = lines[0].split(b" ")
    words = [part.decode("latin-1") for part in parts] + ["", ""]
    request = Request(words[0], words[1])
    if len(parts) != 3 or parts[2] not in (b"HTTP/1.1", b"HTTP/1.0") or not _TOKEN.fullmatch(parts[0]):
        request.faults.add("request line")
    elif not _TARGET.fullmatch(parts[1]):
        request.faults.add("request target")
    if not blank_line:
        request.faults.add("no end of the header section")
    for line in lines[1:]:
        name, colon, value = line.partition(b":")
        if not colon or not _TOKEN.fullmatch(name):
            request.faults.add("field line")
        value = value.strip(b" \t")
        if not _VALUE.fullmatch(value):
            request.faults.add("field value")
        request.fields.append((name.decode("latin-1").lower(), value))
    names = [name for name, _ in request.fields]
    request.faults |= {f"{name} twice" for name in _ONCE if names.count(name) > 1}
    if "host" not in names:
        request.faults.add("no host")
    return request, _take_body(request, tail)


def _take_body(request: Request, tail: bytes) -> bytes:
    """Take the body off `tail` and return what follows."""
    lengths, codings = request.values("content-length"), request.values("transfer-encoding")
    if codings:
        if lengths:
            request.faults.add("two framings")
        if codings != [b"chunked"]:
            request.faults.add("transfer-encoding")
        return _chunks(request, tail)
    if not lengths:
        request.faults |= {"body without framing"} if tail else set()
        request.body = tail
        return b""
    if not re.fullmatch(rb"[0-9]{1,18}", lengths[0]):
        request.faults.add("content-length")
        request.body = tail
        return b""
    length = int(lengths[0])
    request.body = tail[:length]
    if len(tail) < length:
        request.faults.add("shorter than content-length")
    if len(tail) > length and not re.match(rb"[A-Z]+ \S+ HTTP/1", tail[length:]):
        request.faults.add("longer than content-length")
        return b""
    return tail[length:]


def _chunks(request: Request, tail: bytes) -> bytes:
    while True:
        line, line_end, after = tail.partition(b"\r\n")
        if not line_end or not re.fullmatch(rb"[0-9A-Fa-f]{1,16}(;[^\r\n]*)?", line):
            request.faults.add("chunk framing")
            return b""
        size = int(line.partition(b";")[0], 16)
        if size == 0:
            return after.partition(b"\r\n")[2] if after.startswith(b"\r\n") else b""
        request.body += after[:size]
        if after[size : size + 2] != b"\r\n":
            request.faults.add("chunk framing")
            return b""
        tail = after[size + 2 :]
