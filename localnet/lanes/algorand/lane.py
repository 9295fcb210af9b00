"""The Algorand lane of a stack."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from localnet.lanes.lane import Ask, Found, Lane, Port, Reach, Simulator
from localnet.stack_secrets import write_secret

if TYPE_CHECKING:  # help waits for nothing that starts or asks nodes
    import aiohttp

    from localnet.control_verbs import MayTrail, Verbs
    from localnet.node_processes import NodeProcesses
    from localnet.sidecar_node import SidecarTarget


class Algorand(Lane):
    """Algorand: one simulator with an indexer has the assets of both networks; a real node is a local network.

    A network of its protocol under another genesis names its own addresses, file and node.

    Attributes:
        ports: What logs call its simulator.
        nodes: Name of the address of algod.
        assets: Name of the address of the indexer.
        options: Name of the file with the token of both.
        chain: Further words of its simulator: what the chain starts from.
    """

    title = "Algorand"
    algod = "algod"
    indexer = "indexer"
    access_file = "algod_token_file"
    advice = (
        "algod and the indexer want the token in algod_token_file: algod in X-Algo-API-Token, the indexer in "
        "X-Indexer-API-Token."
    )
    chain: Sequence[str] = ()
    name = "algorand"
    networks = ("algorand_testnet", "algorand_mainnet")
    real_networks = ()
    ports: Mapping[str, Port] = {"algod": Port(4001, 0), "indexer": Port(8980, 1)}
    nodes: Mapping[str, str] = {"algorand": "algod"}
    key_suffix = ".mnemonic"
    kind = "algod"
    assets: Mapping[str, str] = {"algorand_testnet": "10458941"}
    options: Mapping[str, str] = {
        "--algod": "algod",
        "--indexer": "indexer",
        "--algod-token-file": "algod_token_file",
        "--control": "control_algorand",
    }

    def account(self, path: Path) -> str:
        """Return the address whose mnemonic a file holds, writing a new one if the file is missing."""
        from algosdk import account, mnemonic  # noqa: PLC0415 - SDKs are imported when a lane needs them

        if not path.exists():
            write_secret(path, mnemonic.from_private_key(account.generate_account()[0]))
        address: str = account.address_from_private_key(mnemonic.to_private_key(path.read_text("ascii").strip()))
        return address

    def simulators(self, block_seconds: float, files: Mapping[str, Path], mode: str) -> Sequence[Simulator]:
        """Return the one simulator of algod and indexer."""
        words = ["--block-seconds", str(block_seconds), "--mode", mode]
        words += ["--token-file", str(files[self.access_file]), *self.chain]
        sockets = {"--algod-fd": self.algod, "--indexer-fd": self.indexer}
        return [Simulator(self.title, "sim.algorand", sockets, words)]

    def files(self, data_dir: Path, node: object) -> Mapping[str, Path]:
        """Return the file of the node's API token."""
        from localnet.lanes.algorand.algod import Algod  # noqa: PLC0415 - as above

        if isinstance(node, Algod):  # which `start` has put in place of the programs that it ran
            return {self.access_file: node.token_file}
        path = data_dir / self.access_file.removesuffix("_file")
        if not path.exists():
            write_secret(path, os.urandom(32).hex())
        return {self.access_file: path}

    async def prepare(self, ask: Ask, payee: str, data_dir: Path, reach: Reach) -> None:
        """Give the payee Algos and a holding of USDC."""
        await ask(self.name, "fund", address=payee, amount="10000000")
        await self.opt_in(data_dir / f"payto_{self.name}{self.key_suffix}", None, reach)
        await ask(self.name, "mint", address=payee, amount="1")

    async def opt_in(self, key_file: Path, asset: str | None, reach: Reach) -> None:
        """Opt an account in by its own key, as each holder of an asset must."""
        from localnet.lanes.algorand import algod  # noqa: PLC0415 - as above

        local = reach.local.get(self.name)
        usdc_id = str(algod.USDC) if local is None else local.asset_id
        asset_id = int(asset or usdc_id)
        await algod.opt_in(reach.addresses[self.algod], reach.files[self.access_file], key_file, asset_id)

    def simulated_clock(self, session: aiohttp.ClientSession, reach: Reach, payee: str, mode: str) -> MayTrail | None:
        """Return the simulator in DevMode."""
        from localnet.lanes.algorand.devmode_clock import SimulatedDevMode  # noqa: PLC0415 - as above

        if mode != "dev":
            return None
        token = reach.files[self.access_file].read_text("ascii").strip()
        return SimulatedDevMode(session, reach.addresses[self.algod], token, reach.control[self.name], payee)

    def node_settings(self, network: str, reach: Reach) -> Mapping[str, str]:
        """Return algod, the indexer if there is one, and the token of both."""
        name = network.upper()
        indexer = reach.addresses.get(self.indexer)
        return {
            f"WP_NODE_{name}": reach.addresses[self.algod],
            **({f"WP_INDEXER_{name}": indexer} if indexer else {}),
            f"WP_NODE_TOKEN_{name}_FILE": str(reach.files[self.access_file]),
        }

    def table(self, network: str, reach: Reach) -> dict[str, Any]:
        """Return algod, the indexer if there is one, the token of both, and the control address."""
        del network
        indexer = reach.addresses.get(self.indexer)
        return {
            "algod": reach.addresses[self.algod],
            **({"indexer": indexer} if indexer else {}),
            "token": {"file": str(reach.files[self.access_file])},
            "control": reach.control.get(self.name),
        }

    def examine(self) -> Found:
        """Ask the operator's algod, or look for the programs of a private network, or for AlgoKit."""
        from localnet.lanes.algorand import doctor_check  # noqa: PLC0415 - as above

        return doctor_check.examine(self.name)

    def look(self, data_dir: Path) -> object:
        """Return the node that the environment names, the programs of a private network, or AlgoKit's node."""
        from localnet.lanes.algorand import algod  # noqa: PLC0415 - as above

        return algod.find_node(data_dir)

    async def start(self, processes: NodeProcesses, node: object) -> None:
        """Ask the node whether it can be used, after its start if it is one of ours, and make sure of its USDC."""
        from localnet.lanes.algorand import algod, private_network, usdc  # noqa: PLC0415 - as above
        from localnet.lanes.algorand.rest import NotAnswered, Rest  # noqa: PLC0415 - as above

        if isinstance(node, private_network.Programs):
            own = await private_network.start(processes, node)
            node = algod.Algod(own.url, None, own.token_file, own.funder_file)
            processes.found[self.name] = node
        assert isinstance(node, algod.Algod)  # noqa: S101 - `look` found it
        await algod.check(processes.session, node)
        rest = Rest(processes.session, node.url, node.token())
        try:
            local = await usdc.local_network(self.name, self.local_key, rest, node.funder())
        except NotAnswered as fault:
            from localnet.processes import ChildFault  # noqa: PLC0415 - as above

            raise ChildFault(str(fault)) from fault
        processes.local[self.name] = local
        secrets = processes.data_dir / "algod_sidecar"
        write_secret(secrets, node.secrets(local.asset_id))
        processes.urls |= {"algod": node.url, **({} if node.indexer is None else {"indexer": node.indexer})}
        processes.front("algorand", self.kind, node.url, secrets)

    def verbs(self, session: aiohttp.ClientSession, front: SidecarTarget) -> Verbs:
        """Return what a funded account can do."""
        from localnet.lanes.algorand.algod import AlgodVerbs  # noqa: PLC0415 - as above

        assert front.secret is not None  # noqa: S101 - the sidecar looked
        return AlgodVerbs(session, front.url, front.secret)

    async def head(self, session: aiohttp.ClientSession, url: str, data_dir: Path) -> int | None:
        """Return the newest round of algod, which the token of the data folder lets in, or of the indexer."""
        from localnet.lanes.algorand.rest import NotAnswered, Rest  # noqa: PLC0415 - as above

        try:
            token, *_ = (data_dir / "algod_sidecar").read_text("ascii").splitlines()
            node = Rest(session, url, token)
            status, answer = await node.get("/v2/status")
            if status != 200:
                status, answer = await node.get("/health")
        except (OSError, NotAnswered):
            return None
        newest = answer.get("last-round", answer.get("round"))
        return newest if status == 200 and isinstance(newest, int) else None


LANE: Final = Algorand()
