"""The Base lane of a stack."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from localnet.lanes.lane import Ask, Found, Lane, Port, Reach, Simulator
from localnet.lanes.packaged import from_npm
from localnet.stack_secrets import write_secret

if TYPE_CHECKING:  # help waits for nothing that starts or asks nodes
    import aiohttp

    from localnet.control_verbs import Verbs
    from localnet.node_processes import NodeProcesses
    from localnet.sidecar_node import SidecarTarget

_CHAIN_IDS: Mapping[str, int] = {"base": 8453, "base_sepolia": 84532}
_NETWORKS: Mapping[str, str] = {"base_mainnet": "base", "base_sepolia": "base_sepolia"}
_SETTLER_KEY = "settler.key"
_TRIES = 3


class Base(Lane):
    """Base: two nodes, since a node has one chain id (P-NW-05)."""

    name = "base"
    networks = ("base_sepolia", "base_mainnet")
    real_networks = networks
    ports: Mapping[str, Port] = {"base": Port(8545, 3), "base_sepolia": Port(8546, 4)}
    nodes: Mapping[str, str] = {"base": "base", "base_sepolia": "base_sepolia"}
    key_suffix = ".key"
    kind = "anvil"
    has_secret = False
    opts_in = False
    options: Mapping[str, str] = {"--base-rpc": "base", "--base-control": "control_base"}
    advice = (
        "A rail on Base pays the gas of its settlements: settler_key_file has the hex key of an account with 100 ETH."
    )
    settings = ("WP_EVM_CONFIRMATIONS", "WP_EVM_SUFFIX_BIND", "WP_RAIL_SETTLER_KEY_FILE")

    def account(self, path: Path) -> str:
        """Return the address whose key a file holds, 64 hex digits, writing a new one if the file is missing."""
        from coincurve import PrivateKey  # noqa: PLC0415 - SDKs are imported when a lane needs them
        from eth_utils.address import to_checksum_address  # noqa: PLC0415 - as above
        from eth_utils.crypto import keccak  # noqa: PLC0415 - as above

        if not path.exists():
            write_secret(path, PrivateKey().secret.hex())
        public = PrivateKey.from_hex(path.read_text("ascii").strip()).public_key
        return str(to_checksum_address(keccak(public.format(compressed=False)[1:])[12:]))

    def simulators(self, block_seconds: float, files: Mapping[str, Path], mode: str) -> Sequence[Simulator]:
        """Return one simulator a chain id."""
        del files, mode
        words = ["--block-seconds", str(block_seconds)]
        return [
            Simulator("Base", "sim.base", {"--fd": "base"}, words),
            Simulator("Base Sepolia", "sim.base", {"--fd": "base_sepolia"}, [*words, "--chain-id", "84532"]),
        ]

    def files(self, data_dir: Path, node: object) -> Mapping[str, Path]:
        """Return the settler's key, made where it is not there."""
        del node
        path = data_dir / _SETTLER_KEY
        self.account(path)
        return {"settler_key_file": path}

    async def prepare(self, ask: Ask, payee: str, data_dir: Path, reach: Reach) -> None:
        """Give the rail's settler its gas."""
        del payee, reach
        await ask("base", "fund", address=self.account(data_dir / _SETTLER_KEY), amount=str(10**20))

    def node_settings(self, network: str, reach: Reach) -> Mapping[str, str]:
        """Return the node of the network's chain id."""
        return {f"WP_NODE_{network.upper()}": reach.addresses[_NETWORKS[network]]}

    def rail_settings(self, data_dir: Path) -> Mapping[str, str]:
        """Return the settler's key."""
        return {"WP_RAIL_SETTLER_KEY_FILE": str(data_dir / _SETTLER_KEY)}

    def table(self, network: str, reach: Reach) -> dict[str, Any]:
        """Return the node of the network's chain id, and its control address."""
        node = _NETWORKS[network]
        return {"rpc": reach.addresses[node], "control": reach.control.get(node)}

    def examine(self) -> Found:
        """Look for Anvil at $ANVIL, on the PATH, then from npm."""
        own = os.environ.get("ANVIL") or shutil.which("anvil")
        return Found(self.name, ready=True, how=own) if own else from_npm(self.name, "Anvil")

    def look(self, data_dir: Path) -> object:
        """Look for Anvil."""
        from localnet.lanes.base import anvil  # noqa: PLC0415 - as above

        del data_dir
        return anvil.executable()

    async def start(self, processes: NodeProcesses, node: object) -> None:
        """Start an Anvil a chain id."""
        from localnet.processes import all_of  # noqa: PLC0415 - as above

        del node
        await all_of(self._anvil(processes, name, chain_id) for name, chain_id in _CHAIN_IDS.items())

    async def _anvil(self, processes: NodeProcesses, name: str, chain_id: int) -> None:
        from localnet.lanes.base import anvil  # noqa: PLC0415 - as above
        from localnet.processes import READY_SECONDS, Child, ChildFault  # noqa: PLC0415 - as above

        for tries_left in reversed(range(1 if processes.port(name) else _TRIES)):
            port = processes.free(name)
            words = anvil.command(port, chain_id, processes.block_seconds)
            child = await Child.start_program(f"Anvil ({chain_id})", words, log=processes.log(f"anvil-{chain_id}"))
            processes.children.append(child)
            url = f"http://127.0.0.1:{port}"
            try:
                await processes.ready(child, url, "eth_chainId", READY_SECONDS)
                break
            except ChildFault:
                # A port that was free a moment ago may belong to another program now.
                if not tries_left:
                    raise
                processes.children.remove(child)
                await child.stop()
        processes.urls[name] = url
        processes.front(name, self.kind, url, None)

    def verbs(self, session: aiohttp.ClientSession, front: SidecarTarget) -> Verbs:
        """Return Anvil's cheat calls."""
        from localnet.lanes.base.anvil import AnvilVerbs  # noqa: PLC0415 - as above
        from localnet.rpc import Rpc  # noqa: PLC0415 - as above

        return AnvilVerbs(Rpc(session, front.url))

    async def head(self, session: aiohttp.ClientSession, url: str, data_dir: Path) -> int | None:
        """Return the number of the newest block."""
        del data_dir
        from localnet.rpc import Rpc  # noqa: PLC0415 - as above

        return int(await Rpc(session, url).ask("eth_blockNumber"), 16)


LANE: Final = Base()
