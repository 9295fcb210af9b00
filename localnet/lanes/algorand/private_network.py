"""A private Algorand network of `goal`, `algod` and `kmd` from the PATH: one node and one account, fresh at each start.

`goal` writes genesis and keys into the data folder and imports the account's key into a wallet of `kmd`, which runs
once to give it and is ended. `algod` then runs as a child like any other node, so its end leaves no process behind.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from localnet.lanes.algorand.kmd import first_account_words
from localnet.lanes.algorand.rest import NotAnswered, Rest
from localnet.processes import Child, ChildFault
from localnet.stack_secrets import write_secret
from programs.missing import Missing

if TYPE_CHECKING:
    from localnet.node_processes import NodeProcesses

MODE: Final = "ALGORAND_MODE"
# Keys to vote with for so many rounds, which take time to make: more than a day of ordinary ones, and in DevMode, where
# no node votes, hardly any.
_LAST_ROUND, _LAST_DEV_ROUND = 40_000, 100
_GOAL_SECONDS, _READY_SECONDS, _PAUSE = 300.0, 120.0, 0.1


@dataclass(frozen=True, slots=True)
class Programs:
    """The programs of a private network.

    Attributes:
        goal: Makes the network.
        algod: The node.
        kmd: Keeps the key of the network's account.
        mode: `dev`, a block for each transaction; or `rounds`, a block every few seconds by consensus.
    """

    goal: str
    algod: str
    kmd: str
    mode: str


def programs() -> Programs | None:
    """Return the programs on the PATH, None if one is missing.

    Raises:
        Missing: ALGORAND_MODE is neither dev nor rounds.
    """
    mode = os.environ.get(MODE, "dev")
    if mode not in {"dev", "rounds"}:
        raise Missing(f"{MODE}={mode} is not a mode of a private Algorand network", f"{MODE}=dev or {MODE}=rounds")
    goal, algod, kmd = (shutil.which(name) for name in ("goal", "algod", "kmd"))
    return Programs(goal, algod, kmd, mode) if goal and algod and kmd else None


@dataclass(frozen=True, slots=True)
class Started:
    """A private network that runs: its address, and the files with its token and with the words of its account."""

    url: str
    token_file: Path
    funder_file: Path


async def start(processes: NodeProcesses, programs: Programs) -> Started:
    """Make a network in the data folder and start its node.

    Raises:
        ChildFault: A program failed, or the node did not become ready.
    """
    root = processes.data_dir / "algorand_network"
    await asyncio.to_thread(shutil.rmtree, root, ignore_errors=True)
    template = processes.data_dir / "algorand_template.json"
    template.write_text(json.dumps(_template(dev=programs.mode == "dev")), "utf-8")
    await _create(processes, programs.goal, root, template)
    node = root / "Node"
    port = processes.free("algod")
    settings = json.loads((node / "config.json").read_text("utf-8")) if (node / "config.json").exists() else {}
    # Searches begin at the oldest open link, and without this a node forgets blocks after a thousand rounds.
    own = {"EndpointAddress": f"127.0.0.1:{port}", "Archival": True}
    (node / "config.json").write_text(json.dumps({**settings, **own}), "utf-8")
    funder = processes.data_dir / "algorand_funder.mnemonic"
    (wallets,) = node.glob("kmd-*")
    write_secret(funder, await _words(processes, programs.kmd, wallets))
    child = await Child.start_program("algod", [programs.algod, "-d", str(node)], log=processes.log("algod"))
    processes.children.append(child)
    url = f"http://127.0.0.1:{port}"
    await _ready(processes, child, url, node / "algod.token")
    return Started(url, node / "algod.token", funder)


def _template(*, dev: bool) -> dict[str, object]:
    wallet = {"Name": "Wallet", "Stake": 100, "Online": True}
    node = {"Name": "Node", "IsRelay": not dev, "Wallets": [{"Name": "Wallet", "ParticipationOnly": False}]}
    last = _LAST_DEV_ROUND if dev else _LAST_ROUND
    genesis = {"NetworkName": "weldproof", "LastPartKeyRound": last, "Wallets": [wallet], "DevMode": dev}
    return {"Genesis": genesis, "Nodes": [node]}


async def _words(processes: NodeProcesses, kmd: str, folder: Path) -> str:
    """Return the mnemonic of the network's account, which goal put into kmd's wallet.

    Raises:
        ChildFault: kmd did not start, or has no such wallet.
    """
    address = folder / "kmd.net"
    address.unlink(missing_ok=True)  # of the kmd that goal ran
    child = await Child.start_program("kmd", [kmd, "-d", str(folder)], log=processes.log("kmd"))
    try:
        async with asyncio.timeout(_READY_SECONDS):
            while not (address.exists() and address.read_text("ascii").strip()):
                if not child.is_running:
                    raise ChildFault(f"kmd ended: {child.last_words()}")
                await asyncio.sleep(_PAUSE)
        url = f"http://{address.read_text('ascii').strip()}"
        token = (folder / "kmd.token").read_text("ascii").strip()
        return await asyncio.to_thread(first_account_words, url, token)
    except (TimeoutError, OSError, NotAnswered) as fault:
        raise ChildFault(f"kmd did not give the private network's account: {fault or 'no answer'}") from fault
    finally:
        await child.stop()


async def _ready(processes: NodeProcesses, child: Child, url: str, token_file: Path) -> None:
    loop = asyncio.get_running_loop()
    ends = loop.time() + _READY_SECONDS
    while loop.time() < ends and child.is_running:
        if token_file.exists():
            algod = Rest(processes.session, url, token_file.read_text("ascii").strip())
            try:
                await algod.params()
            except NotAnswered:
                pass
            else:
                return
        await asyncio.sleep(_PAUSE)
    raise ChildFault(f"algod did not become ready at {url}: {child.last_words()}")


async def _create(processes: NodeProcesses, goal: str, root: Path, template: Path) -> None:
    """Let goal write a network into a folder; its faults go to its log."""
    words = [goal, "network", "create", "-n", "weldproof", "-r", str(root), "-t", str(template)]
    child = await Child.start_program("goal", words, log=processes.log("goal"))
    try:
        async with asyncio.timeout(_GOAL_SECONDS):
            status = await child.wait_for_end()
    except TimeoutError:
        raise ChildFault(f"goal network create did not end within {_GOAL_SECONDS:g} s") from None
    finally:
        await child.stop()
    if status != 0:
        raise ChildFault(f"goal network create failed: {child.last_words()}")
