"""One line in the log for each call, with the ids of its trace and nothing secret (P-CV-26)."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator, MutableMapping
from pathlib import Path
from typing import Any

import aiohttp
import httpx
import pytest
from aiohttp import web

from reference.web.http.asgi_envelope import Envelope
from reference.web.http.call_records import CallRecords
from reference.web.http.trace_context import CURRENT, TraceContext, build_client_tracing, read_context
from reference.web.settings import CommonSettings
from tests.reference.web.five_services import SERVICES, five_services
from tests.reference.worker_process import WorkerProcess

TRACE, PARENT = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
TRACEPARENT = f"00-{TRACE}-{PARENT}-01"
SECRET = "5ecret5ecret5ecret5ecret5ecret5ecret5ecret5"
REQUEST_ID = "req_" + "ab" * 16


@pytest.fixture(scope="module")
def services(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, WorkerProcess]]:
    """One worker of each service, with a line for each call."""
    settings = {"WP_REQUEST_LOG": "on", "WP_TRUSTED_PROXIES": "127.0.0.1"}
    with five_services(tmp_path_factory.mktemp("services"), **settings) as workers:
        yield workers


def find_line(worker: WorkerProcess, answer: httpx.Response) -> dict[str, Any]:
    """Return the line of an answer."""
    lines = [json.loads(line) for line in worker.log().splitlines()]
    (found,) = [line for line in lines if line.get("request_id") == answer.headers["X-Request-Id"]]
    return dict(found)


@pytest.mark.parametrize("service", SERVICES)
def test_each_call_has_a_line(services: dict[str, WorkerProcess], service: str) -> None:
    """With method, route, status and time, of a path that exists and of one that does not."""
    worker = services[service]
    line = find_line(worker, worker.http.get("/health/live"))
    assert {name: line[name] for name in ("event", "level", "method", "route", "status")} == {
        "event": "request",
        "level": "info",
        "method": "GET",
        "route": "/health/live",
        "status": 200,
    }
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", line["timestamp"])
    assert line["milliseconds"] > 0
    assert "trace_id" not in line
    assert find_line(worker, worker.http.get("/health"))["route"] == "/health"
    unknown = find_line(worker, worker.http.request("PROPFIND", f"/{SECRET}?key={SECRET}"))
    assert (unknown["method"], unknown["route"]) == ("other", "other")
    assert unknown["status"] in {404, 405}


@pytest.mark.parametrize(
    ("service", "method", "path", "route", "code"),
    [
        ("rail", "POST", "/pay/v1/verify/receipt", "/pay/v1/verify/receipt", "payload_too_large"),
        ("gateway", "GET", f"/checkout/{SECRET}/status", "/checkout/<token>/status", "not_found"),
        ("gateway", "POST", "/v1/payment-links", "/v1/payment-links", "invalid_api_key"),
        ("control_plane", "GET", f"/v1/services/{SECRET}", "other", None),
    ],
)
def test_a_line_has_the_operation_and_the_code(
    services: dict[str, WorkerProcess], service: str, method: str, path: str, route: str, code: str | None
) -> None:
    """The route has names in place of tokens; a refusal has its code."""
    worker = services[service]
    body = b" " * 70_000 if code == "payload_too_large" else b""
    answer = worker.http.request(method, path, headers={"Authorization": f"Bearer {SECRET}"}, content=body)
    line = find_line(worker, answer)
    assert (line["route"], line["status"], line.get("code")) == (route, answer.status_code, code)


@pytest.mark.parametrize("service", SERVICES)
def test_ids_of_a_trace_are_in_the_line_and_nothing_secret(services: dict[str, WorkerProcess], service: str) -> None:
    """The id of a trusted proxy is recorded and never answered; proofs, tokens, queries and bodies are in no line."""
    worker = services[service]
    headers = {
        "traceparent": TRACEPARENT,
        "X-Request-Id": "proxy-1",
        "Authorization": f"Bearer {SECRET}",
        "X-PAYMENT": SECRET,
        "Cookie": SECRET,
    }
    answer = worker.http.post(f"/a2a?{SECRET}", headers=headers, json={SECRET: SECRET})
    line = find_line(worker, answer)
    assert answer.headers["X-Request-Id"] != "proxy-1"
    assert (line["trace_id"], line["parent_id"], line["proxy_request_id"]) == (TRACE, PARENT, "proxy-1")
    assert line["span_id"] == line["request_id"][4:20]
    assert SECRET not in worker.log()


async def test_a_client_that_goes_away_is_recorded() -> None:
    """With status 499; its call was not answered."""
    records = CallRecords()

    async def app(scope: object, receive: object, send: object) -> None:
        del scope, receive, send
        await asyncio.Event().wait()

    async def receive() -> MutableMapping[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: object) -> None:
        raise AssertionError(message)

    scope = {"type": "http", "method": "GET", "path": "/x", "query_string": b"", "headers": []}
    task = asyncio.create_task(Envelope(app, 1024, records=records, routes={"/x"})(scope, receive, send))
    await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    answers = next(metric for metric in records.metrics(None) if metric.name == "weldproof_http_requests")
    assert dict(answers.values) == {("GET", "/x", "499"): 1}


@pytest.mark.parametrize(
    ("value", "is_taken"),
    [
        (TRACEPARENT, True),
        (TRACEPARENT.replace("00-", "cc-", 1) + "-further", True),
        (TRACEPARENT + "-further", False),
        (TRACEPARENT.replace("00-", "ff-", 1), False),
        (TRACEPARENT.upper(), False),
        (f"00-{'0' * 32}-{PARENT}-01", False),
        (f"00-{TRACE}-{'0' * 16}-01", False),
        (f" {TRACEPARENT}", False),
        ("", False),
    ],
)
def test_only_a_valid_traceparent_is_taken(value: str, *, is_taken: bool) -> None:
    """As W3C Trace Context says; a version that is not known yet is read by the fields of version 00."""
    context = read_context(REQUEST_ID, [(b"traceparent", value.encode())], "192.0.2.1", ())
    assert context.trace_id == (TRACE if is_taken else "")
    assert ("traceparent" in context.headers()) is is_taken


def test_two_traceparents_are_none() -> None:
    """Which of them counts would be a guess."""
    field = (b"traceparent", TRACEPARENT.encode())
    assert not read_context(REQUEST_ID, [field, field], "192.0.2.1", ()).trace_id


@pytest.mark.parametrize(
    ("peer", "value", "taken"),
    [
        ("192.0.2.1", b"id-1", ""),
        ("127.0.0.1", b"id-1", "id-1"),
        ("127.0.0.1", b"id 1", ""),
        ("127.0.0.1", b"i" * 65, ""),
        ("127.0.0.1", b'"\n{', ""),
    ],
)
def test_only_a_trusted_proxy_names_a_call(peer: str, value: bytes, taken: str) -> None:
    """Free text of other callers does not come into the log."""
    proxies = CommonSettings(trusted_proxies=("127.0.0.1",)).proxies()
    assert read_context(REQUEST_ID, [(b"x-request-id", value)], peer, proxies).proxy_request_id == taken


async def test_calls_to_nodes_carry_the_ids() -> None:
    """Those of the call that is being answered; a call that is made for none carries none."""
    received: list[dict[str, str]] = []

    async def note(request: web.Request) -> web.Response:
        received.append({name.lower(): value for name, value in request.headers.items()})
        return web.Response()

    app = web.Application()
    app.router.add_get("/", note)
    runner = web.AppRunner(app)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        host, port = runner.addresses[0][:2]
        async with aiohttp.ClientSession(trace_configs=[build_client_tracing()]) as session:

            async def ask(context: TraceContext | None) -> None:
                CURRENT.set(context)
                async with session.get(f"http://{host}:{port}/"):
                    pass

            contexts = (TraceContext(REQUEST_ID, TRACE, PARENT, "01"), TraceContext(REQUEST_ID), None)
            for context in contexts:
                await asyncio.create_task(ask(context))
    finally:
        await runner.cleanup()
    assert [call.get("x-request-id") for call in received] == [REQUEST_ID, REQUEST_ID, None]
    assert [call.get("traceparent") for call in received] == [f"00-{TRACE}-{'ab' * 8}-01", None, None]


@pytest.mark.parametrize(
    ("settings", "is_on"),
    [
        ({"mode": "live"}, True),
        ({"mode": "test"}, False),
        ({"mode": "test", "request_log": True}, True),
        ({"mode": "live", "request_log": False}, False),
        ({"mode": "live", "log_level": "warning"}, False),
    ],
)
def test_when_calls_are_logged(settings: dict[str, Any], *, is_on: bool) -> None:
    """By default in live mode; the level of the log is honoured."""
    assert CommonSettings(**settings).logs_requests is is_on


def test_the_log_is_off_in_test_mode(tmp_path: Path) -> None:
    """Development stacks keep short logs."""
    worker = WorkerProcess(tmp_path, ("-m", "reference.agent"), "WP_AGENT_FD", {})
    try:
        worker.start().ready()
        assert '"event":"request"' not in worker.log()
    finally:
        worker.close()
