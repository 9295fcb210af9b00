"""`weldproof check`: what it says of servers that sell, of broken ones, and of what is no target at all."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests import prepared
from tests.conformance.cli.test_wrong_targets import ALIKE, OF_NODE, RIGHT, SILENT
from tests.conformance.first_look.test_x402_rules import (
    OF_VERSION_ONE,
    VERSION_ONE,
    change_offer,
    encode_document,
    terms,
)
from tests.conformance.node_servers import node_servers
from tests.conformance.wrong_targets import (
    Serve,
    answer_all,
    certificates,
    dropping_half_closed,
    hangs,
    read_again,
    routing,
    serve_connections,
    whole_request,
)
from tests.reserved_port import reserved_port

# Long enough that a busy machine reaches everything.
PATIENT = ("--seconds", "300", "--timeout", "60")

# What is sold there, wherever the server stands.
AT_WEATHER = {"resource": {"url": "/weather"}}


def run_check(folder: Path, url: str, *words: str) -> subprocess.CompletedProcess[str]:
    """Run the command."""
    return prepared.run("conformance", "check", url, *words, env=os.environ, cwd=folder, timeout=600)


def look_as_json(folder: Path, url: str, *words: str) -> tuple[int, dict[str, Any]]:
    """Run the command and return its exit code and its JSON."""
    result = run_check(folder, url, "--json", *PATIENT, *words)
    document: dict[str, Any] = json.loads(result.stdout)
    assert document["exit_code"] == result.returncode, result.stderr
    return result.returncode, document


def serve_terms(document: Mapping[str, Any], *fields: str, status: str = "402 Payment Required") -> Serve:
    """Return what answers every call with the same terms, as stock servers do."""
    header = f"PAYMENT-REQUIRED: {encode_document({**document, **AT_WEATHER})}"
    return answer_all(status, b"{}", header, "Cache-Control: no-store", *fields)


def broken_ids(document: dict[str, Any]) -> set[str]:
    """Return the ids of what a look found broken."""
    results = [*document["x402"]["rules"], *document["requirements"]]
    return {one["id"] for one in results if one["verdict"] in {"fail", "warn"}}


@pytest.mark.parametrize("name", SILENT)
def test_a_server_without_an_answer_is_told_by_its_reason(name: str, tmp_path: Path) -> None:
    """One line, exit code 3, nothing on standard output."""
    serve, over_tls, scheme, message = SILENT[name]
    tls = certificates(tmp_path).server if over_tls else None
    with serve_connections(serve, tls) as place:
        timeout = ("--timeout", "0.5") if "answer within" in message else PATIENT
        result = run_check(tmp_path, f"{scheme}://{place}", *timeout)
    assert (result.returncode, result.stdout, message in result.stderr) == (3, "", True), result.stderr
    assert len(result.stderr.strip().splitlines()) == 1


def test_a_server_that_hangs_ends_with_the_seconds(tmp_path: Path) -> None:
    """Whatever an answer may take, the look takes no longer than agreed."""
    with serve_connections(hangs) as place:
        result = run_check(tmp_path, f"http://{place}", "--timeout", "500", "--seconds", "2")
    assert (result.returncode, "no answer within 2 s" in result.stderr) == (3, True), result.stderr


@pytest.mark.parametrize("name", ["dead", "no such host"])
def test_an_address_where_nobody_is_is_told(name: str, tmp_path: Path) -> None:
    """The user learns whether it is the port or the name."""
    with reserved_port() as port:
        place = f"127.0.0.1:{port}" if name == "dead" else "no-such-host.invalid"
        message = "Is the server running" if name == "dead" else "there is no host no-such-host.invalid"
        result = run_check(tmp_path, f"http://{place}", *PATIENT)
    assert (result.returncode, message in result.stderr) == (3, True), result.stderr


@pytest.mark.parametrize("name", ALIKE)
def test_a_server_that_answers_everything_alike_is_nothing_that_is_known(name: str, tmp_path: Path) -> None:
    """It says what was answered, and what address to give."""
    serve, message = ALIKE[name]
    message = "looks like no x402 server" if message == "not a surface that the suite knows" else message
    with serve_connections(serve) as place:
        result = run_check(tmp_path, f"http://{place}", *PATIENT)
    assert (result.returncode, message in result.stderr) == (3, True), result.stderr
    assert "Grade: none" in result.stdout
    assert "Give the address of a paid resource" in result.stderr


def test_servers_of_node_are_told_by_their_reasons(tmp_path: Path) -> None:
    """The same ones that `init` is pointed at, those of other reasons than above."""
    with node_servers(tmp_path) as places:
        for name in ("tls", "redirecting", "breaking", "http2"):
            scheme, message = OF_NODE[name]
            result = run_check(tmp_path, f"{scheme}://{places[name]}", *PATIENT)
            assert result.returncode == 3, name
            assert message.replace("its / answered", "it answered") in result.stderr, name


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("localhost:8402",), "give an address such as"),
        (("http://",), "give an address such as"),
        (("http://127.0.0.1:9", "--config", "x.toml"), "is only for --pay"),
        (("http://127.0.0.1:9", "--pay", "--json"), "cannot be combined with --json"),
        (("http://127.0.0.1:9", "--seconds", "0"), "0.0 is not in the range"),
        (("http://127.0.0.1:9", "--cacert", "none.pem"), "cannot read none.pem"),
    ],
)
def test_what_cannot_be_used_is_a_fault_of_usage(words: tuple[str, ...], message: str, tmp_path: Path) -> None:
    """Exit code 2 before any server is called."""
    result = run_check(tmp_path, *words)
    assert (result.returncode, message in result.stderr) == (2, True), result.stderr


def test_a_stock_server_is_held_to_the_standard(tmp_path: Path) -> None:
    """What it is, which requirements do not apply and why, and what a weld would add; all in words and as JSON."""
    with serve_connections(serve_terms(terms())) as place:
        code, document = look_as_json(tmp_path, f"http://{place}/weather")
        result = run_check(tmp_path, f"http://{place}/weather", *PATIENT)
    assert (code, broken_ids(document), document["surfaces"]) == (0, set(), [])
    assert document["x402"]["welded"] is False
    (why, rail), _ = [(one["reason"], one["rows"]) for one in document["not_applicable"]]
    assert "no extra.payment_reference" in why
    assert "RAIL-WELD-01" in rail
    assert document["paying"] is None
    assert "GET is answered 402 with offers of exact on Base Sepolia, Solana Devnet (no weld)" in result.stdout
    assert "Why a weld is safer" in result.stdout
    assert "Grade: sound as far as can be seen" in result.stdout


@pytest.mark.parametrize(
    ("member", "value", "rule"),
    [("amount", 0.01, "X402-09"), ("network", "base-sepolia", "X402-08"), ("maxTimeoutSeconds", "60", "X402-12")],
)
def test_a_broken_stock_server_fails_by_the_rule(member: str, value: Any, rule: str, tmp_path: Path) -> None:
    """Exit code 1, the rule, what was found, and what to change."""
    with serve_connections(serve_terms(change_offer(0, **{member: value}))) as place:
        code, document = look_as_json(tmp_path, f"http://{place}/weather")
        result = run_check(tmp_path, f"http://{place}/weather", *PATIENT)
    assert (code, broken_ids(document)) == (1, {rule})
    assert f"FAIL  {rule}" in result.stdout
    assert f"accepts[0].{member} is" in result.stdout
    assert "Grade: broken: it breaks 1 of" in result.stdout


@pytest.mark.parametrize(
    "documents",
    [
        {
            "/openapi.json": {
                "openapi": "3.1.0",
                "paths": {"/free": {"get": {}}, "/a/{id}": {"get": {}}, "/sold": {"get": {}}},
            }
        },
        {"/.well-known/x402": {"version": 1, "resources": ["/sold", "https://elsewhere.example/sold"]}},
        {"/discovery/resources": {"items": [{"resource": "/sold"}]}},
    ],
    ids=["OpenAPI", "catalog", "listing"],
)
def test_what_is_sold_is_found_by_the_servers_documents(documents: dict[str, object], tmp_path: Path) -> None:
    """The address of the server is enough where it tells what can be called."""
    answers: dict[tuple[str, str], tuple[int, object]] = {("GET", path): (200, one) for path, one in documents.items()}
    answers |= {("GET", "/sold"): (402, terms() | {"resource": {"url": "/sold"}}), ("GET", "/free"): (200, {})}
    with serve_connections(routing(answers)) as place:
        code, document = look_as_json(tmp_path, f"http://{place}")
    # Its terms are in the body alone, which no client reads.
    assert (code, broken_ids(document)) == (1, {"X402-02", "X402-19"})
    assert document["x402"]["url"] == f"http://{place}/sold"


def test_a_server_of_version_one_is_reported_as_one(tmp_path: Path) -> None:
    """Its five breaches have one cause and one remedy, and it is not said that no client can pay it."""
    with serve_connections(answer_all("402 x", json.dumps(VERSION_ONE).encode())) as place:
        code, document = look_as_json(tmp_path, f"http://{place}/weather")
        result = run_check(tmp_path, f"http://{place}/weather", *PATIENT)
    assert code == 1
    assert document["x402"]["kind"].startswith("An x402 server of version 1: its terms are in the body")
    assert "no client" not in result.stdout
    caused_rules = {one["id"] for one in document["x402"]["rules"] if one["cause"] == "terms of version 1"}
    assert caused_rules == OF_VERSION_ONE
    assert broken_ids(document) == {*OF_VERSION_ONE, "X402-19"}
    assert "FAIL  one cause, terms of version 1: X402-02, X402-04, X402-05, X402-08, X402-09" in result.stdout
    assert result.stdout.count("Send terms of version 2 in the header PAYMENT-REQUIRED") == 1
    assert "it breaks 5 of" in result.stdout
    assert "5 of them by one cause, terms of version 1" in result.stdout


def test_what_cannot_be_verified_is_named_in_the_grade(tmp_path: Path) -> None:
    """A domain of a contract that is not known here counts as neither kept nor broken."""
    polygon = {"network": "eip155:137", "asset": "0x3c499c542cEF5E3811e1192ce70d8cC03d5c3359"}
    with serve_connections(serve_terms(change_offer(0, **polygon))) as place:
        code, document = look_as_json(tmp_path, f"http://{place}/weather")
        result = run_check(tmp_path, f"http://{place}/weather", *PATIENT)
    assert code == 0
    assert document["grade"].endswith("; not verified: X402-15")
    assert "not verified: accepts[0] on 'eip155:137'" in result.stdout


def test_a_server_that_serves_whoever_sends_a_payment_is_broken(tmp_path: Path) -> None:
    """A payment that cannot be read, or that is not signed, is presented, and must buy nothing."""
    unpaid = f"PAYMENT-REQUIRED: {encode_document(terms() | AT_WEATHER)}"
    with serve_connections(_serve_any_payment(unpaid)) as place:
        code, document = look_as_json(tmp_path, f"http://{place}/weather")
    assert (code, broken_ids(document)) == (1, {"X402-22", "X402-23"})


@pytest.mark.parametrize("behind", [lambda serve: serve, dropping_half_closed])
def test_a_server_that_is_free_by_another_spelling_is_broken(tmp_path: Path, behind: Callable[[Serve], Serve]) -> None:
    """The path is charged for, and the router behind the paywall drops path parameters; nginx may stand in front."""
    with serve_connections(
        behind(_dropping_parameters(f"PAYMENT-REQUIRED: {encode_document(terms() | AT_WEATHER)}"))
    ) as place:
        code, document = look_as_json(tmp_path, f"http://{place}/weather")
    assert (code, broken_ids(document)) == (1, {"X402-28"})
    [rule] = [one for one in document["x402"]["rules"] if one["id"] == "X402-28"]
    assert "GET /weather;x (a path parameter) is served" in rule["found"]


def _dropping_parameters(header: str) -> Serve:
    close_header = "Connection: close"
    unpaid = answer_all("402 x", b"{}", header, "Cache-Control: no-store", close_header)
    free, absent = answer_all("200 OK", b'{"sunny":true}', close_header), answer_all("404 x", b"{}", close_header)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request_bytes = await whole_request(reader)
        target = request_bytes.split(b" ")[1]
        answer_bytes = unpaid if target == b"/weather" else free if target.partition(b";")[0] == b"/weather" else absent
        with contextlib.suppress(asyncio.IncompleteReadError):
            await answer_bytes(read_again(request_bytes), writer)

    return serve


def _serve_any_payment(header: str) -> Serve:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            is_paid = b"\r\npayment-signature:" in head.lower()
            lines = [
                f"HTTP/1.1 {'200 OK' if is_paid else '402 x'}",
                *([] if is_paid else [header]),
                "Cache-Control: no-store",
            ]
            writer.write("\r\n".join([*lines, "Content-Length: 0", "", ""]).encode())
            await writer.drain()

    return serve


def test_a_rail_is_recognised_and_judged(tmp_path: Path) -> None:
    """One whose challenge says next to nothing fails by many requirements, each with a curl line."""
    with serve_connections(RIGHT) as place:
        code, document = look_as_json(tmp_path, f"http://{place}")
    assert (code, [one["surface"] for one in document["surfaces"]]) == (1, ["rail"])
    assert {"RAIL-402-03", "RAIL-402-06", "X402-02"} <= broken_ids(document)
    failed_row = next(one for one in document["requirements"] if one["id"] == "RAIL-402-06")
    assert failed_row["findings"][0]["curl"].startswith("curl ")
    waiting_rows = {row for one in document["not_judged"] if one["takes"] == "payments" for row in one["rows"]}
    assert "RAIL-PAY-01" in waiting_rows


def test_nothing_is_created_on_a_server_that_would_let_anybody(tmp_path: Path) -> None:
    """A gateway that needs no credential, and stores whatever it is sent, has stored nothing afterwards."""
    kept_requests: list[str] = []
    with serve_connections(_open_to_all(kept_requests)) as place:
        code, document = look_as_json(tmp_path, f"http://{place}")
    assert [one["surface"] for one in document["surfaces"]] == ["gateway"]
    assert document["requirements"], code
    assert kept_requests == []


def _open_to_all(kept_requests: list[str]) -> Serve:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            method, target, _ = head.split(" ", 2)
            fields = dict(line.lower().split(": ", 1) for line in head.split("\r\n")[1:] if ": " in line)
            body = await reader.readexactly(int(fields.get("content-length", 0)))
            status: int = 404
            value: dict[str, Any] = {"error": "not_found"}
            if target == "/v1/receipt/verify":
                status, value = 200, {"valid": False, "code": "malformed"}
            elif method == "GET" and target == "/openapi.json":
                status, value = 200, {"openapi": "3.1.0", "paths": {"/v1/payment-links": {"post": {}}}}
            elif method != "GET" and body.strip() in {b"", b"{}"} and method == "POST":
                status, value = 422, {"error": "validation_error"}
            elif method not in {"GET", "HEAD", "OPTIONS", "TRACE"}:
                kept_requests.append(f"{method} {target} {body[:80]!r}")
                status, value = 201, {"token": "kept"}
            answer = b"" if method == "HEAD" else json.dumps(value).encode()
            lines = [f"HTTP/1.1 {status} x", "Content-Type: application/json", f"Content-Length: {len(answer)}", "", ""]
            writer.write("\r\n".join(lines).encode() + answer)
            await writer.drain()

    return serve


def test_paying_says_what_it_would_take(tmp_path: Path) -> None:
    """Without a profile it says how to write one; with that of another server it pays no one."""
    document = change_offer(extra={"name": "USDC", "version": "2", "payment_reference": "token"})
    with serve_connections(serve_terms(document)) as place:
        unsent_check = run_check(tmp_path, f"http://{place}/weather", "--pay", *PATIENT)
    with serve_connections(RIGHT) as place:
        how = run_check(tmp_path, f"http://{place}", "--pay", *PATIENT)
        (tmp_path / "weldproof.toml").write_text('[surfaces.rail]\nurl = "http://127.0.0.1:9"\n')
        second_run = run_check(tmp_path, f"http://{place}", "--pay", *PATIENT)
    assert (unsent_check.returncode, "a payment would not add a requirement" in unsent_check.stderr) == (2, True), (
        unsent_check.stderr
    )
    assert (how.returncode, "--base-rpc ADDRESS --base-funder-env VARIABLE" in how.stderr) == (2, True), how.stderr
    assert (second_run.returncode, "describes another server" in second_run.stderr) == (2, True), second_run.stderr


def test_paying_runs_the_suite_with_the_profile_that_says_who_pays(tmp_path: Path) -> None:
    """After the look, with the run's own report and exit code; here no payment is possible, since no node answers."""
    with serve_connections(RIGHT) as place, reserved_port() as port:
        (tmp_path / "target.toml").write_text(
            f'[surfaces.rail]\nurl = "http://{place}"\n[claims]\nsurfaces = ["rail"]\nlanes = ["base"]\n'
            f'[pace]\nrequests_per_second = 0\n[chains.base]\nnetwork = "base_sepolia"\nrpc = "http://127.0.0.1:{port}"\n'
        )
        result = run_check(tmp_path, f"http://{place}", "--pay", "--config", "target.toml", *PATIENT)
    look, _, run = result.stdout.partition("weldproof run --config target.toml")
    assert "Grade: broken" in look
    assert "Failed:" in run, result.stderr
    assert result.returncode == 1
    assert (tmp_path / "report" / "report.json").exists()


def test_a_rail_that_says_what_no_profile_takes_is_judged_all_the_same(tmp_path: Path) -> None:
    """A price in dollars and no time at all are the rail's faults, no faults of usage or of the suite."""
    path, offer = "/pay/v1/receipt/verify", {"scheme": "exact", "network": "eip155:8453"}
    wrong = {**offer, "maxAmountRequired": "0.01", "maxTimeoutSeconds": 0}
    paid_operation = {
        "responses": {"402": {}},
        "requestBody": {"content": {"application/json": {"example": {"jws": "a.b.c"}}}},
    }
    answers: dict[tuple[str, str], tuple[int, object]] = {
        ("GET", "/openapi.json"): (200, {"openapi": "3.1.0", "paths": {path: {"post": paid_operation}}}),
        ("POST", path): (402, {"x402Version": 2, "accepts": [wrong]}),
    }
    with serve_connections(routing(answers)) as place:
        code, document = look_as_json(tmp_path, f"http://{place}")
        init = prepared.run("conformance", "init", f"http://{place}", env=os.environ, cwd=tmp_path, timeout=600)
    assert (code, "RAIL-402-09" in broken_ids(document)) == (1, True)
    assert init.returncode == 0, init.stderr
    file_text = (tmp_path / "weldproof.toml").read_text("utf-8")
    assert "0.01" not in file_text
    assert "challenge_ttl" not in file_text
    assert 'scheme = "exact"' in file_text
