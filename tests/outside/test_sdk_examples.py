"""Each example pays with its unmodified SDK and prints a receipt that verifies; with a line spoiled it does not.

The controls run a copy of the script with the lines that make the weld, or that guard it, edited.
"""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import jwt
import pytest
from algosdk import account

from localnet.npm import node_modules
from programs.node import node
from tests.outside.sides import AlgorandSide, BaseSide, Side, SolanaSide

EXAMPLES = Path(__file__).parents[2] / "examples"
PRICE = 50_000
PROJECT = {"conformance", "localnet", "reference", "sim", "tests", "openapi"}
Edits = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Example:
    """A script, its chain, and the edits of its controls."""

    script: str
    lane: str
    unwelded_edits: Edits
    other_request: Edits

    @property
    def moves_money_unwelded(self) -> bool:
        """Whether the payment is made before the rail has judged it."""
        return self.lane != "base"


WEB3PY = Example(
    "pay_with_web3py.py",
    "base",
    (
        ('Web3.keccak(text=entry["extra"]["payment_reference"])', "os.urandom(32)"),
        ('if nonce != entry["extra"]["authorization_nonce"]', "if not nonce"),
    ),
    ((', "network": "base_mainnet"}', "}"),),
)
VIEM = Example(
    "pay_with_viem.mjs",
    "base",
    (
        ("keccak256(stringToBytes(payment_reference))", "keccak256(stringToBytes(`${Math.random()}`))"),
        ("if (nonce !== authorization_nonce)", "if (!nonce)"),
    ),
    ((', network: "base_mainnet" }', " }"),),
)
ALGOSDK = Example(
    "pay_with_algosdk.py",
    "algorand",
    (('note=entry["extra"]["payment_reference"].encode()', 'note=b"for the call"'),),
    ((', "network": "algorand_mainnet"}', "}"),),
)
SOLANA_PY = Example(
    "pay_with_solana_py.py",
    "solana",
    (("[*transfer.accounts, AccountMeta(reference, is_signer=False, is_writable=False)]", "transfer.accounts"),),
    ((', "network": "solana_mainnet"}', "}"),),
)
WEB3JS = Example(
    "pay_with_web3js.mjs",
    "solana",
    (("transfer.keys.push(", "void ("),),
    ((', network: "solana_mainnet" }', " }"),),
)
FEW_SECONDS_LEFT: Edits = (("LEFT_AT_LEAST = 120", "LEFT_AT_LEAST = 1800"),)
GUARDS = {
    "other_request": "the challenge is for another request",
    "few_seconds_left": "the challenge is about to lapse",
    "token_without_time": "the challenge is about to lapse",
    "dear": "the price is 50000",
}
DEAR: Edits = (('"100000"', '"49999"'),)


def edit_token(example: Example) -> Edits:
    """Return the edits with which a script reads a token without a time, and asks for more than its lifetime."""
    is_js = example.script.endswith(".mjs")
    reading = 'entry.extra.payment_reference.split(":")' if is_js else 'entry["extra"]["payment_reference"].split(":")'
    return ((reading, '"quote:0:0".split(":")'), ("LEFT_AT_LEAST = 120", "LEFT_AT_LEAST = 1801"))


EXAMPLES_OF_SDKS = (ALGOSDK, WEB3PY, VIEM, SOLANA_PY, WEB3JS)
SIDES: dict[str, Callable[[dict[str, str]], Side]] = {"algorand": AlgorandSide, "base": BaseSide, "solana": SolanaSide}

every_example = pytest.mark.parametrize("example", EXAMPLES_OF_SDKS, ids=lambda one: one.script)


def side_of(example: Example, stack: dict[str, str]) -> Side:
    return SIDES[example.lane](stack)


class Payer:
    """A fresh account that runs a script as a user does, and what it and the payee hold."""

    def __init__(self, example: Example, stack: dict[str, str], folder: Path) -> None:
        self.example, self.folder, self.rail = example, folder, stack["rail"]
        self.side = side_of(example, stack)
        self.address = self.side.new_payer(folder / "key")

    def holdings(self) -> tuple[int, int]:
        return self.side.dollars(self.address), self.side.dollars(self.side.payee)

    def run(self, edits: Edits = ()) -> subprocess.CompletedProcess[str]:
        """Run a copy of the script, with edits, each of which must fit exactly once."""
        text = (EXAMPLES / self.example.script).read_text("utf-8")
        for old, new in edits:
            assert text.count(old) == 1, old
            text = text.replace(old, new)
        script = self.folder / self.example.script
        script.write_text(text, "utf-8")
        runtime = sys.executable
        if script.suffix == ".mjs":
            runtime = str(node().path)
            if not (self.folder / "node_modules").exists():
                (self.folder / "node_modules").symlink_to(node_modules(EXAMPLES), target_is_directory=True)
        given = {"PATH": os.environ["PATH"], "RAIL_URL": self.rail, "KEY_FILE": str(self.folder / "key")}
        environment = given | self.side.environment
        words = [runtime, script.name]
        return subprocess.run(
            words, cwd=self.folder, env=environment, capture_output=True, text=True, timeout=600, check=False
        )


@pytest.fixture
def payer(example: Example, stack: dict[str, str], tmp_path: Path) -> Payer:
    return Payer(example, stack, tmp_path)


def verify_receipt(stack: dict[str, str], receipt: str) -> Any:
    key = jwt.PyJWKClient(stack["rail"] + "/.well-known/jwks.json").get_signing_key_from_jwt(receipt)
    return jwt.decode(receipt, key.key, algorithms=["EdDSA"])


@every_example
def test_the_sdk_pays_and_the_receipt_verifies(payer: Payer, stack: dict[str, str]) -> None:
    """The script ends well, prints what the published key signed, and exactly the price has changed hands."""
    mine, theirs = payer.holdings()
    run = payer.run()
    assert run.returncode == 0, run.stderr
    output = json.loads(run.stdout)
    claims = verify_receipt(stack, output["payable_receipt"])
    assert output["claims"] == claims
    assert (claims["service_id"], claims["amount_microunits"]) == ("compliance-receipt", str(PRICE))
    assert (claims["network"], claims["pay_to"]) == (payer.side.network, payer.side.payee)
    assert payer.holdings() == (mine - PRICE, theirs + PRICE)


def edit_to_crash(example: Example, moment: str) -> Edits:
    """Return the edit that kills a script at a moment: its payment is kept and not sent, or sent and not presented."""
    if example.script.endswith(".mjs"):
        kill, keep_line, presenting_line = (
            ' process.kill(process.pid, "SIGKILL");',
            " = await keep(signed);",
            "  let reason;",
        )
    else:
        keep_line, presenting_line = " = keep(signed)\n", "json.dumps(proof).encode()).decode()}"
        kill = "; os.kill(os.getpid(), 9)"
    return (
        ((keep_line, keep_line.rstrip() + kill + "\n"),)
        if moment == "kept"
        else ((presenting_line, presenting_line + kill),)
    )


@pytest.mark.parametrize(
    ("example", "moment"),
    [(ALGOSDK, "sent"), (VIEM, "sent"), (WEB3JS, "kept")],
    ids=lambda one: one if isinstance(one, str) else one.script,
)
def test_a_script_that_is_killed_pays_once(payer: Payer, stack: dict[str, str], moment: str) -> None:
    """Killed before or after it sends its payment: by one script of each lane."""
    pays_once_though_killed(payer, stack, moment)


@pytest.mark.slow
@every_example
@pytest.mark.parametrize("moment", ["kept", "sent"])
def test_the_script_that_is_killed_pays_once(payer: Payer, stack: dict[str, str], moment: str) -> None:
    """Killed before or after it sends its payment: by every script."""
    pays_once_though_killed(payer, stack, moment)


def pays_once_though_killed(payer: Payer, stack: dict[str, str], moment: str) -> None:
    """Kill a script, let it get a 404, and hold that its third run pays no second time and gets the one receipt."""
    mine, theirs = payer.holdings()
    crashed_run = payer.run(edit_to_crash(payer.example, moment))
    assert crashed_run.returncode == -9, crashed_run.stderr
    proof = payer.folder / "payment.json"
    assert proof.stat().st_mode & 0o777 == 0o600
    lost_run = payer.run((("/v1/compliance/receipt", "/v1/nothing-is-here"),))
    assert lost_run.returncode == 1
    assert "404" in lost_run.stderr
    assert "the payment is kept in payment.json" in lost_run.stderr
    last_run = payer.run()
    assert last_run.returncode == 0, last_run.stderr
    verify_receipt(stack, json.loads(last_run.stdout)["payable_receipt"])
    assert payer.holdings() == (mine - PRICE, theirs + PRICE)
    assert not proof.exists()


# Before its first two transactions a script lets the chain outlive their blockhashes, which are good for 3,000 slots.
LATE_PY = """
                if left > 1:
                    late = {"verb": "advance", "blocks": 3100}
                    httpx.post(os.environ["RPC_URL"] + "/control", timeout=60, json=late).raise_for_status()
                options = TxOpts("""
LATE_JS = """  console.error(`paying by ${proof.tx_id}`);
  globalThis.late = (globalThis.late ?? 0) + 1;
  const verb = JSON.stringify({ verb: "advance", blocks: 3100 });
  if (late < 3) await fetch(`${process.env.RPC_URL}/control`, { method: "POST", body: verb });"""
LATE: dict[str, Edits] = {
    SOLANA_PY.script: (("\n                options = TxOpts(", LATE_PY),),
    WEB3JS.script: (("  console.error(`paying by ${proof.tx_id}`);", LATE_JS),),
}


@pytest.mark.parametrize("example", [SOLANA_PY, WEB3JS], ids=lambda one: one.script)
def test_a_script_whose_blockhash_lapses_signs_again_and_pays_once(payer: Payer, stack: dict[str, str]) -> None:
    """The chain outlives two blockhashes before the node gets the transactions; the third one pays."""
    mine, theirs = payer.holdings()
    run = payer.run(LATE[payer.example.script])
    assert run.returncode == 0, run.stderr
    assert len(set(re.findall(r"paying by (\w+)", run.stderr))) == 3
    verify_receipt(stack, json.loads(run.stdout)["payable_receipt"])
    assert payer.holdings() == (mine - PRICE, theirs + PRICE)


@pytest.mark.slow
@every_example
def test_without_the_weld_the_sdk_buys_nothing(payer: Payer) -> None:
    """The control: the reference left out, or a nonce of the payer's own, is refused; Base moves no money for it."""
    mine, theirs = payer.holdings()
    run = payer.run(payer.example.unwelded_edits)
    assert run.returncode == 1
    assert "not served: 402 weld_mismatch" in run.stderr
    assert run.stdout == ""
    lost_amount = PRICE if payer.example.moves_money_unwelded else 0
    assert payer.holdings() == (mine - lost_amount, theirs + lost_amount)


@pytest.mark.parametrize(
    ("example", "guard"),
    [
        (WEB3PY, "other_request"),
        (VIEM, "few_seconds_left"),
        (SOLANA_PY, "dear"),
        (ALGOSDK, "few_seconds_left"),
        (WEB3JS, "other_request"),
        (WEB3PY, "token_without_time"),
        (WEB3JS, "token_without_time"),
    ],
    ids=lambda one: one if isinstance(one, str) else one.script,
)
def test_a_script_stops_before_it_pays(payer: Payer, guard: str) -> None:
    """A challenge for another request, about to lapse, or too dear is not paid: each by one script or two."""
    stops(payer, guard)


@pytest.mark.slow
@every_example
@pytest.mark.parametrize("guard", GUARDS)
def test_the_script_stops_before_it_pays(payer: Payer, guard: str) -> None:
    """A challenge for another request, about to lapse, or too dear is not paid: each by every script."""
    stops(payer, guard)


def stops(payer: Payer, guard: str) -> None:
    """Run a script against a challenge that its guard is for, and hold that it says so and pays nothing."""
    edits = {
        "other_request": payer.example.other_request,
        "few_seconds_left": FEW_SECONDS_LEFT,
        "token_without_time": edit_token(payer.example),
        "dear": DEAR,
    }
    before = payer.holdings()
    run = payer.run(edits[guard])
    assert run.returncode == 1
    assert GUARDS[guard] in run.stderr
    assert payer.holdings() == before


class Proxy(ThreadingHTTPServer):
    """A proxy before the rail that answers proofs with a status and a code in place of the rail, while it has one.

    Attributes:
        rail: Address of the rail.
        refusal: Status and code; None to pass proofs on.
        proofs: Number of proofs that arrived.
    """

    def __init__(self, rail: str) -> None:
        super().__init__(("127.0.0.1", 0), ProxyHandler)
        self.rail = rail
        self.refusal: tuple[int, str] | None = None
        self.proofs = 0


class ProxyHandler(BaseHTTPRequestHandler):
    """One request at the proxy."""

    server: Proxy

    def do_POST(self) -> None:
        """Answer a call."""
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if (proof := self.headers.get("X-PAYMENT")) is not None:
            self.server.proofs += 1
            if self.server.refusal is not None:
                status, code = self.server.refusal
                fields = {"Content-Type": "application/json", "Retry-After": "1"}
                self._answer(status, fields, json.dumps({"error": code}).encode())
                return
        headers = {"Content-Type": "application/json"} | ({} if proof is None else {"X-PAYMENT": proof})
        self._pass_on(Request(self.server.rail + self.path, body, headers))

    def do_GET(self) -> None:
        """Answer the request of a document."""
        self._pass_on(Request(self.server.rail + self.path))

    def _pass_on(self, request: Request) -> None:
        try:
            answer = urlopen(request, timeout=600)
        except HTTPError as refusal:
            answer = refusal
        with answer:
            passed = {"Content-Type", "PAYMENT-REQUIRED", "Retry-After"}
            self._answer(
                answer.status, {name: answer.headers[name] for name in passed if name in answer.headers}, answer.read()
            )

    def _answer(self, status: int, fields: dict[str, str], body: bytes) -> None:
        self.send_response(status)
        for name, value in {**fields, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)


@pytest.fixture
def proxy(stack: dict[str, str]) -> Iterator[Proxy]:
    with Proxy(stack["rail"]) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.mark.parametrize("example", [ALGOSDK, VIEM], ids=lambda one: one.script)
def test_a_final_code_ends_a_script(payer: Payer, proxy: Proxy) -> None:
    """Whatever its status and Retry-After: by one script of each language."""
    ends_at_final_codes(payer, proxy)


@pytest.mark.slow
@every_example
def test_a_final_code_ends_the_script(payer: Payer, proxy: Proxy) -> None:
    """Whatever its status and Retry-After: by every script."""
    ends_at_final_codes(payer, proxy)


def ends_at_final_codes(payer: Payer, proxy: Proxy) -> None:
    """Hold that a script presents its proof once in each run, keeps it, and pays once until the rail serves."""
    mine, theirs = payer.holdings()
    payer.rail = f"http://127.0.0.1:{proxy.server_port}"
    refusals = ((429, "payment_refunded"), (402, "payment_already_spent"), (503, "payment_already_spent"))
    for runs, refusal in enumerate(refusals, 1):
        proxy.refusal = refusal
        run = payer.run()
        assert run.returncode == 1
        assert f"not served: {refusal[0]} {refusal[1]}; the payment is kept in payment.json" in run.stderr
        assert proxy.proofs == runs
    proxy.refusal = None
    run = payer.run()
    assert run.returncode == 0, run.stderr
    assert payer.holdings() == (mine - PRICE, theirs + PRICE)


def list_imports(script: Path) -> set[str]:
    """Return the modules and packages that a script imports."""
    text = script.read_text("utf-8")
    if script.suffix == ".mjs":
        return set(re.findall(r'(?:from|import|import\()\s*"([^"]+)"', text))
    nodes = list(ast.walk(ast.parse(text)))
    plain = {name.name for node in nodes if isinstance(node, ast.Import) for name in node.names}
    return plain | {"." * node.level + (node.module or "") for node in nodes if isinstance(node, ast.ImportFrom)}


@every_example
def test_the_script_imports_nothing_of_this_project(example: Example) -> None:
    """Only packages of the registries and the language's own are imported."""
    names = list_imports(EXAMPLES / example.script)
    assert len(names) > 4
    assert not {name for name in names if name.startswith(".") or name.split(".")[0] in PROJECT}


def test_the_lock_file_names_the_public_registry_alone() -> None:
    """Every package comes from registry.npmjs.org with a hash."""
    packages = json.loads((EXAMPLES / "package-lock.json").read_text("utf-8"))["packages"]
    del packages[""]
    assert len(packages) > 10
    for place, package in packages.items():
        assert package["resolved"].startswith("https://registry.npmjs.org/"), place
        assert package["integrity"].startswith("sha512-"), place


def test_an_account_is_opted_in_by_the_example(stack: dict[str, str], tmp_path: Path) -> None:
    """The node mints to the account only after the script has opted it in."""
    side, (key, address) = AlgorandSide(stack), account.generate_account()
    (tmp_path / "key").write_text(key, "ascii")
    side.control("fund", address=address, amount="1000000")
    with pytest.raises(HTTPError, match="400"):
        side.control("mint", address=address, amount="7")
    words = [sys.executable, str(EXAMPLES / "opt_in_with_algosdk.py")]
    environment = {"PATH": os.environ["PATH"], "KEY_FILE": str(tmp_path / "key"), **side.environment}
    result = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=600, check=False)
    assert (result.returncode, result.stdout) == (0, f"{address} may hold asset {side.usdc}\n"), result.stderr
    side.control("mint", address=address, amount="7")
    assert side.dollars(address) == 7
