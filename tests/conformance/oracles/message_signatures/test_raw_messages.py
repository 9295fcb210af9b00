"""Raw HTTP/1.1 messages read as people paste them, and written."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conformance.oracles.message_signatures import http_message_text, verify_request_members
from conformance.oracles.message_signatures.http_message_text import NotHttp
from conformance.oracles.message_signatures.message import Message

REQUEST = b"POST /a?b=c HTTP/1.1\r\nHost: Example.org:8443\r\nX-A:  1 \r\nX-A: 2\r\nX-F: one\r\n  two\r\n\r\nbody\n"


def test_a_request_is_read_with_nothing_normalised() -> None:
    """Method, target, host, lines in order, folds kept, content as it is; a missing chunked coding has no trailers."""
    headers = (("Host", "Example.org:8443"), ("X-A", "1"), ("X-A", "2"), ("X-F", "one\r\n  two"))
    expected_message = Message("POST", "Example.org:8443", "https", "/a?b=c", headers, (), b"body\n")
    assert expected_message == http_message_text.read(REQUEST).message
    assert (
        http_message_text.read(REQUEST, scheme="http", authority="proxy.example").message.authority == "proxy.example"
    )


def test_line_feeds_alone_read_the_same() -> None:
    """Editors and copying drop carriage returns; blank lines in front do no harm."""
    assert http_message_text.read(REQUEST).message == http_message_text.read(REQUEST.replace(b"\r\n", b"\n")).message
    assert http_message_text.read(REQUEST).message == http_message_text.read(b"\r\n\n" + REQUEST).message


def test_a_response_is_read_with_its_request() -> None:
    """The status line, with or without a phrase."""
    request = http_message_text.read(REQUEST).message
    for line in (b"HTTP/1.1 503 Service Unavailable", b"HTTP/1.1 503", b"HTTP/2 503 "):
        message = http_message_text.read(line + b"\nA: b\n\nx", request=request).message
        assert (message.status, message.headers, message.body, message.request) == (503, (("A", "b"),), b"x", request)


@pytest.mark.parametrize(
    ("line", "authority", "scheme", "target"),
    [
        (b"GET http://h.example:81/p HTTP/1.1", "h.example:81", "http", "/p"),
        (b"GET https://user@h.example?q HTTP/1.1", "h.example", "https", "?q"),
        (b"CONNECT h.example:443 HTTP/1.1", "h.example:443", "https", ""),
        (b"OPTIONS * HTTP/1.1", "other.example", "https", ""),
    ],
)
def test_other_forms_of_the_target(line: bytes, authority: str, scheme: str, target: str) -> None:
    """The absolute form names authority and scheme itself (RFC 9112 3.2)."""
    message = http_message_text.read(line + b"\nHost: other.example\n\n").message
    assert (authority, scheme, target) == (message.authority, message.scheme, message.target)
    assert line.split()[1].decode() == message.request_target


def test_content_length_cuts_what_an_editor_added_and_says_so() -> None:
    """A line end after the content is no content; less than promised or another message is a fault."""
    head = b"GET / HTTP/1.1\nHost: h\nContent-Length: 4\n\n"
    exact = http_message_text.read(head + b"body")
    reading = http_message_text.read(head + b"body\r\n")
    assert (exact.message, exact.remarks) == (reading.message, ())
    assert reading.remarks == ("left out 2 bytes of line ends after the content",)
    for content in (b"bod", b"body more"):
        with pytest.raises(NotHttp, match="Content-Length says 4"):
            http_message_text.read(head + content)


def test_chunked_content_is_put_together_and_its_trailers_read() -> None:
    """RFC 9421's own example of trailers."""
    raw = (
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: Expires\r\n\r\n"
        b"4\r\nHTTP\r\n7;x=y\r\nMessage\r\na\r\nSignatures\r\n0\r\nExpires: Wed, 9 Nov 2022 07:28:00 GMT\r\n\r\n"
    )
    message = http_message_text.read(raw).message
    assert message.body == b"HTTPMessageSignatures"
    assert message.trailers == (("Expires", "Wed, 9 Nov 2022 07:28:00 GMT"),)
    assert message == http_message_text.read(raw.replace(b"\r\n", b"\n")).message


@pytest.mark.parametrize(
    ("raw", "sentence"),
    [
        (b"", "empty"),
        (b"\r\n\r\n", "empty"),
        (b"hello", "line 1 is 'hello'"),
        (b"GET /\n\n", "line 1"),
        (b"GET / HTTP/1.1\n\n", "no Host field"),
        (b"GET / HTTP/1.1\nHost: h\nno field\n\n", "line 3 is 'no field'"),
        (b"GET / HTTP/1.1\nHost : h\n\n", "line 2"),
        (b"GET / HTTP/1.1\n folded\n\n", "line 2"),
        (b"GET / HTTP/1.1\nHost: h\nContent-Length: x\n\n", "no number"),
        (b"GET / HTTP/1.1\nHost: h\nTransfer-Encoding: chunked\n\nzz\n", "byte 1"),
        (b"GET / HTTP/1.1\nHost: h\nTransfer-Encoding: chunked\n\n4\nabc\n0\n\n", "does not end there"),
        (b"GET / HTTP/1.1\nHost: h\nTransfer-Encoding: chunked\n\n4\nabcd\n", "byte 8"),
        (b"\xff\xfe", "line 1"),
    ],
)
def test_what_is_no_message_is_refused_with_its_line(raw: bytes, sentence: str) -> None:
    """The sentence names the place and what should stand there."""
    with pytest.raises(NotHttp, match=sentence):
        http_message_text.read(raw)


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=120))
def test_no_bytes_break_the_reader(raw: bytes) -> None:
    """It answers with a message or with NotHttp."""
    for data in (raw, b"GET / HTTP/1.1\nHost: h\n" + raw, b"HTTP/1.1 200\nTransfer-Encoding: chunked\n\n" + raw):
        with contextlib.suppress(NotHttp):
            assert http_message_text.read(data).message.headers is not None


NAMES = st.from_regex(r"[A-Za-z][A-Za-z0-9-]{0,8}", fullmatch=True).filter(
    lambda name: name.lower() not in {"host", "content-length", "transfer-encoding"}
)
TEXTS = st.text(st.characters(min_codepoint=33, max_codepoint=126), max_size=12)
FIELDS = st.lists(st.tuples(NAMES, TEXTS), max_size=4).map(tuple)


@settings(max_examples=100, deadline=None)
@given(FIELDS, FIELDS, st.binary(max_size=40), st.sampled_from([None, 200]))
def test_what_is_written_reads_back(headers: Any, trailers: Any, body: bytes, status: int | None) -> None:
    """Any request or response, with trailers or without, survives the wire, and the members of an agent's request."""
    where: Any = {"method": "GET", "authority": "h.example", "target": "/p"} if status is None else {}
    message = Message(**where, headers=(("Host", "h.example"), *headers), trailers=trailers, body=body, status=status)
    message_read = http_message_text.read(http_message_text.write(message)).message
    kept_headers = tuple(pair for pair in message_read.headers if pair[0] != "Transfer-Encoding")
    assert (message.headers, message.trailers, message.body) == (kept_headers, message_read.trailers, message_read.body)
    message_told = verify_request_members.message_of(verify_request_members.members_of(message))
    assert message.field_lines("host") == message_told.field_lines("host")
    assert {name.lower() for name, _ in headers} <= {name.lower() for name, _ in message_told.headers}
    for name, _ in headers:
        assert message.field_lines(name.lower()) == message_told.field_lines(name.lower())
    assert (message.body, message.status, message.target) == (
        message_told.body,
        message_told.status,
        message_told.target,
    )


def test_a_host_is_written_where_a_request_has_none() -> None:
    """So that what is written is HTTP."""
    assert http_message_text.write(Message("GET", "h.example")) == b"GET / HTTP/1.1\r\nHost: h.example\r\n\r\n"
