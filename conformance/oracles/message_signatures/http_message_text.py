"""A raw HTTP/1.1 message, read leniently where it does not matter, and written.

It reads what people paste: CRLF or LF, folded lines, chunked content with trailers. Nothing is normalised that a
signature could cover.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Final

from conformance.oracles.message_signatures.message import Fields, Message

_REQUEST_LINE = re.compile(r"([!#$%&'*+.^_`|~0-9A-Za-z-]+) (\S*) HTTP/\d(?:\.\d)?")
_STATUS_LINE = re.compile(r"HTTP/\d(?:\.\d)? (\d{3})(?: .*)?")
_ABSOLUTE = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://([^/?#]*)(.*)")
_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_CHUNK = re.compile(rb"([0-9A-Fa-f]{1,8})[ \t]*(?:;[^\r\n]*)?\r?\n")
_DECIMAL = re.compile(r"[0-9]{1,10}")
_HEAD_END = re.compile(rb"\r?\n\r?\n")
_QUOTED_LETTERS: Final = 80


class NotHttp(ValueError):
    """A text that is no HTTP/1.1 message; the sentence names the line and says what to do."""


@dataclass(frozen=True, slots=True)
class ReadMessage:
    """A message as read.

    Attributes:
        message: The message.
        remarks: What was put right on the way, in sentences.
    """

    message: Message
    remarks: tuple[str, ...] = ()


def read(
    data: bytes, *, scheme: str = "https", authority: str | None = None, request: Message | None = None
) -> ReadMessage:
    """Read one message.

    Args:
        data: Its bytes.
        scheme: Scheme of the target URI, which an origin-form request does not show.
        authority: Host and port that the client called, where a proxy has changed the Host field.
        request: The request that a response answers.

    Raises:
        NotHttp: It is not an HTTP message.
    """
    data = data.lstrip(b"\r\n")
    if not data:
        raise NotHttp("the message is empty; give a file with a raw HTTP/1.1 message, or pipe one in")
    end = _HEAD_END.search(data)
    head, content = (data, b"") if end is None else (data[: end.start()], data[end.end() :])
    # Latin-1 keeps every byte of the head, whatever its encoding.
    lines = [line.removesuffix("\r") for line in head.decode("latin-1").split("\n")]
    while lines and not lines[-1]:
        lines.pop()
    message = _start(lines[0], scheme)
    message = replace(message, headers=_fields(lines[1:], first=2), trailers=())
    message, remarks = _with_content(message, content)
    if message.is_response:
        message = replace(message, request=request)
    else:
        message = replace(message, authority=authority or message.authority or message.field("host") or "")
        if not message.authority:
            raise NotHttp("the request has no Host field; add one, or give --authority")
    return ReadMessage(message, tuple(remarks))


def _start(line: str, scheme: str) -> Message:
    status = _STATUS_LINE.fullmatch(line)
    if status is not None:
        return Message(status=int(status[1]), scheme=scheme)
    request = _REQUEST_LINE.fullmatch(line)
    if request is None:
        raise NotHttp(
            f"line 1 is {_quote(line)}, neither a request line (METHOD target HTTP/1.1) nor a status line "
            "(HTTP/1.1 200 OK)"
        )
    method, target = request[1], request[2]
    # These two forms of request target have no path (RFC 9112, 3.2.3 and 3.2.4).
    if method == "CONNECT" or target == "*":
        authority = target if method == "CONNECT" else ""
        return Message(method=method, target="", request_target=target, scheme=scheme, authority=authority)
    absolute = _ABSOLUTE.fullmatch(target)
    if absolute is None:
        return Message(method=method, target=target, scheme=scheme)
    target_scheme, authority, path_and_query = absolute.groups()
    return Message(
        method=method,
        target=path_and_query,
        request_target=target,
        scheme=target_scheme.lower(),
        # User information is not part of the authority that a signature covers.
        authority=authority.rpartition("@")[2],
    )


def _fields(lines: list[str], *, first: int) -> Fields:
    fields: list[tuple[str, str]] = []
    for number, line in enumerate(lines, start=first):
        if line[:1] in {" ", "\t"} and fields:
            name, value = fields[-1]
            # A folded line belongs to the field before it. The fold stays, because `bs` covers
            # raw lines.
            fields[-1] = (name, f"{value}\r\n{line}")
            continue
        name, colon, value = line.partition(":")
        if not colon or not _NAME.fullmatch(name):
            raise NotHttp(f"line {number} is {_quote(line)}, no header field; a blank line ends the header")
        fields.append((name, value.strip(" \t")))
    return tuple(fields)


def _with_content(message: Message, content: bytes) -> tuple[Message, list[str]]:
    transfer_coding = message.field("transfer-encoding")
    if transfer_coding is not None and transfer_coding.lower().rpartition(",")[2].strip() == "chunked":
        body, trailers = _read_chunks(content)
        return replace(message, body=body, trailers=trailers), []
    length = message.field("content-length")
    if length is None:
        return replace(message, body=content), []
    if not _DECIMAL.fullmatch(length):
        raise NotHttp(f"Content-Length is {_quote(length)}, no number of bytes")
    return _cut(message, content, int(length))


def _cut(message: Message, content: bytes, length: int) -> tuple[Message, list[str]]:
    if len(content) < length:
        raise NotHttp(
            f"the content has {len(content)} bytes and Content-Length says {length}: the file is cut, or edited"
        )
    surplus = content[length:]
    # Editors add a line end to a file. More bytes than that may be a second message, which must
    # not be ignored.
    if surplus.strip(b"\r\n"):
        raise NotHttp(f"the content has {len(content)} bytes and Content-Length says {length}: more than one message?")
    remarks = [f"left out {len(surplus)} bytes of line ends after the content"] if surplus else []
    return replace(message, body=content[:length]), remarks


def _read_chunks(data: bytes) -> tuple[bytes, Fields]:
    body, at = bytearray(), 0
    while True:
        size = _CHUNK.match(data, at)
        if size is None:
            raise NotHttp(f"the chunked content breaks at byte {at + 1}: a chunk begins with its size in hex")
        length, at = int(size[1], 16), size.end()
        if length == 0:
            break
        body += data[at : at + length]
        at += length
        line_end = re.compile(rb"\r?\n").match(data, at)
        if line_end is None:
            raise NotHttp(f"the chunked content breaks at byte {at + 1}: a chunk of {length} bytes does not end there")
        at = line_end.end()
    lines = [line.removesuffix("\r") for line in data[at:].decode("latin-1").split("\n")]
    return bytes(body), _fields([line for line in lines if line], first=1)


def write(message: Message) -> bytes:
    """Write a message with CRLF; chunked if its fields say chunked or it has trailers."""
    is_chunked = bool(message.trailers) or "chunked" in (message.field("transfer-encoding") or "").lower()
    headers = message.headers
    if is_chunked and message.field("transfer-encoding") is None:
        headers = (*((name, value) for name, value in headers if name.lower() != "content-length"),)
        headers = (*headers, ("Transfer-Encoding", "chunked"))
    start = (
        f"HTTP/1.1 {message.status}" if message.is_response else f"{message.method} {_sent_target(message)} HTTP/1.1"
    )
    if not message.is_response and message.field("host") is None:
        headers = (("Host", message.authority), *headers)
    head = "".join(f"{line}\r\n" for line in [start, *(f"{name}: {value}" for name, value in headers), ""])
    return head.encode("latin-1", "backslashreplace") + (_in_chunks(message) if is_chunked else message.body)


def _sent_target(message: Message) -> str:
    return message.derived_value("@request-target")


def _in_chunks(message: Message) -> bytes:
    chunk = b"%x\r\n%b\r\n" % (len(message.body), message.body) if message.body else b""
    trailers = "".join(f"{name}: {value}\r\n" for name, value in message.trailers or ())
    return chunk + b"0\r\n" + trailers.encode("latin-1", "backslashreplace") + b"\r\n"


def _quote(text: str) -> str:
    return repr(text if len(text) <= _QUOTED_LETTERS else text[:_QUOTED_LETTERS] + "…")
