"""The checks that all surfaces share: a right gateway breaks nothing, and each fault is seen by its row alone."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import random
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from multidict import CIMultiDict, CIMultiDictProxy

from conformance import target
from conformance.engine.check import Case
from conformance.engine.check_loading import load_checks
from conformance.engine.session import Session
from conformance.http.client import Answer, Client, Counter, Names, Unreachable
from conformance.http.raw import RawTransport
from conformance.http.secret_leaks import comes_back
from conformance.log.events import EventLog
from conformance.oracles.strict_json import JsonTextFault, is_json_type, strict_json
from conformance.outcome import Verdict
from conformance.surfaces.endpoints import list_endpoints
from tests.conformance.fuzz.scripted_gateway import BASE, KEY, Call, Gateway, Reply, judge_check, profile

BODIES, TOKENS = "hostile_bodies_at_the_gateway", "hostile_checkout_tokens"
JSON, SECRETS = "answers_of_the_gateway_are_json", "keys_never_come_back"
WARN, FAIL, PASS = Verdict.WARN, Verdict.FAIL, Verdict.PASS


async def test_a_right_gateway_breaks_nothing(tmp_path: Path) -> None:
    """Every shared check passes each of its rows, and no key stands in the log."""
    for name in (BODIES, TOKENS, JSON, SECRETS):
        outcome = await judge_check(name, Gateway(), profile(tmp_path))
        assert set(outcome.verdicts.values()) == {PASS}, f"{name}: {outcome.findings[:2000]}"
        assert KEY not in json.dumps(outcome.log.events)


async def test_every_documented_operation_is_known(tmp_path: Path) -> None:
    """What the interface names and what the document adds, with a live token; streams of events are left out."""
    gateway = Gateway()
    gateway.document["paths"]["/checkout/{token}/events"] = {
        "get": {"responses": {"200": {"description": "x", "content": {"text/event-stream": {}}}}}
    }
    names, log, read = Names(), EventLog(), profile(tmp_path)
    client = Client(gateway, log, "x", names, Counter())
    session = Session(read, client, names, 1)
    await session.open()
    check = next(one for one in load_checks() if one.id == BODIES)
    endpoints = await list_endpoints(Case(check, read, client, log, random.Random(1), session), "gateway")
    labels = {one.label for one in endpoints}
    assert labels == {
        *("POST /v1/payment-links", "POST /v1/resources", "POST /v1/receipt/verify", "POST /compliance/screen"),
        *("GET /checkout/{token}", "GET /checkout/{token}/status"),
    }
    paths = [one.path for one in endpoints if one.label == "GET /checkout/{token}/status"]
    assert len(paths) == 2
    assert f"/checkout/{'A' * 22}/status" in paths


def crash(where: Callable[[Call], bool]) -> Gateway:
    """Return a gateway that answers 500 to some calls."""
    return Gateway(lambda call, reply: Reply(500, {"error": "x", "message": "x"}) if where(call) else reply)


@pytest.mark.parametrize(
    ("name", "where"),
    [
        (BODIES, lambda call: b"\xc3\x28" in call.body),
        (BODIES, lambda call: call.body.startswith(b"\xef\xbb\xbf")),
        (BODIES, lambda call: call.body.count(b"[") > 10_000),
        (BODIES, lambda call: len(call.body) > 65_536),
        (BODIES, lambda call: b"9" * 4500 in call.body),
        (BODIES, lambda call: b"1e999" in call.body),
        (BODIES, lambda call: b"\\ud800" in call.body),
        (BODIES, lambda call: b"\\u0000" in call.body),
        (BODIES, lambda call: call.method == "POST" and call.body == b"[]"),
        (BODIES, lambda call: b'"currency":{}' in call.body),
        (TOKENS, lambda call: "%00" in call.path),
        (TOKENS, lambda call: "%ff" in call.path and call.path.endswith("/qr")),
        (TOKENS, lambda call: len(call.path) > 2000),
        (TOKENS, lambda call: call.path == "/checkout/../status"),
        (TOKENS, lambda call: call.path.endswith("/abandon")),
    ],
)
async def test_a_crash_is_seen(name: str, where: Callable[[Call], bool], tmp_path: Path) -> None:
    """One 500 anywhere breaks X-ROB-01 and nothing else."""
    outcome = await judge_check(name, crash(where), profile(tmp_path))
    assert outcome.verdicts == {"X-ROB-01": WARN, "X-JSON-02": PASS}


async def test_an_internal_error_of_json_rpc_is_a_crash(tmp_path: Path) -> None:
    """It comes with status 200; a refusal in the same form does not count."""

    def answer_error(code: int) -> Gateway:
        document = {"jsonrpc": "2.0", "id": None, "error": {"code": code, "message": "x"}}
        return Gateway(lambda call, reply: Reply(200, document) if b'"currency":{}' in call.body else reply)

    crash = await judge_check(BODIES, answer_error(-32603), profile(tmp_path))
    assert crash.verdicts == {"X-ROB-01": WARN, "X-JSON-02": PASS}
    refusal = await judge_check(BODIES, answer_error(-32600), profile(tmp_path))
    assert set(refusal.verdicts.values()) == {PASS}


async def test_hostile_inputs_that_met_a_limit_show_nothing(tmp_path: Path) -> None:
    """If every request was answered 429, none was examined: neither row passes."""

    def answer_429(call: Call, reply: Reply) -> Reply:
        return Reply(429, {"error": "x", "message": "x"}) if call.method != "GET" else reply

    outcome = await judge_check(BODIES, Gateway(answer_429), profile(tmp_path))
    assert set(outcome.verdicts.values()) <= {Verdict.INCONCLUSIVE}


class Dead(Gateway):
    """A gateway that answers nothing, or nothing any more from the first hostile body on."""

    def __init__(self, *, is_answered: bool) -> None:
        super().__init__()
        self._has_answered = self._lives = is_answered

    def has_answered(self, url: str) -> bool:
        """Return what the run knows."""
        del url
        return self._has_answered

    async def send(
        self, method: str, url: str, headers: Sequence[tuple[str, str]], body: bytes | None
    ) -> tuple[int, CIMultiDictProxy[str], bytes]:
        """Answer while it lives."""
        self._lives = self._lives and (body is None or b'"currency"' in body)
        if self._lives:
            return await super().send(method, url, headers, body)
        raise Unreachable("no server is there")


@pytest.mark.parametrize(("is_answered", "verdict"), [(True, WARN), (False, Verdict.INCONCLUSIVE)])
async def test_who_never_answered_did_not_break(is_answered: bool, verdict: Verdict, tmp_path: Path) -> None:
    """One that answered before and then nothing at all is broken; of one that never did, nothing is known."""
    read = profile(tmp_path)
    read = read if is_answered else read.model_copy(update={"tenants": {}})  # so that nothing is created before
    outcome = await judge_check(BODIES, Dead(is_answered=is_answered), read)
    assert outcome.verdicts.get("X-ROB-01") is verdict, outcome.findings


class Ended(Gateway):
    """A gateway that ends during a request with a body of `null`, as a process does that meets it unprepared."""

    def __init__(self) -> None:
        super().__init__()
        self._lives = True

    async def send(
        self, method: str, url: str, headers: Sequence[tuple[str, str]], body: bytes | None
    ) -> tuple[int, CIMultiDictProxy[str], bytes]:
        """Close the connection of that request, and refuse every connection afterwards."""
        if not self._lives:
            raise Unreachable("cannot connect to localhost:1: Connection refused")
        if body == b"null":
            self._lives = False
            raise Unreachable("the connection was closed without an answer")
        return await super().send(method, url, headers, body)


async def test_the_input_that_ended_the_service_is_named(tmp_path: Path) -> None:
    """The finding names it, and cites its exchange."""
    outcome = await judge_check(BODIES, Ended(), profile(tmp_path))
    judgement = next(one for one in outcome.log.of("judgement") if one["row"] == "X-ROB-01")
    cited = next(one for one in outcome.log.of("exchange") if one["n"] == judgement["exchange"])
    assert outcome.verdicts.get("X-ROB-01") is WARN
    assert cited["request"]["body"] == "null"
    assert "; the last broken connections: the whole body: null (POST" in judgement["found"]


async def test_503_that_says_when_is_no_crash(tmp_path: Path) -> None:
    """A gateway whose chain is away may say so; without a time it may not."""

    def away(headers: dict[str, str]) -> Gateway:
        every = {"Content-Type": "application/json", **headers}
        return Gateway(lambda call, reply: Reply(503, {}, every) if call.body == b"[]" else reply)

    assert (await judge_check(BODIES, away({"Retry-After": "5"}), profile(tmp_path))).verdicts["X-ROB-01"] is PASS
    assert (await judge_check(BODIES, away({}), profile(tmp_path))).verdicts["X-ROB-01"] is WARN


@pytest.mark.parametrize("body", [b'{"error":NaN,"message":"x"}', b'{"error":"a","error":"b","message":"x"}'])
async def test_literals_outside_json_are_seen(body: bytes, tmp_path: Path) -> None:
    """NaN and duplicate members of a refusal break X-JSON-02, not X-JSON-01: Python and browsers parse most of it."""
    gateway = Gateway(lambda _, reply: Reply(reply.status, body) if reply.status == 400 else reply)
    assert (await judge_check(JSON, gateway, profile(tmp_path))).verdicts == {"X-JSON-01": PASS, "X-JSON-02": WARN}
    assert (await judge_check(BODIES, gateway, profile(tmp_path))).verdicts == {"X-ROB-01": PASS, "X-JSON-02": WARN}


@pytest.mark.parametrize(
    "reply",
    [
        Reply(401, b"<html>no</html>", {"Content-Type": "text/html"}),
        Reply(401, b"no"),
        Reply(401, b""),
        Reply(401, b'\xef\xbb\xbf{"error":"x","message":"x"}'),
        Reply(401, {"error": "x", "message": "x"}, {"Content-Type": "text/plain"}),
        Reply(401, {"error": "x", "message": "x"}, {}),
    ],
)
async def test_an_answer_that_is_no_json_is_seen(reply: Reply, tmp_path: Path) -> None:
    """Another type, no type, a mark in front, or no JSON breaks X-JSON-01."""
    gateway = Gateway(lambda _, usual: reply if usual.status == 401 else usual)
    assert (await judge_check(JSON, gateway, profile(tmp_path))).verdicts["X-JSON-01"] is FAIL


@pytest.mark.parametrize(
    "echo",
    [
        lambda _, secret: Reply(401, {"error": "x", "message": f"unknown key {secret}"}),
        lambda _, secret: Reply(401, {}, {"Content-Type": "application/json", "X-Debug": secret}),
        lambda _, secret: Reply(401, {"error": "x", "message": base64.b64encode(secret.encode()).decode()}),
        lambda _, secret: Reply(401, {"error": "x", "message": secret.encode().hex()}),
    ],
)
async def test_a_key_that_comes_back_is_seen(echo: Callable[[Call, str], Reply], tmp_path: Path) -> None:
    """In the body, a header, base64 or hex: X-ROB-02 is broken."""

    def change(call: Call, reply: Reply) -> Reply:
        scheme, _, secret = call.headers.get("Authorization", "").partition(" ")
        return echo(call, secret) if reply.status == 401 and scheme == "Token" else reply

    outcome = await judge_check(SECRETS, Gateway(change), profile(tmp_path))
    assert outcome.verdicts == {"X-ROB-02": FAIL}


async def test_input_that_is_told_back_by_a_refusal_is_seen(tmp_path: Path) -> None:
    """A validation error that quotes what it refuses, and a message that names path or query, warn on X-ROB-02.

    The interface has no secret in those places.
    """

    def quote_input(call: Call, reply: Reply) -> Reply:
        return (
            Reply(422, {"error": "x", "message": "x", "input": call.body.decode("latin-1")})
            if reply.status == 422
            else reply
        )

    def name_input(call: Call, reply: Reply) -> Reply:
        return Reply(404, {"error": "x", "message": f"no {call.path}?{call.query}"}) if reply.status == 404 else reply

    for change in (quote_input, name_input):
        outcome = await judge_check(SECRETS, Gateway(change), profile(tmp_path))
        assert outcome.verdicts == {"X-ROB-02": WARN}


async def test_a_request_id_that_is_taken_over_is_no_secret(tmp_path: Path) -> None:
    """Many servers answer with the caller's X-Request-Id, which no caller makes of a key."""

    def take_over_id(call: Call, reply: Reply) -> Reply:
        request_id = call.headers.get("X-Request-Id")
        return (
            reply
            if request_id is None
            else Reply(reply.status, reply.document, {**reply.headers, "X-Request-Id": request_id})
        )

    outcome = await judge_check(SECRETS, Gateway(take_over_id), profile(tmp_path))
    assert outcome.verdicts == {"X-ROB-02": Verdict.PASS}


def test_a_secret_is_found_in_every_shape() -> None:
    """As it is, percent-encoded, in base64 with any padding and in hex; parts of it do not count."""
    secret = "weld_+/abcDEF123456"

    def answer(body: bytes, **headers: str) -> Answer:
        return Answer(1, 401, CIMultiDictProxy(CIMultiDict(headers)), body)

    assert comes_back(answer(secret.encode()), secret) == ["the body, as it was sent"]
    assert comes_back(answer(b"", Location="/x?k=weld_%2B%2FabcDEF123456"), secret) == [
        "the header Location, percent-encoded"
    ]
    assert comes_back(answer(base64.b64encode(secret.encode())), secret)
    assert comes_back(answer(secret.encode().hex().encode()), secret)
    assert comes_back(answer(secret[:-1].encode(), X="weld_"), secret) == []


@pytest.mark.parametrize(
    "text",
    [b"", b"{", b"\xff", b"\xef\xbb\xbf{}", '{"é":1}'.encode("utf-16"), b'{"a":NaN}', b'{"a":1,"a":2}', b"[Infinity]"],
)
def test_what_is_not_json_is_refused(text: bytes) -> None:
    """RFC 8259 to the letter."""
    with pytest.raises(JsonTextFault):
        strict_json(text)


def test_json_and_its_media_types_are_taken() -> None:
    """Values of every kind; application/json and +json, nothing else."""
    assert strict_json('{"a":[1,2.5,null,true,"é\\ud83d\\ude00"]}'.encode()) == {"a": [1, 2.5, None, True, "é😀"]}
    kinds = [
        "application/json",
        "Application/JSON; charset=utf-8",
        "application/did+json",
        "text/json",
        "application/jsonp",
        None,
        "",
    ]
    assert [is_json_type(one) for one in kinds] == [True, True, True, False, False, False, False]


class Socket:
    """A server that gives each client the same answer and stores what it was sent."""

    def __init__(self, answer: bytes) -> None:
        self._answer = answer
        self.sent: list[bytes] = []

    async def __aenter__(self) -> str:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        await self._server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.sent.append(await reader.read())
        writer.write(self._answer)
        await writer.drain()
        writer.close()


async def test_raw_requests_go_out_as_they_are_written() -> None:
    """Method, target and fields stand on the wire byte for byte; what is missing is added, what is given is not."""
    server = Socket(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 2\r\nX-A: 1\r\nX-A: 2\r\n\r\nno")
    async with server as address:
        raw = RawTransport(address, seconds=30)
        status, headers, body = await raw.send(
            "gEt", address + "/%zz\udcff?é", [("X-B", "a\0b"), ("X-C", "\udcfe")], b"{}"
        )
        assert (status, headers.getall("X-A"), body) == (400, ["1", "2"], b"no")
        await raw.send(
            "POST", address + "/ HTTP/9.9", [("Content-Length", "x"), ("Host", "h"), ("Connection", "c")], b"{}"
        )
        await raw.send("POST", address + "/", [("Transfer-Encoding", "chunked")], b"0\r\n\r\n")
    host = address.removeprefix("http://").encode()
    assert server.sent == [
        b"gEt /%zz\xff?\xc3\xa9 HTTP/1.1\r\nHost: " + host + b"\r\nConnection: close\r\nContent-Length: 2\r\n"
        b"X-B: a\x00b\r\nX-C: \xfe\r\n\r\n{}",
        b"POST / HTTP/9.9\r\nContent-Length: x\r\nHost: h\r\nConnection: c\r\n\r\n{}",
        b"POST / HTTP/1.1\r\nHost: " + host + b"\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    ]


@pytest.mark.parametrize(
    ("headers", "stays"),
    [([("Host", "a..b")], True), ([("Host", "a..b"), ("content-length", "9")], False), ([("X-Host", "a")], False)],
)
async def test_a_host_of_ones_own_leaves_the_connection_open(headers: list[tuple[str, str]], stays: bool) -> None:
    """A server that broke down would not answer a client that has left; one that waits for a body has to see an end."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        status = b"204 Ended"
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(0.3):
                await reader.read()
        if not reader.at_eof():
            status = b"200 Open"
        writer.write(b"HTTP/1.1 " + status + b"\r\nContent-Length: 0\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        address = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        status, *_ = await RawTransport(address, seconds=30).send("GET", address + "/", headers, None)
    assert status == (200 if stays else 204)


@pytest.mark.parametrize("answer", [b"", b"nonsense\r\n\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nno"])
async def test_a_connection_without_an_answer_is_unreachable(answer: bytes) -> None:
    """Nothing, no HTTP or half an answer is invalid."""
    async with Socket(answer) as address:
        with pytest.raises(Unreachable):
            await RawTransport(address, seconds=30).send("GET", address + "/", [], None)


@pytest.mark.parametrize(("status", "verdict"), [(400, PASS), (501, PASS), (505, PASS), (500, WARN), (502, WARN)])
async def test_hostile_heads_are_judged(status: int, verdict: Verdict, tmp_path: Path) -> None:
    """501 and 505 are HTTP's own words for methods, codings and versions; any other 5xx is a crash."""
    server = Socket(f"HTTP/1.1 {status} X\r\nContent-Length: 0\r\n\r\n".encode())
    async with server as address:
        text = profile(tmp_path).model_copy(update={"surfaces": {"gateway": target.Surface(url=address)}})
        gateway = Gateway()
        outcome = await judge_check("hostile_requests_at_the_gateway", gateway, text)
    assert outcome.verdicts == {"X-ROB-01": verdict, "X-JSON-02": PASS}
    assert len(server.sent) > 150
    assert BASE not in "".join(one.decode("latin-1") for one in server.sent)
