"""A gateway as a process of its own on a stack of simulated chains, that can be killed, paid and moved in time."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Coroutine, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import httpx

from conformance import target
from conformance.http.client import Names
from conformance.lanes.checkout_request import USDC, CheckoutRequest
from conformance.lanes.descriptor import Payer
from conformance.lanes.payers import open_checkout_payer, open_payer
from conformance.outcome import Inconclusive
from conformance.target.lanes.algorand import AlgorandChain
from conformance.target.lanes.solana import SolanaChain
from tests import prepared
from tests.conformance.fuzz.gateway_machine import Reply
from tests.stack import running_stack

T = TypeVar("T")
LANES = {"algorand_testnet": "algorand", "base_sepolia": "base", "solana_devnet": "solana"}
_READY_SECONDS = 240.0
_PAY_SECONDS = 240.0
_RATES = ("TENANT_RATE", "TENANT_BURST", "IP_RATE", "IP_BURST", "RECEIPT_VERIFY_RATE", "CHECKOUT_TOKEN_RATE")


class Loop:
    """An event loop in a thread, for what speaks asyncio."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, T], seconds: float = 600.0) -> T:
        """Run a coroutine there and return its result."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(seconds)

    def stop(self) -> None:
        """End the loop and its thread."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)


class GatewayWorld:
    """See `tests.conformance.fuzz.gateway_machine.World`."""

    memo_prefix = "weldproof:"

    def __init__(self, folder: Path, profile: target.Profile, loop: Loop) -> None:
        clock = profile.clock.offset_file
        assert clock is not None
        self.payouts: Mapping[str, str] = profile.tenants["first"].payout
        self.lanes: Mapping[str, str] = LANES
        self._profile = profile
        self._clock = clock
        self._loop = loop
        self._folder = folder
        self._payers: dict[str, Payer] = {}
        self._names = Names()
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://localhost:{self._socket.getsockname()[1]}"
        self._http = httpx.Client(trust_env=False, timeout=600)
        self._process = self._start()
        self.admin_key = (folder / "gateway" / "admin_key").read_text("ascii").strip()

    def call(self, method: str, path: str, headers: Mapping[str, str], body: bytes | None = None) -> Reply:
        """Send one request."""
        answer = self._http.request(method, self.url + path, headers=dict(headers), content=body)
        return Reply(
            answer.status_code, {name.lower(): value for name, value in answer.headers.items()}, answer.content
        )

    def now(self) -> float:
        """Return the service's time."""
        return time.time() + float(self._clock.read_text("ascii").strip() or "0")

    def advance(self, seconds: float) -> None:
        """Move the clock that the service and the stack's chains follow."""
        clock_seconds = float(self._clock.read_text("ascii").strip() or "0") + seconds
        fresh = self._clock.with_suffix(".fresh")
        fresh.write_text(f"{clock_seconds:.0f}\n", "ascii")
        fresh.replace(self._clock)

    def restart(self) -> None:
        """Kill the service as a crash would and start it again on the same data."""
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()
        self._http.close()
        self._http = httpx.Client(trust_env=False, timeout=600)
        self._process = self._start()

    def pay(self, network: str, address: str, amount: int, memo: str) -> str:
        """Pay on a chain."""

        async def settle() -> str:
            bill = CheckoutRequest(USDC[network], address, amount, memo)
            try:
                return await open_checkout_payer(await self._payer(LANES[network])).settle(bill)
            except Inconclusive:  # an account that is used up; a fresh one has more
                await self._payers.pop(LANES[network]).close()
                return await open_checkout_payer(await self._payer(LANES[network])).settle(bill)

        return self._loop.run(settle(), _PAY_SECONDS)

    async def _payer(self, lane: str) -> Payer:
        if lane not in self._payers:
            chains = self._profile.gateway_chains
            self._payers[lane] = await open_payer(lane, self._profile, self._names, chains)
        return self._payers[lane]

    def close(self) -> None:
        """End the service and the payers."""
        self._process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(10)
        self._process.kill()
        self._process.wait()
        self._http.close()
        self._socket.close()
        for payer in self._payers.values():
            self._loop.run(payer.close())

    def log(self) -> str:
        """Return what the service said last."""
        return (self._folder / "gateway.log").read_text("utf-8", "replace")[-4000:]

    def _start(self) -> prepared.Prepared | subprocess.Popen[bytes]:
        own = {name: value for name, value in os.environ.items() if not name.startswith("WP_")}
        with (self._folder / "gateway.log").open("ab") as log:
            passed_fds = [self._socket.fileno()]
            environment = {**own, **self._settings()}
            process = prepared.start("reference.gateway", env=environment, pass_fds=passed_fds, stdout=log, stderr=log)
        ends = time.monotonic() + _READY_SECONDS
        while time.monotonic() < ends and process.poll() is None:
            with contextlib.suppress(httpx.TransportError):
                if self._http.get(f"{self.url}/health", timeout=2).status_code == 200:
                    return process
            time.sleep(0.05)
        raise AssertionError(f"the gateway did not become ready: {self.log()}")

    def _settings(self) -> dict[str, str]:
        chains, live_base = self._profile.gateway_chains, self._profile.chains.of("base")
        algorand, base, solana = (chains.of(lane) for lane in ("algorand", "base", "solana"))
        assert isinstance(algorand, AlgorandChain)
        assert isinstance(solana, SolanaChain)
        assert base is not None
        assert live_base is not None
        settings = {
            "WP_MODE": "test",
            "WP_GATEWAY_FD": str(self._socket.fileno()),
            "WP_GATEWAY_PUBLIC_URL": self.url,
            "WP_GATEWAY_DATA_DIR": str(self._folder / "gateway"),
            "WP_CLOCK_OFFSET_FILE": str(self._clock),
            "WP_CHAIN_POLL_SECONDS": "0.2",
            "WP_NODE_BASE_SEPOLIA": base.node,
            "WP_NODE_BASE_MAINNET": live_base.node,
        }
        for key in ("ALGORAND_TESTNET", "ALGORAND_MAINNET"):
            settings |= {f"WP_NODE_{key}": algorand.algod, f"WP_INDEXER_{key}": str(algorand.indexer)}
            token = algorand.token
            settings |= {} if token is None else {f"WP_NODE_TOKEN_{key}_FILE": str(token.file)}
        for key in ("SOLANA_DEVNET", "SOLANA_MAINNET"):
            settings |= {f"WP_NODE_{key}": solana.rpc, f"WP_NODE_WS_{key}": str(solana.ws)}
        return settings | {f"WP_{name}": "1000000" for name in _RATES}


@contextmanager
def world(folder: Path) -> Iterator[GatewayWorld]:
    """Bring a stack and a gateway of its own up, and end both on leaving."""
    loop = Loop()
    try:
        with running_stack(folder / "stack", "--surface", "gateway", "--no-addons") as ready:
            new_world = GatewayWorld(folder, target.load(Path(ready["profile"])), loop)
            try:
                yield new_world
            finally:
                new_world.close()
    finally:
        loop.stop()
