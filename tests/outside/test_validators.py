"""Validators of the field find no error in what the rail publishes and in its challenges, and errors in spoiled ones.

AgentCash's discovery, x402-conformance, x402-inspect and a2a-lint, each as its registry has it.
"""

from __future__ import annotations

import base64
import copy
import json
import subprocess
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest

from localnet.npm import node_modules
from programs.node import node
from tests.conformance.wrong_targets import routing, serve_connections
from tests.outside.validators.environment import programs_of_validators

AGENTCASH = Path(__file__).parent / "agentcash"
PRICES = {
    "/pay/v1/verify/receipt": "0.01 USD",
    "/pay/v1/verify/rfc9421": "0.01 USD",
    "/pay/v1/compliance/receipt": "0.05 USD",
}


def opinion(origin: str, bodies: list[Any]) -> dict[str, Any]:
    """Return what AgentCash says of an origin, its paid endpoints, and further 402 bodies."""
    words = [str(node().path), str(AGENTCASH / "opinion.mjs"), str(node_modules(AGENTCASH).parent)]
    question = json.dumps({"origin": origin, "paths": list(PRICES), "bodies": bodies})
    result = subprocess.run(words, input=question, capture_output=True, text=True, timeout=600, check=True)
    findings: dict[str, Any] = json.loads(result.stdout)
    return findings


def errors(warnings: list[dict[str, Any]]) -> list[str]:
    """Return the codes of what is an error."""
    return [one["code"] for one in warnings if one["severity"] == "error"]


def test_agentcash_finds_no_error(stack: dict[str, str]) -> None:
    """Neither in the contract nor in a challenge; a challenge without an output's schema, or a price, has one."""
    right = httpx.post(stack["rail"] + next(iter(PRICES)), trust_env=False).json()
    without_output, without_price = copy.deepcopy(right), copy.deepcopy(right)
    del without_output["extensions"]["bazaar"]["schema"]["properties"]["output"]
    del without_price["accepts"][0]["amount"]

    findings = opinion(stack["rail"], [right, without_output, without_price])

    assert sorted(findings["origin"]["paid"]) == sorted(
        f"{method} {path} {price}" for path, price in PRICES.items() for method in ("GET", "POST")
    )
    assert errors(findings["origin"]["warnings"]) == []
    for path in PRICES:
        endpoint = findings["endpoints"][path]
        assert (sorted(endpoint["probed"]), errors(endpoint["warnings"])) == (["GET", "POST"], []), path
    whole, *broken = [errors(one) for one in findings["bodies"]]
    assert whole == []
    assert broken[0] == ["SCHEMA_OUTPUT_MISSING"]
    assert "COINBASE_SCHEMA_INVALID" in broken[1]


# What is spoiled in a 402, and the check of x402-conformance that finds it.
SPOILED_OFFERS = {
    "no header": "P2",
    "no resource": "P3",
    "no entry": "P3",
    "no amount": "P4",
    "a network by its name": "P4",
    "no version of the token": "P5",
    "no fee payer": "P5",
    "17 kB": "P6",
}


def spoil_offer(right: dict[str, Any], how: str) -> dict[str, Any]:
    """Return a 402's object with one thing changed."""
    document = copy.deepcopy(right)
    entries = {one["network"].partition(":")[0]: one for one in document["accepts"]}
    match how:
        case "no resource":
            del document["resource"]
        case "no entry":
            document["accepts"] = []
        case "no amount":
            del entries["algorand"]["amount"]
        case "a network by its name":
            entries["solana"]["network"] = "solana"
        case "no version of the token":
            del entries["eip155"]["extra"]["version"]
        case "no fee payer":
            del entries["solana"]["extra"]["feePayer"]
        case "17 kB":
            document["more"] = "x" * 17_000
    return document


@contextmanager
def serve_offers(answers: Mapping[str, Mapping[str, str]]) -> Iterator[str]:
    """Serve a 402 with its fields at each path, 200 elsewhere, and yield the address."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(402 if self.path in answers else 200)
            for name, value in answers.get(self.path, {}).items():
                self.send_header(name, value)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def by_x402_conformance(urls: list[str]) -> list[dict[str, Any]]:
    """Return what x402-conformance finds at each address: its checks, by number, and whether they pass."""
    words = [str(programs_of_validators() / "x402conf"), "resource", *urls]
    result = subprocess.run(words, capture_output=True, text=True, timeout=600, check=True)
    results = json.loads(result.stdout)["results"]
    return [{one["check"].partition(" ")[0]: one["pass"] for one in each["checks"]} for each in results]


def in_base64(document: object) -> str:
    return base64.b64encode(json.dumps(document).encode()).decode()


def test_x402_conformance_finds_no_error(stack: dict[str, str]) -> None:
    """All its checks pass on each paid call; each thing spoiled in a 402 fails one, and a free answer the first."""
    right = json.loads(base64.b64decode(httpx.get(stack["rail"] + next(iter(PRICES))).headers["PAYMENT-REQUIRED"]))
    answers = {
        f"/{at}": {"PAYMENT-REQUIRED": in_base64(spoil_offer(right, how))} for at, how in enumerate(SPOILED_OFFERS)
    }
    answers["/0"] = {}
    with serve_offers({**answers, "/right": {"PAYMENT-REQUIRED": in_base64(right)}}) as place:
        urls = [*(stack["rail"] + path for path in PRICES), f"{place}/right", f"{place}/free"]
        *paid_results, free = by_x402_conformance(urls)
        broken = by_x402_conformance([place + path for path in answers])
    every = {f"P{number}": True for number in range(1, 8)}
    assert paid_results == [every] * (len(PRICES) + 1)
    assert free == {"P1": False}
    failed_checks = [[name for name, passes in one.items() if not passes] for one in broken]
    assert failed_checks == [[name] for name in SPOILED_OFFERS.values()]


def by_x402_inspect(value: str) -> tuple[str, list[str]]:
    """Return as what x402-inspect takes a header's value, and the places of the errors that it finds."""
    words = [str(programs_of_validators() / "x402-inspect"), "--json"]
    result = subprocess.run(words, input=value, capture_output=True, text=True, timeout=600, check=False)
    inspection = json.loads(result.stdout)
    return inspection["kind"], [one["path"] for one in inspection["findings"] if one["level"] == "error"]


@pytest.mark.parametrize(
    ("header", "kind", "member"),
    [("PAYMENT-REQUIRED", "PaymentRequired", "resource"), ("PAYMENT-RESPONSE", "SettlementResponse", "network")],
)
def test_x402_inspect_finds_no_error(stack: dict[str, str], header: str, kind: str, member: str) -> None:
    """Neither in a challenge nor in the answer to a refused payment; without a member it finds an error."""
    refusal = httpx.get(stack["rail"] + next(iter(PRICES)), headers={"PAYMENT-SIGNATURE": in_base64({})})
    value = refusal.headers[header]
    document = json.loads(base64.b64decode(value))
    assert by_x402_inspect(value) == (kind, [])
    del document[member]
    assert by_x402_inspect(in_base64(document)) == (kind, [member])


def by_a2a_lint(agent: str) -> tuple[int, list[str]]:
    """Return how a2a-lint ends that reads an agent's card and sends it a message, and the places of its errors."""
    words = [str(programs_of_validators() / "a2a-lint"), agent, "--live", "--strict", "--json"]
    result = subprocess.run(words, capture_output=True, text=True, timeout=600, check=False)
    findings = json.loads(result.stdout)["findings"]
    return result.returncode, [one["field"] for one in findings if one["level"] == "error"]


def test_a2a_lint_finds_no_error(stack: dict[str, str]) -> None:
    """Neither in the card nor in what a message is answered; a card without a member has one, or one for elsewhere."""
    assert by_a2a_lint(stack["rail"]) == (0, [])
    path = "/.well-known/agent-card.json"
    card = httpx.get(stack["rail"] + path).json()
    without = {name: value for name, value in card.items() if name != "version"}
    with serve_connections(routing({("GET", path): (200, without)})) as place:
        assert by_a2a_lint(f"http://{place}") == (1, ["version"])
    elsewhere = {**card, "url": stack["rail"] + "/nowhere"}
    with serve_connections(routing({("GET", path): (200, elsewhere)})) as place:
        assert by_a2a_lint(f"http://{place}") == (1, ["(live)"])
