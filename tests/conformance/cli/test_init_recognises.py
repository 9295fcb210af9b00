"""What `weldproof init` takes for a surface, and which networks and names it finds there."""

from __future__ import annotations

import datetime as dt
import json
import threading
import time
import tomllib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from conformance.cli import main
from conformance.discovery.operation_presence import NOWHERE
from conformance.vocabulary.networks import network_named
from tests.conformance.served import serve
from tests.reserved_port import reserved_port

PATH = "/pay/v1/receipt/verify"
HTML = (200, {"Content-Type": "text/html"}, b"<!doctype html><title>Shop</title>")
ID = "11111111-1111-4111-8111-111111111111"
Raw = tuple[int, Mapping[str, str], bytes]


@contextmanager
def serve_answers(answer: Callable[[str, str], Raw]) -> Iterator[str]:
    """Serve raw answers by method and path; yields the address."""

    class Handler(BaseHTTPRequestHandler):
        def _take(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            status, fields, content = answer(self.command, self.path)
            self.send_response(status)
            for name, value in {**fields, "Content-Length": str(len(content))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST = _take  # noqa: N815 - names that the server looks for

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def run_init(folder: Path, *words: str, **environment: str) -> tuple[int, str, dict[str, Any]]:
    """Run the command, and return its exit code, what it said and the profile that it wrote."""
    file = folder / "w.toml"
    result = CliRunner().invoke(main, ["init", *words, "-o", str(file)], env=environment)
    return result.exit_code, result.output, tomllib.loads(file.read_text("utf-8")) if file.exists() else {}


@pytest.mark.parametrize(
    ("answer", "looks"),
    [
        (lambda *_: HTML, "200 with an HTML page"),
        (lambda *_: (302, {"Location": "https://shop.example/"}, b""), "302 to https://shop.example/"),
        (lambda *_: (200, {"Content-Type": "application/json"}, b"{}"), "200 with application/json"),
        (lambda *_: (401, {"Content-Type": "application/json"}, b'{"error":"no","message":"no"}'), "401"),
        (lambda *_: (200, {"Content-Type": "text/plain"}, b"ok"), "200 with text/plain"),
    ],
)
def test_what_answers_alike_everywhere_is_no_surface(tmp_path: Path, answer: Any, looks: str) -> None:
    """A page, a redirect and a server that gives the same answer to everything are reported as what they look like."""
    with serve_answers(answer) as url:
        code, output, profile = run_init(tmp_path, url)
    assert (code, profile) == (3, {})
    assert "not a surface that the suite knows" in output
    assert looks in output


def test_a_gateway_with_receipts_alone_is_one(tmp_path: Path) -> None:
    """Its one operation is enough, and the member that carries the receipt is found."""

    def answer(method: str, target: str, _: Any, body: bytes) -> tuple[int, Any]:
        if (method, target) != ("POST", "/v1/receipt/verify"):
            return 404, {"error": "not_found", "message": "There is nothing here."}
        has_receipt = "receipt_jws" in json.loads(body)
        return 422, {"error": "tampered" if has_receipt else "no_receipt", "message": "It does not verify."}

    with serve(answer) as server:
        code, output, profile = run_init(tmp_path, server.url)
    assert code == 0, output
    assert profile["surfaces"] == {"gateway": {"url": server.url}}
    assert profile["gateway"]["receipt_member"] == "receipt_jws"


def rail(network: str) -> Any:
    """Return what answers as a rail with one operation that is sold on a network."""
    post = {"responses": {"402": {}}, "requestBody": {"content": {"application/json": {"example": {"jws": "a.b.c"}}}}}
    entry = {"network": network, "scheme": "exact", "maxTimeoutSeconds": 600, "maxAmountRequired": "1"}

    def answer(method: str, target: str, _: Any, __: bytes) -> tuple[int, Any]:
        if target == "/openapi.json":
            return 200, {"openapi": "3.1.0", "paths": {PATH: {"post": post}}}
        return (402, {"accepts": [entry]}) if (method, target) == ("POST", PATH) else (404, {})

    return answer


def node(answers: Mapping[str, Any]) -> Any:
    """Return what answers as a JSON-RPC node."""

    def answer(_: str, __: str, ___: Any, body: bytes) -> tuple[int, Any]:
        question = json.loads(body)
        return 200, {"jsonrpc": "2.0", "id": question["id"], "result": answers[question["method"]]}

    return answer


@pytest.mark.parametrize(
    ("lane", "key", "node_answers"),
    [
        ("base", "base_sepolia", {"eth_chainId": hex(84532)}),
        ("base", "base_mainnet", {"eth_chainId": hex(8453)}),
        ("solana", "solana_devnet", {"getGenesisHash": "EtWTRABZaYq6iMfeYKouRu166VU2xqa1wcaWoxPkrZBG"}),
    ],
)
def test_the_node_says_which_network_it_serves(
    tmp_path: Path, lane: str, key: str, node_answers: Mapping[str, Any]
) -> None:
    """The profile has the network of the node that was given."""
    network = network_named(key)
    assert network is not None
    with serve(rail(network.caip2)) as rail_server, serve(node(node_answers)) as chain:
        code, output, profile = run_init(tmp_path, rail_server.url, f"--{lane}-rpc", chain.url)
    assert code == 0, output
    assert profile["chains"][lane]["network"] == key


def test_a_node_of_another_network_than_the_targets_is_told(tmp_path: Path) -> None:
    """The operator reads that payments would go elsewhere."""
    with serve(rail("eip155:8453")) as rail_server, serve(node({"eth_chainId": hex(84532)})) as chain:
        code, output, profile = run_init(tmp_path, rail_server.url, "--base-rpc", chain.url)
    assert (code, profile["chains"]["base"]["network"]) == (0, "base_sepolia")
    assert "serves base_sepolia, and the target offers base_mainnet" in output


def test_where_the_node_does_not_answer_the_target_says_it(tmp_path: Path) -> None:
    """Its own entries name the network, and the line says that the node was not asked."""
    with serve(rail("eip155:84532")) as rail_server, reserved_port() as port:
        code, output, profile = run_init(tmp_path, rail_server.url, "--base-rpc", f"http://127.0.0.1:{port}")
    assert (code, profile["chains"]["base"]["network"]) == (0, "base_sepolia")
    assert "[chains.base] did not report its network" in output


def test_a_lane_without_a_node_is_drafted_for_the_targets_network(tmp_path: Path) -> None:
    """The commented table names it."""
    with serve(rail("eip155:84532")) as rail_server:
        run_init(tmp_path, rail_server.url)
    assert '# network = "base_sepolia"' in (tmp_path / "w.toml").read_text("utf-8")


LINK: dict[str, Any] = {
    "required": ["amount", "currency", "label", "preferred_network", "order_id"],
    "properties": {
        "currency": {"enum": ["EURC", "EUR"]},
        "order_id": {"type": "string"},
        "preferred_network": {"enum": ["algo_test", "base_sepolia"]},
    },
}


def links(*, is_documented: bool) -> Any:
    """Return what answers as a gateway whose links want a fifth member and another currency."""
    post = {"requestBody": {"content": {"application/json": {"schema": LINK}}}, "responses": {}}

    def answer(method: str, target: str, _: Any, body: bytes) -> tuple[int, Any]:
        if target == "/openapi.json" and is_documented:
            return 200, {"openapi": "3.1.0", "paths": {"/payment-links": {"servers": [{"url": "/v1"}], "post": post}}}
        if (method, target) != ("POST", "/v1/payment-links"):
            return 404, {"error": "not_found", "message": "There is nothing here."}
        document = json.loads(body)
        good = {
            "order_id": isinstance(document.get("order_id"), str),
            "currency": document.get("currency") == "EURC",
            "preferred_network": document.get("preferred_network") in {"algo_test", "base_sepolia"},
        }
        wrong = [name for name, holds in good.items() if not holds]
        if wrong:
            return 422, {"error": "invalid", "message": "No.", "errors": [{"pointer": f"/{wrong[0]}"}]}
        amount = round(document["amount"] * 1_000_000)
        return 201, {"token": "abcdef", "checkout_url": "http://x/checkout/abcdef", "amount_microunits": amount}

    return answer


def test_what_a_link_wants_is_read_in_the_document(tmp_path: Path) -> None:
    """A fifth member, another currency and networks of other names, found and bound."""
    with serve(links(is_documented=True)) as server:
        code, output, profile = run_init(tmp_path, server.url, "--tenant", f"{ID}=THEIR_KEY", THEIR_KEY="k")
    assert code == 0, output
    assert profile["gateway"]["currency"] == "EURC"
    assert list(profile["gateway"]["link_body"]) == ["order_id"]
    assert profile["tenants"]["first"]["networks"] == ["base_sepolia", "algo_test"]


def test_what_a_link_wants_is_told_where_no_document_says_it(tmp_path: Path) -> None:
    """The refusal names the member, and the line the key."""
    with serve(links(is_documented=False)) as server:
        code, output, _ = run_init(tmp_path, server.url, "--tenant", f"{ID}=THEIR_KEY", THEIR_KEY="k")
    assert code == 0, output
    assert "at /order_id; bind [gateway.link_body] order_id" in output


def test_a_gateways_clock_is_written_once(tmp_path: Path) -> None:
    """Where its file was given no commented table of another stands below."""
    tenant = ("--tenant", f"{ID}=THEIR_KEY")
    with serve(links(is_documented=True)) as server:
        for words, times in (((), 0), (("--clock", str(tmp_path / "offset")), 1)):
            code, output, profile = run_init(tmp_path, server.url, *tenant, *words, THEIR_KEY="k")
            assert code == 0, output
            assert len(profile.get("clock", {})) == times
            assert (tmp_path / "w.toml").read_text("utf-8").count("\n# [clock]") == 1 - times
            (tmp_path / "w.toml").unlink()


@pytest.mark.parametrize("is_followed", [True, False])
def test_a_clock_that_the_gateway_does_not_follow_is_left_out(tmp_path: Path, is_followed: bool) -> None:
    """A run would move the file by days, and then find that links expire in the past."""
    clock, plain = tmp_path / "offset", links(is_documented=True)

    def answer(method: str, target: str, headers: Any, body: bytes) -> tuple[int, Any]:
        status, document = plain(method, target, headers, body)
        if status == 201:
            offset = float(clock.read_text("ascii")) if is_followed and clock.exists() else 0.0
            expiry = dt.datetime.fromtimestamp(time.time() + 3600 + offset, dt.UTC)
            document["expires_at"] = expiry.strftime("%Y-%m-%dT%H:%M:%SZ")
        return status, document

    tenant = ("--tenant", f"{ID}=THEIR_KEY", "--clock", str(clock))
    with serve(answer) as server:
        code, output, profile = run_init(tmp_path, server.url, *tenant, THEIR_KEY="k")
    assert code == 0, output
    assert ("clock" in profile) is is_followed
    assert (f"{server.url} does not add the seconds in {clock} to its clock" in output) is not is_followed


def test_what_is_answered_where_nothing_is_is_asked_once(tmp_path: Path) -> None:
    """However many operations are looked for, with one set of header fields."""
    requests: list[str] = []

    def answer(method: str, path: str) -> Raw:
        requests.append(f"{method} {path}")
        is_found = method == "POST" and path in {"/v1/payment-links", "/v1/receipt/verify", "/verify/rfc9421"}
        document = (
            {"error": "validation_failed", "message": "x"} if is_found else {"error": "not_found", "message": "x"}
        )
        return (422 if is_found else 404), {"Content-Type": "application/json"}, json.dumps(document).encode()

    with serve_answers(answer) as url:
        assert run_init(tmp_path, url)[0] == 0
    assert requests.count(f"POST {NOWHERE}") == 1


@pytest.mark.parametrize("other_paths", [(), ("/v1/resources",), ("/compliance/screen",), ("/v1/payment-links",)])
def test_a_gateway_that_verifies_receipts_alone_claims_so(other_paths: tuple[str, ...], tmp_path: Path) -> None:
    """Any other operation of a gateway makes it a whole one."""

    def answer(method: str, path: str) -> Raw:
        is_found = method == "POST" and path in {"/v1/receipt/verify", *other_paths}
        document = (
            {"error": "validation_failed", "message": "x"} if is_found else {"error": "not_found", "message": "x"}
        )
        return (422 if is_found else 404), {"Content-Type": "application/json"}, json.dumps(document).encode()

    with serve_answers(answer) as url:
        code, output, profile = run_init(tmp_path, url)
    assert code == 0, output
    assert profile["claims"] == {
        "surfaces": ["gateway"],
        "lanes": [],
        "options": [] if other_paths else ["gateway.receipts_only"],
    }
    text = (tmp_path / "w.toml").read_text("utf-8")
    assert ("[tenants.first]" in text) is bool(other_paths)
