"""A node that answers with anything: no memory is filled, no redirect followed, no verdict made of it, nothing paid."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import json
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from conformance.http.client import Names
from conformance.lanes.algorand import bounded_algod
from conformance.lanes.algorand.node import AlgorandNode
from conformance.lanes.base.node import BaseNode
from conformance.lanes.node_control import NodeControl
from conformance.lanes.solana import bounded_client
from conformance.lanes.solana.node import SolanaNode
from conformance.outcome import Inconclusive
from conformance.target import Budgets, Secret
from conformance.target.lanes.algorand import AlgorandChain
from conformance.target.lanes.base import BaseChain
from conformance.target.lanes.solana import SolanaChain

BUDGETS = Budgets(request=5.0, confirmation=5.0)
LIMIT = 100_000
TOKEN = "node-token-0123456789"


class Hostile:
    """A server that answers everything alike, and keeps what it was asked."""

    def __init__(self, answer: Callable[[BaseHTTPRequestHandler], None]) -> None:
        self.asked: list[tuple[str, str]] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def handle_any(self) -> None:
                outer.asked.append((self.path, self.headers.get("X-Algo-API-Token", "")))
                self.rfile.read(int(self.headers.get("Content-Length", 0)))
                answer(self)

            do_GET = do_POST = handle_any  # noqa: N815 - the library's names

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        """End it."""
        self._server.shutdown()
        self._server.server_close()


def make_answer(body: bytes, status: int = 200, **headers: str) -> Callable[[BaseHTTPRequestHandler], None]:
    """Return what gives one answer."""

    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        for name, value in headers.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        with contextlib.suppress(OSError):
            handler.wfile.write(body)

    return answer


WITHIN = json.dumps({"jsonrpc": "2.0", "id": 1, "result": "0x" + "0" * (2 * LIMIT), "last-round": 1}).encode()
ANSWERS = {
    "too large": make_answer(WITHIN),
    "packed": make_answer(gzip.compress(bytes(10**7)), Content_Encoding="gzip"),
    "nested": make_answer(b"[" * 90_000),
    "not JSON": make_answer(b"\x1b]0;x\x07::error::x"),
    "an array": make_answer(b"[]"),
    "a number beyond all": make_answer(b'{"jsonrpc":"2.0","id":1,"result":' + b"9" * 50_000 + b"}"),
    "other members": make_answer(b'{"jsonrpc":"2.0","id":1,"result":{"value":{"a":"b"}}}'),
    "an error of another form": make_answer(b'{"jsonrpc":"2.0","id":1,"error":["x"]}'),
}


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let an answer be too large sooner."""
    monkeypatch.setattr(bounded_algod, "LONGEST_BODY", LIMIT)
    monkeypatch.setattr(bounded_client, "LONGEST_BODY", LIMIT)
    monkeypatch.setattr("conformance.http.transport.read_whole.__defaults__", (LIMIT,))


@pytest.fixture
def hostile() -> Iterator[Callable[[Callable[[BaseHTTPRequestHandler], None]], Hostile]]:
    """Start hostile servers, and end them."""
    hostile_nodes: list[Hostile] = []

    def start(answer: Callable[[BaseHTTPRequestHandler], None]) -> Hostile:
        hostile_nodes.append(Hostile(answer))
        return hostile_nodes[-1]

    yield start
    for node in hostile_nodes:
        node.close()


async def asked_algorand(url: str) -> Any:
    """Ask an Algorand node for its parameters."""
    chain = AlgorandChain(network="algorand_testnet", algod=url)
    node = AlgorandNode(chain, BUDGETS, Names())
    try:
        return await node.params()
    finally:
        await node.close()


async def asked_base(url: str) -> Any:
    """Ask a Base node for its chain id."""
    chain = BaseChain(network="base_sepolia", rpc=url)
    node = BaseNode(chain, BUDGETS, Names())
    try:
        return await node.read_network()
    finally:
        await node.close()


async def asked_solana(url: str) -> Any:
    """Ask a Solana node for a slot and its block's time."""
    chain = SolanaChain(network="solana_devnet", rpc=url)
    node = SolanaNode(chain, BUDGETS, Names())
    try:
        return await node.block_time()
    finally:
        await node.close()


async def asked_control(url: str) -> Any:
    """Ask a control address for its verbs."""
    control = NodeControl(url, "Base", 5.0)
    try:
        return await control.carry_out("block")
    finally:
        await control.close()


ASKING_FUNCTIONS = {"algorand": asked_algorand, "base": asked_base, "solana": asked_solana, "control": asked_control}


@pytest.mark.parametrize("answer_name", ANSWERS)
@pytest.mark.parametrize("lane", ASKING_FUNCTIONS)
def test_an_answer_that_is_none_decides_nothing(
    lane: str, answer_name: str, hostile: Callable[[Callable[[BaseHTTPRequestHandler], None]], Hostile]
) -> None:
    """It is inconclusive, with a sentence that has nothing that a terminal would obey once it is shown."""
    node = hostile(ANSWERS[answer_name])
    with pytest.raises(Inconclusive):
        asyncio.run(ASKING_FUNCTIONS[lane](node.url))


@pytest.mark.parametrize("lane", ASKING_FUNCTIONS)
def test_no_redirect_is_followed(
    lane: str, hostile: Callable[[Callable[[BaseHTTPRequestHandler], None]], Hostile]
) -> None:
    """Another host is sent neither the question nor the token of the node."""
    other_node = hostile(make_answer(b"{}"))
    for status in (301, 302, 307, 308):
        node = hostile(make_answer(b"", status, Location=f"{other_node.url}/stolen"))
        with pytest.raises(Inconclusive):
            asyncio.run(ASKING_FUNCTIONS[lane](node.url))
        assert node.asked
    assert other_node.asked == []


@pytest.mark.parametrize("is_in_the_head", [True, False])
def test_an_answer_that_drips_ends_with_its_thread(
    is_in_the_head: bool, hostile: Callable[[Callable[[BaseHTTPRequestHandler], None]], Hostile]
) -> None:
    """A thread that is left behind would keep the process from ending for as long as the node sends."""
    ends = time.monotonic() + 60

    def drip(handler: BaseHTTPRequestHandler) -> None:
        start = b"HTTP/1.1 200 OK\r\n" + (b"X: " if is_in_the_head else b"Content-Length: 9999\r\n\r\n")
        with contextlib.suppress(OSError):
            handler.wfile.write(start)
            while time.monotonic() < ends:
                handler.wfile.write(b" ")
                time.sleep(0.1)

    async def ask() -> None:
        node = AlgorandNode(
            AlgorandChain(network="algorand_testnet", algod=hostile(drip).url), Budgets(request=1.0), Names()
        )
        with pytest.raises(Inconclusive):
            await node.params()
        await node.close()
        await asyncio.to_thread(node._threads.shutdown)  # waits for the threads, as the end of a process does

    asyncio.run(ask())
    assert time.monotonic() < ends


def test_the_token_of_an_algod_goes_to_no_other_host(
    monkeypatch: pytest.MonkeyPatch, hostile: Callable[[Callable[[BaseHTTPRequestHandler], None]], Hostile]
) -> None:
    """It is in a header that a redirect would take along."""
    monkeypatch.setenv("NODE_TOKEN", TOKEN)
    other_node = hostile(make_answer(b"{}"))
    node = hostile(make_answer(b"", 302, Location=f"{other_node.url}/stolen"))

    async def ask() -> None:
        chain = AlgorandChain(network="algorand_testnet", algod=node.url, token=Secret(env="NODE_TOKEN"))
        asked = AlgorandNode(chain, BUDGETS, Names())
        try:
            await asked.params()
        finally:
            await asked.close()

    with pytest.raises(Inconclusive):
        asyncio.run(ask())
    assert [token for _, token in node.asked] == [TOKEN]
    assert other_node.asked == []
