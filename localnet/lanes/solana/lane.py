"""The Solana lane of a stack."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from localnet import npm
from localnet.lanes.lane import Ask, Found, Lane, Port, Reach, Simulator
from localnet.lanes.packaged import from_npm
from localnet.stack_secrets import write_secret
from programs.missing import Missing
from programs.node import node as node_js

if TYPE_CHECKING:  # help waits for nothing that starts or asks nodes
    import aiohttp

    from localnet.control_verbs import Verbs
    from localnet.node_processes import NodeProcesses
    from localnet.sidecar_node import SidecarTarget

# Thirty-one slots make a transaction final: 0.8 s, while a blockhash stays valid for 3.75 s.
SLOT_MILLISECONDS = 25
SLOT_SECONDS = 0.02
SURFPOOL = Path(__file__).with_name("surfpool.cjs")
_VALIDATOR_SECONDS = 60.0


class Solana(Lane):
    """Solana: one node holds the assets of both networks."""

    name = "solana"
    networks = ("solana_devnet", "solana_mainnet")
    real_networks = networks
    ports: Mapping[str, Port] = {"solana": Port(8899, 5), "solana_ws": Port(8900, 6, "ws")}
    nodes: Mapping[str, str] = {"solana": "solana"}
    key_suffix = ".json"
    kind = "solana"
    assets: Mapping[str, str] = {"solana_devnet": "4zMMC9srt5Ri5X14GAgXhaHii3GnPAEERYPJgZJDncDU"}
    options: Mapping[str, str] = {
        "--solana-rpc": "solana",
        "--solana-ws": "solana_ws",
        "--solana-control": "control_solana",
    }
    settings = ("WP_SOLANA_COMMITMENT",)

    def account(self, path: Path) -> str:
        """Return the address whose keypair a file holds, a JSON array of 64 numbers, or a new one."""
        from solders.keypair import Keypair  # noqa: PLC0415 - SDKs are imported when a lane needs them

        if not path.exists():
            write_secret(path, json.dumps(list(bytes(Keypair()))))
        return str(Keypair.from_bytes(bytes(json.loads(path.read_text("ascii")))).pubkey())

    def simulators(self, block_seconds: float, files: Mapping[str, Path], mode: str) -> Sequence[Simulator]:
        """Return the one simulator, whose slots follow each other faster than blocks of other chains."""
        del block_seconds, files, mode
        fds = {"--fd": "solana", "--ws-fd": "solana_ws"}
        return [Simulator("Solana", "sim.solana", fds, ["--slot-seconds", str(SLOT_SECONDS)])]

    async def prepare(self, ask: Ask, payee: str, data_dir: Path, reach: Reach) -> None:
        """Give the payee lamports and a token account."""
        del data_dir, reach
        await ask("solana", "fund", address=payee, amount="1000000000")
        await ask("solana", "mint", address=payee, amount="1")

    def node_settings(self, network: str, reach: Reach) -> Mapping[str, str]:
        """Return the node and its WebSocket."""
        name = network.upper()
        return {f"WP_NODE_{name}": reach.addresses["solana"], f"WP_NODE_WS_{name}": reach.addresses["solana_ws"]}

    def table(self, network: str, reach: Reach) -> dict[str, Any]:
        """Return the node, its WebSocket and the control address."""
        del network
        addresses = reach.addresses
        return {"rpc": addresses["solana"], "ws": addresses["solana_ws"], "control": reach.control.get("solana")}

    def examine(self) -> Found:
        """Look for surfpool from npm, then for a test validator on the PATH."""
        npm_finding = from_npm(self.name, "surfpool")
        validator = shutil.which("solana-test-validator")
        return Found(self.name, ready=True, how=validator) if validator and not npm_finding.ready else npm_finding

    def look(self, data_dir: Path) -> object:
        """Return the words that start a node: surfpool from npm, else a test validator that is on the PATH."""
        del data_dir
        try:
            modules = npm.node_modules()
            surfpool = [str(node_js().path), str(SURFPOOL), str(modules), str(SLOT_MILLISECONDS)]
        except Missing:
            validator = shutil.which("solana-test-validator")
            if validator is None:
                raise
            return [validator]
        return surfpool

    async def start(self, processes: NodeProcesses, node: object) -> None:
        """Start surfpool or a test validator."""
        from localnet.processes import READY_SECONDS, Child  # noqa: PLC0415 - as above

        assert isinstance(node, list)  # noqa: S101 - the words that `look` returned
        bank_file = processes.data_dir / "solana_bank.json"
        bank = self.account(bank_file)
        if len(node) == 1:
            rpc, ws = await self._test_validator(processes, node[0], bank)
        else:
            child = await Child.start_program("surfpool", node, log=processes.log("surfpool"), follows=True)
            processes.children.append(child)
            ready = await child.ready_line()
            rpc, ws = str(ready.get("rpc")), str(ready.get("ws"))
            await processes.ready(child, rpc, "getHealth", READY_SECONDS)
        processes.urls |= {"solana": rpc, "solana_ws": ws}
        processes.front("solana", self.kind, rpc, bank_file)

    async def _test_validator(self, processes: NodeProcesses, program: str, bank: str) -> tuple[str, str]:
        """Start solana-test-validator, which is written after its documentation and was not tried here."""
        from localnet.lanes.solana.control_verbs import MINTS, mint_account  # noqa: PLC0415 - as above
        from localnet.node_processes import free_port  # noqa: PLC0415 - as above
        from localnet.processes import Child  # noqa: PLC0415 - as above

        port, faucet = processes.free("solana"), free_port()
        folder = processes.data_dir / "test-validator"
        words = [
            *(program, "--reset", "--quiet", "--ledger", str(folder), "--bind-address", "127.0.0.1"),
            *("--rpc-port", str(port), "--faucet-port", str(faucet)),
        ]
        for mint in MINTS:
            file = folder.with_name(f"mint-{mint[:4]}.json")
            file.write_text(json.dumps(mint_account(mint, bank)), "ascii")
            words += ["--account", mint, str(file)]
        child = await Child.start_program("solana-test-validator", words, log=processes.log("test-validator"))
        processes.children.append(child)
        url = f"http://127.0.0.1:{port}"
        await processes.ready(child, url, "getHealth", _VALIDATOR_SECONDS)
        return url, f"ws://127.0.0.1:{port + 1}"

    def verbs(self, session: aiohttp.ClientSession, front: SidecarTarget) -> Verbs:
        """Return transactions of a bank that the faucet filled."""
        from localnet.lanes.solana.control_verbs import SolanaVerbs, read_bank  # noqa: PLC0415 - as above
        from localnet.rpc import Rpc  # noqa: PLC0415 - as above

        assert front.secret is not None  # noqa: S101 - the sidecar looked
        return SolanaVerbs(Rpc(session, front.url), read_bank(front.secret))

    async def head(self, session: aiohttp.ClientSession, url: str, data_dir: Path) -> int | None:
        """Return the newest slot."""
        del data_dir
        from localnet.rpc import Rpc  # noqa: PLC0415 - as above

        return int(await Rpc(session, url).ask("getSlot"))


LANE: Final = Solana()
