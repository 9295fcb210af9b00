"""A world in which `weldproof pay` is killed: a whole simulated stack, and proxies that end the payer at a request.

The payer is a separate process that knows nothing of it. A proxy sees each of its requests, to the rail or gateway and
to the chain, and may kill it before a request goes on or after the answer has come, which the payer then never hears.
"""

from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
import tempfile
import threading
import time
import tomllib
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import httpx
from algosdk.v2client.algod import AlgodClient
from solders.pubkey import Pubkey
from spl.token.instructions import get_associated_token_address

from tests import prepared
from tests.reference.rail.base_stack import call
from tests.stack import running_stack

CALL = "/pay/v1/compliance/receipt"
PRICE = 50_000
USDC = {
    "algorand": {"rail": "31566704", "gateway": "10458941"},
    "base": {
        "rail": "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913",
        "gateway": "0x036CbD53842c5426634e7929541eC2318f3dCF7e",
    },
    "solana": {
        "rail": "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v",
        "gateway": "4zMMC9srt5Ri5X14GAgXhaHii3GnPAEERYPJgZJDncDU",
    },
}
LINK_NETWORKS = {"algorand": "algorand_testnet", "base": "base_sepolia", "solana": "solana_devnet"}


class Seen(NamedTuple):
    """A request that a proxy sees: `before` it goes on, and `after` it was answered."""

    phase: str
    method: str
    target: str
    has_proof: bool
    body: bytes

    @property
    def is_transaction(self) -> bool:
        """Whether it gives a node a signed payment; on Algorand an opt-in, which has no amount, does not count."""
        is_algod = self.target == "/v2/transactions" and self.method == "POST" and b"aamt" in self.body
        return is_algod or b'"sendTransaction"' in self.body or b'"eth_sendRawTransaction"' in self.body


class Instead(NamedTuple):
    """An answer that a proxy gives in place of the real one."""

    status: int
    code: str
    retry_after: str | None = "0"
    content: bytes | None = None


# Returns whether a request is cut off, or what is answered instead.
Watch = Callable[[Seen], bool | Instead]


@dataclass
class Proxy:
    """A server that hands requests on; what `watch` says yes to is cut off."""

    upstream: str
    watch: Watch
    url: str = ""

    @contextmanager
    def serve_proxy(self) -> Iterator[Proxy]:
        """Serve until the end of the block."""
        parts, proxy = urlsplit(self.upstream), self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def _take(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                self.close_connection = True
                has_proof = "X-PAYMENT" in self.headers or b"payment-submitted" in body
                request_seen = Seen("before", self.command, self.path, has_proof, body)
                watch_answer = proxy.watch(request_seen)
                if isinstance(watch_answer, Instead):
                    self._say(watch_answer)
                if watch_answer:
                    return
                connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=120)
                headers = {name: value for name, value in self.headers.items() if name.lower() != "connection"}
                connection.request(self.command, self.path, body or None, headers)
                answer = connection.getresponse()
                content = answer.read()
                connection.close()
                if proxy.watch(request_seen._replace(phase="after")):
                    return
                self.send_response(answer.status)
                for name, value in answer.getheaders():
                    if name.lower() not in {"transfer-encoding", "connection", "content-length", "date", "server"}:
                        self.send_header(name, value)
                self.send_header("Content-Length", str(len(content)))
                self.send_header("Connection", "close")
                self.end_headers()
                with suppress(OSError):
                    self.wfile.write(content)

            def _say(self, answer: Instead) -> None:
                content = answer.content or json.dumps({"error": answer.code, "accepts": []}).encode()
                self.send_response(answer.status)
                if answer.retry_after is not None:
                    self.send_header("Retry-After", answer.retry_after)
                self.send_header("Content-Length", str(len(content)))
                self.send_header("Connection", "close")
                self.end_headers()
                self.wfile.write(content)

            do_GET = do_POST = _take  # noqa: N815 - names that the server looks for

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        self.url = f"http://127.0.0.1:{server.server_port}"
        try:
            yield self
        finally:
            server.shutdown()
            server.server_close()
            thread.join()


@dataclass
class World:
    """A stack behind proxies.

    Attributes:
        ready: What the stack said when it was ready.
        profile: The profile of the stack, its own addresses in it.
        watch: What is asked at each request; None asks nothing.
    """

    ready: Mapping[str, str]
    profile: str
    watch: Watch | None = None
    places: dict[str, str] = field(default_factory=dict)

    def ask_watch(self, request_seen: Seen) -> bool | Instead:
        """Ask `watch`, if there is one."""
        return False if self.watch is None else self.watch(request_seen)

    def config(self, folder: Path) -> Path:
        """Write the profile, with the proxies' addresses."""
        text = self.profile
        for ours, theirs in self.places.items():
            text = text.replace(f'"{ours}"', f'"{theirs}"').replace(f'"{ours}/control"', f'"{theirs}/control"')
        path = folder / "target.toml"
        path.write_text(text)
        return path

    def balance_of(self, lane: str, address: str, asset: str) -> int:
        """Return what an address holds of an asset."""
        if lane == "algorand":
            algod = AlgodClient(Path(self.ready["algod_token_file"]).read_text().strip(), self.ready["algod"])
            info: Any = algod.account_info(address)
            return next((one["amount"] for one in info["assets"] if str(one["asset-id"]) == asset), 0)
        if lane == "solana":
            place = get_associated_token_address(Pubkey.from_string(address), Pubkey.from_string(asset))
            balance = self._ask("solana", "getTokenAccountBalance", str(place), {"commitment": "confirmed"})
            return int(balance.get("result", {}).get("value", {}).get("amount", 0))
        node = "base" if asset == USDC["base"]["rail"] else "base_sepolia"
        query = {"to": asset, "data": call("balanceOf(address)", address)}
        return int(self._ask(node, "eth_call", query, "latest")["result"], 16)

    def _ask(self, node: str, method: str, *params: Any) -> dict[str, Any]:
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": list(params)}
        document: dict[str, Any] = httpx.post(self.ready[node], json=body, trust_env=False, timeout=60).json()
        return document

    def link(self, lane: str) -> tuple[str, str, str]:
        """Make a payment link of 0.05 USDC; return its page's address, its payee and its asset."""
        key = Path(self.ready["tenant_first_key_file"]).read_text().strip()
        headers = {"Authorization": f"Bearer {key}", "X-Tenant-Id": self.ready["tenant_first"]}
        link_request = {"amount": 0.05, "currency": "USDC", "label": "Order", "preferred_network": LINK_NETWORKS[lane]}
        link_answer = httpx.post(
            f"{self.ready['gateway']}/v1/payment-links", json=link_request, headers=headers, trust_env=False, timeout=60
        )
        assert link_answer.status_code == 201, link_answer.text
        link = link_answer.json()
        page = self.places[self.ready["gateway"]] + urlsplit(link["checkout_url"]).path
        return page, self.payout(LINK_NETWORKS[lane]), USDC[lane]["gateway"]

    def payout(self, network: str) -> str:
        """Return where the first tenant is paid on a network."""
        return str(tomllib.loads(self.profile)["tenants"]["first"]["payout"][network])


@contextmanager
def world(folder: Path, *options: str) -> Iterator[World]:
    """Start a stack and its proxies."""
    with ExitStack() as stack:
        ready = stack.enter_context(running_stack(folder, *options))
        new_world = World(ready, Path(ready["profile"]).read_text())
        for name in {"rail", "gateway", "algod", "base", "base_sepolia", "solana"} & ready.keys():
            proxy = Proxy(ready[name], new_world.ask_watch)
            new_world.places[ready[name]] = stack.enter_context(proxy.serve_proxy()).url
        yield new_world


@dataclass
class Payer:
    """Runs `weldproof pay` in a folder, with a data folder there."""

    world: World
    folder: Path

    def words(self, *words: str) -> list[str]:
        """Return the words of a command with the world's profile."""
        wait_words = () if "--wait" in words else ("--wait", "120")
        return ["pay", *words, "--config", str(self.world.config(self.folder)), *wait_words]

    @property
    def env(self) -> dict[str, str]:
        """The environment, with a data folder of its own."""
        return {**os.environ, "XDG_DATA_HOME": str(self.folder / "data")}

    def run_command(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run it to its end."""
        return prepared.run("conformance", *self.words(*words), env=self.env, cwd=self.folder, timeout=600)

    def run_until_killed(self, kills: Watch, *words: str) -> bool:
        """Run it, and kill it at the first request that `kills` says yes to; return whether it was killed."""
        start_event, dead, end_event = threading.Event(), threading.Event(), threading.Event()
        lock = threading.Lock()

        def watch(request_seen: Seen) -> bool:
            if not start_event.wait(60) or dead.is_set():
                return True
            with lock:
                if not kills(request_seen):
                    return False
                os.kill(process.pid, signal.SIGKILL)
                dead.set()
                end_event.wait(120)
                return True

        self.world.watch = watch
        with tempfile.TemporaryFile() as out:
            process = prepared.start(
                "conformance", *self.words(*words), env=self.env, cwd=self.folder, stdout=out, stderr=out
            )
            start_event.set()
            process.wait(600)
            end_event.set()
        self.world.watch = None
        return dead.is_set()

    def killed_in_state(self, state: str, *words: str) -> bool:
        """Run it, and kill it as soon as its file is in a state; return whether it was killed."""
        with tempfile.TemporaryFile() as out:
            process = prepared.start(
                "conformance", *self.words(*words), env=self.env, cwd=self.folder, stdout=out, stderr=out
            )
            while process.poll() is None:
                if any(one["state"] == state for one in self.records()):
                    process.kill()
                    process.wait(120)
                    return True
                time.sleep(0.001)
        return False

    def files(self) -> list[Path]:
        """Return the payments' files."""
        return sorted((self.folder / "data" / "weldproof" / "payments").glob("*.json"))

    def records(self) -> list[dict[str, Any]]:
        """Return what the payments' files hold."""
        return [json.loads(path.read_text()) for path in self.files()]

    def open_files(self) -> list[Path]:
        """Return the files of payments that have no answer."""
        return [
            path for path, record in zip(self.files(), self.records(), strict=True)
            if record["state"] in {"signed", "paid"}
        ]  # fmt: skip

    def receipts(self) -> list[str]:
        """Return the receipts that were kept."""
        return [path.read_text() for path in self.folder.glob("receipt-*.jws")]
