"""What a connection may say besides plain HTTP/1.1, on every service and server: raw bytes to real processes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

import pytest

from tests.reference.web.five_services import SERVICES, Answer, five_services, send_bytes
from tests.reference.worker_process import WorkerProcess

Workers = Mapping[str, WorkerProcess]
H2C = b"Connection: Upgrade, HTTP2-Settings, close\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA\r\n"
WEBSOCKET = (
    b"Connection: Upgrade, close\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
    b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
)
HOST = b"Host: a.example\r\n"
CHUNKED = b"Transfer-Encoding: chunked\r\n"
JSON = b"Content-Type: application/json\r\n"
# Each with its status.
BROKEN = {
    "two hosts": (b"GET /health HTTP/1.1\r\n" + HOST + b"Host: b.example\r\n\r\n", 400),
    "no host": (b"GET /health HTTP/1.1\r\n\r\n", 400),
    "a host with an empty label": (b"GET /health HTTP/1.1\r\nHost: a..b\r\n\r\n", 400),
    "a host with a label of 64 letters": (b"GET /health HTTP/1.1\r\nHost: " + b"a" * 64 + b".example\r\n\r\n", 400),
    "a host with a blank": (b"GET /health HTTP/1.1\r\nHost: a b\r\n\r\n", 400),
    "two lengths": (b"POST /a2a HTTP/1.1\r\n" + HOST + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\n{}", 400),
    "a signed length": (b"POST /a2a HTTP/1.1\r\n" + HOST + b"Content-Length: +2\r\n\r\n{}", 400),
    "a header's name with a blank": (b"GET /health HTTP/1.1\r\n" + HOST + b"a b: c\r\n\r\n", 400),
    "a bad chunk": (b"POST /a2a HTTP/1.1\r\n" + HOST + JSON + CHUNKED + b"\r\nzz\r\n", 400),
    "a bad second chunk": (b"POST /a2a HTTP/1.1\r\n" + HOST + JSON + CHUNKED + b"\r\n2\r\n{}\r\nzz\r\n", 400),
    "a length and chunks": (
        b"POST /a2a HTTP/1.1\r\n" + HOST + JSON + b"Content-Length: 4\r\n" + CHUNKED + b"\r\n0\r\n\r\n",
        400,
    ),
    "chunks in HTTP/1.0": (b"POST /a2a HTTP/1.0\r\n" + HOST + JSON + CHUNKED + b"\r\n0\r\n\r\n", 400),
    "an unknown transfer coding": (b"POST /a2a HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: gzip\r\n\r\n", 501),
    "a target that is no path": (b"GET health HTTP/1.1\r\n" + HOST + b"\r\n", 400),
    "a target of another scheme": (b"GET ftp://a.example/health HTTP/1.1\r\n" + HOST + b"\r\n", 400),
    "a tunnel": (b"CONNECT a.example:80 HTTP/1.1\r\n" + HOST + b"\r\n", 400),
    "HTTP/2": (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0", 505),
    "TLS": (b"\x16\x03\x01\x02\x00\x01\r\n\r\n", 400),
    "a bare LF behind the request line": (b"GET /health HTTP/1.1\n" + HOST + b"\r\n", 400),
    "a bare LF behind a field": (b"GET /health HTTP/1.1\r\nHost: a.example\n\r\n", 400),
    "a bare LF at the end of a head": (b"GET /health HTTP/1.1\r\n" + HOST + b"\n", 400),
    "a head of bare LFs": (b"GET /health HTTP/1.1\nHost: a.example\n\n", 400),
    "a bare LF before a request": (b"\nGET /health HTTP/1.1\r\n" + HOST + b"\r\n", 400),
    "a bare LF in a name that is smuggled": (b"GET /health HTTP/1.1\r\nA: b\nHost: a.example\r\n\r\n", 400),
    "a bare LF behind a chunk's size": (
        b"POST /a2a HTTP/1.1\r\n" + HOST + JSON + CHUNKED + b"\r\n2\n{}\r\n0\r\n\r\n",
        400,
    ),
    "a bare LF behind a chunk": (b"POST /a2a HTTP/1.1\r\n" + HOST + JSON + CHUNKED + b"\r\n2\r\n{}\n0\r\n\r\n", 400),
    "a bare LF behind the last chunk": (
        b"POST /a2a HTTP/1.1\r\n" + HOST + JSON + CHUNKED + b"\r\n2\r\n{}\r\n0\r\n\n",
        400,
    ),
    "a bare LF in trailers": (
        b"POST /a2a HTTP/1.1\r\n" + HOST + JSON + CHUNKED + b"\r\n2\r\n{}\r\n0\r\nA: b\n\r\n",
        400,
    ),
    "a method in lower case": (b"get /health HTTP/1.1\r\n" + HOST + b"\r\n", 501),
    "a method in mixed case": (b"Post /a2a HTTP/1.1\r\n" + HOST + JSON + b"Content-Length: 2\r\n\r\n{}", 501),
    "a head's method in lower case": (b"head /health HTTP/1.1\r\n" + HOST + b"\r\n", 501),
    "nothing of HTTP": (b"hello\r\n\r\n", 400),
}


@pytest.fixture(scope="module", params=["hypercorn", "uvicorn"])
def workers(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workers]:
    """One worker of each service, on one server after the other."""
    with five_services(tmp_path_factory.mktemp(request.param), request.param) as services:
        yield services


def ask(worker: WorkerProcess, raw: bytes) -> Answer:
    """Send bytes to a worker."""
    return send_bytes(worker.socket.getsockname(), raw)


@pytest.mark.parametrize("service", SERVICES)
def test_an_upgrade_is_ignored(workers: Workers, service: str) -> None:
    """RFC 9110, 7.8: the call is answered as if it asked for none, and nothing goes wrong behind it."""
    for upgrade in (WEBSOCKET, H2C):
        answer = ask(workers[service], b"GET /health HTTP/1.1\r\n" + HOST + upgrade + b"\r\n")

        assert (answer.status, answer.count, answer.ended) == (200, 1, True), answer.raw
        assert answer.headers["x-request-id"].startswith("req_")
        assert isinstance(answer.json, dict)
    log = workers[service].log()
    assert "Traceback" not in log
    # That no node is there is no fault of an upgrade.
    assert not [line for line in log.splitlines() if '"level": "error"' in line and '"network"' not in line]


@pytest.mark.parametrize("service", SERVICES)
@pytest.mark.parametrize("broken", BROKEN)
def test_broken_framing_is_refused_in_the_services_own_form(workers: Workers, service: str, broken: str) -> None:
    """One answer with an error body and a request id, and the connection ends."""
    raw, status = BROKEN[broken]
    answer = ask(workers[service], raw)

    assert (answer.status, answer.count, answer.ended) == (status, 1, True), answer.raw
    assert answer.headers["connection"] == "close"
    assert re.fullmatch(r"req_[0-9a-f]{32}", answer.headers["x-request-id"])
    assert answer.headers["content-type"] == "application/json"
    report = answer.json
    assert isinstance(report, dict)
    if "error" in report:
        assert (report["request_id"], isinstance(report["message"], str)) == (answer.headers["x-request-id"], True)
    else:
        assert isinstance(report["detail"], str)


@pytest.mark.parametrize("service", SERVICES)
def test_what_comes_after_two_lengths_is_no_request(workers: Workers, service: str) -> None:
    """However it is cut, one call gets one answer: what a proxy took for its body is never carried out."""
    smuggled_call = b"GET /health HTTP/1.1\r\n" + HOST + b"\r\n"
    for head, body in (
        (b"Content-Length: 6\r\n" + CHUNKED, b"0\r\n\r\n" + smuggled_call),
        (CHUNKED + b"Content-Length: %d\r\n" % len(smuggled_call), smuggled_call),
    ):
        answer = ask(workers[service], b"POST /a2a HTTP/1.1\r\n" + HOST + JSON + head + b"\r\n" + body)

        assert (answer.status, answer.count, answer.ended) == (400, 1, True), answer.raw


@pytest.mark.parametrize("service", SERVICES)
@pytest.mark.parametrize("target", [b"http://a.example/health", b"HTTPS://b.example:1/health?a=b"])
def test_an_absolute_target_is_its_path(workers: Workers, service: str, target: bytes) -> None:
    """RFC 9112, 3.2.2: a server takes it, though proxies alone send it."""
    answer = ask(workers[service], b"GET " + target + b" HTTP/1.1\r\n" + HOST + b"Connection: close\r\n\r\n")

    assert (answer.status, answer.count) == (200, 1), answer.raw


def test_what_is_broken_after_a_whole_call_spoils_no_answer(workers: Workers) -> None:
    """Two calls in one go: the first is answered, the second refused."""
    whole = b"GET /health HTTP/1.1\r\n" + HOST + b"\r\n"
    answer = ask(workers["agent"], whole + b"GET /health HTTP/1.1\r\n\r\n")

    assert re.findall(rb"HTTP/1\.1 (\d+)", answer.raw) == [b"200", b"400"]
    assert answer.ended
