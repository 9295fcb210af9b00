"""Real nodes with their control sidecar: started, asked whether they are ready, ended."""

from __future__ import annotations

import asyncio
import json
import shutil
import socket
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

import aiohttp

from localnet import accounts, algod, anvil, npm
from localnet.front import Front
from localnet.processes import READY_SECONDS, Child, ChildFault, all_of, listening_socket
from localnet.rpc import NodeFault, Rpc
from programs.missing import Missing
from programs.node import node

# Thirty-one slots make a transaction final: 0.8 s, while a blockhash stays valid for 3.75 s.
SLOT_MILLISECONDS = 25
_TRIES = 3
_VALIDATOR_SECONDS = 60.0
_CHAIN_IDS = {"base": 8453, "base_sepolia": 84532}


@dataclass(slots=True)
class Nodes:
    """Nodes that run.

    Attributes:
        children: Their processes and the sidecar's, in the order of their start.
        urls: Address by name, in the names of `localnet.stack.PORTS`.
        controls: Control address by lane, and by `base_sepolia`.
        algod: The Algorand node, where a real one is used.
        lanes: Lanes that run on these nodes.
    """

    children: list[Child] = field(default_factory=list)
    urls: dict[str, str] = field(default_factory=dict)
    controls: dict[str, str] = field(default_factory=dict)
    algod: algod.Algod | None = None
    lanes: tuple[str, ...] = ()


class Starter:
    """Starts the real nodes of some lanes; whatever it started stands in `nodes`, also when it breaks off."""

    def __init__(
        self,
        session: aiohttp.ClientSession,
        data_dir: Path,
        port: Callable[[str], int],
        block_seconds: float,
    ) -> None:
        self.nodes = Nodes()
        self._session = session
        self._data_dir = data_dir
        self._port = port
        self._block_seconds = block_seconds
        self._fronts: dict[str, tuple[Front, socket.socket]] = {}

    async def start(self, lanes: Iterable[str]) -> Nodes:
        """Start nodes for `lanes`, then the sidecar that prepares them.

        Raises:
            Missing: Something a node needs is not here; nothing takes its place.
            ChildFault: A node did not become ready.
        """
        self.nodes.lanes = tuple(lanes)
        starts = {"algorand": self._algorand, "base": self._base, "solana": self._solana}
        # What is missing is told before anything is started.
        self.nodes.algod = await asyncio.to_thread(self._look, self.nodes.lanes)
        for lane in self.nodes.lanes:
            await starts[lane]()
        if self._fronts:
            await self._sidecar()
        return self.nodes

    def _look(self, lanes: tuple[str, ...]) -> algod.Algod | None:
        """Look for what the nodes of `lanes` need and return the Algorand node, if it is among them."""
        node = algod.found(self._data_dir) if "algorand" in lanes else None
        if "base" in lanes:
            anvil.executable()
        if "solana" in lanes:
            self._solana_program()
        return node

    async def _algorand(self) -> None:
        node = self.nodes.algod
        assert node is not None  # noqa: S101 - `_look` found it
        await algod.check(self._session, node)
        secrets = self._data_dir / "algod_sidecar"
        accounts.write_secret(secrets, node.secrets())
        self.nodes.urls |= {"algod": node.url, "indexer": node.indexer}
        self._front("algorand", "algod", node.url, secrets)

    async def _base(self) -> None:
        await all_of(self._anvil(name, chain_id) for name, chain_id in _CHAIN_IDS.items())

    async def _anvil(self, name: str, chain_id: int) -> None:
        for left in reversed(range(1 if self._port(name) else _TRIES)):
            port = _free(self._port(name))
            words = anvil.command(port, chain_id, self._block_seconds)
            child = await Child.run(f"Anvil ({chain_id})", words, log=self._log(f"anvil-{chain_id}"))
            self.nodes.children.append(child)
            url = f"http://127.0.0.1:{port}"
            try:
                await self._ready(child, url, "eth_chainId", READY_SECONDS)
                break
            except ChildFault:
                # A port that was free a moment ago may be somebody else's now.
                if not left:
                    raise
                self.nodes.children.remove(child)
                await child.stop()
        self.nodes.urls[name] = url
        self._front(name, "anvil", url, None)

    def _solana_program(self) -> list[str]:
        """Return the words that start a Solana node: surfpool from npm, else a test validator that is on the PATH."""
        try:
            modules = npm.node_modules()
            surfpool = [str(node().path), str(npm.NODES / "surfpool.cjs"), str(modules), str(SLOT_MILLISECONDS)]
        except Missing:
            validator = shutil.which("solana-test-validator")
            if validator is None:
                raise
            return [validator]
        return surfpool

    async def _solana(self) -> None:
        bank_file = self._data_dir / "solana_bank.json"
        bank = accounts.solana(bank_file)
        words = self._solana_program()
        if len(words) == 1:
            rpc, ws = await self._test_validator(words[0], bank)
        else:
            child = await Child.run("surfpool", words, log=self._log("surfpool"), follows=True)
            self.nodes.children.append(child)
            ready = await child.ready_line()
            rpc, ws = str(ready.get("rpc")), str(ready.get("ws"))
            await self._ready(child, rpc, "getHealth", READY_SECONDS)
        self.nodes.urls |= {"solana": rpc, "solana_ws": ws}
        self._front("solana", "solana", rpc, bank_file)

    async def _test_validator(self, program: str, bank: str) -> tuple[str, str]:
        """Start solana-test-validator, which is written after its documentation and was not tried here."""
        from localnet import solana_bank  # noqa: PLC0415 - every stack starts with this module, few with a validator

        port, faucet = _free(self._port("solana")), _free(0)
        folder = self._data_dir / "test-validator"
        words = [
            *(program, "--reset", "--quiet", "--ledger", str(folder), "--bind-address", "127.0.0.1"),
            *("--rpc-port", str(port), "--faucet-port", str(faucet)),
        ]
        for mint in solana_bank.MINTS:
            file = folder.with_name(f"mint-{mint[:4]}.json")
            file.write_text(json.dumps(solana_bank.mint_account(mint, bank)), "ascii")
            words += ["--account", mint, str(file)]
        child = await Child.run("solana-test-validator", words, log=self._log("test-validator"))
        self.nodes.children.append(child)
        url = f"http://127.0.0.1:{port}"
        await self._ready(child, url, "getHealth", _VALIDATOR_SECONDS)
        return url, f"ws://127.0.0.1:{port + 1}"

    async def _ready(self, child: Child, url: str, method: str, within: float) -> None:
        """Ask a node until it answers, or its process ends."""
        asked = asyncio.create_task(Rpc(self._session, url).answers(method, within=within))
        ended = asyncio.create_task(child.ended())
        try:
            await asyncio.wait([asked, ended], return_when=asyncio.FIRST_COMPLETED)
            if not asked.done():
                raise ChildFault(f"{child.name} ended by itself: {child.last_words()}")
            asked.result()
            if not child.running:
                raise ChildFault(f"{child.name} ended by itself: {child.last_words()}")
        except NodeFault as fault:
            raise ChildFault(f"{child.name} did not become ready: {fault}: {child.last_words()}") from fault
        finally:
            asked.cancel()
            ended.cancel()

    def _front(self, name: str, kind: str, url: str, secret: Path | None) -> None:
        bound = listening_socket("127.0.0.1", 0)
        self._fronts[name] = Front(kind, bound.fileno(), url, secret), bound
        self.nodes.controls[name] = f"http://127.0.0.1:{bound.getsockname()[1]}/control"

    async def _sidecar(self) -> None:
        words = [word for front, _ in self._fronts.values() for word in front.words()]
        sockets = [bound for _, bound in self._fronts.values()]
        try:
            child = await Child.start(
                "the control sidecar", ["localnet.sidecar", *words], log=self._log("sidecar"), sockets=sockets
            )
        finally:
            for bound in sockets:
                bound.close()
        self.nodes.children.append(child)
        await child.ready_line()

    def _log(self, name: str) -> Path:
        return self._data_dir / "logs" / f"{name}.log"


def _free(port: int) -> int:
    """Return a port that nobody listens on; the node binds it by itself a moment later.

    Raises:
        ChildFault: It is taken.
    """
    with listening_socket("127.0.0.1", port) as bound:
        return int(bound.getsockname()[1])
