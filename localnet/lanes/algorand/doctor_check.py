"""The line of `localnet doctor` about Algorand: the node that a start would take, and whether it can be used."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from pathlib import Path

import aiohttp

from localnet.lanes.algorand import algod, private_network
from localnet.lanes.lane import Found
from programs.missing import Missing


def examine(lane: str) -> Found:
    """Ask the operator's node; without one look for goal, algod and kmd, then for AlgoKit. Nothing is started."""
    try:
        if algod.is_given():
            with tempfile.TemporaryDirectory() as folder:  # for the token, which a start keeps in a file
                return Found(lane, ready=True, how=asyncio.run(_describe_node(Path(folder))))
        own = private_network.programs()
    except Missing as lacking:
        return Found(lane, ready=False, how=lacking.what, remedy=lacking.remedy)
    if own is not None:
        return Found(lane, ready=True, how=f"a private network of {own.goal}, mode {own.mode}, made at the start")
    tool = shutil.which("algokit")
    without = algod.algokit_lacks(tool)
    if not without:
        return Found(lane, ready=True, how=f"{tool} with a container engine, started at the start")
    how = f"ALGOD_URL is not set, goal, algod and kmd are not on the PATH, and {without}"
    return Found(lane, ready=False, how=how, remedy=algod.ALGOKIT_INSTALLED)


async def _describe_node(data_dir: Path) -> str:
    node = algod.find_node(data_dir)
    assert isinstance(node, algod.Algod)  # noqa: S101 - ALGOD_URL is set
    async with aiohttp.ClientSession(trust_env=False) as session:
        node_facts = await algod.check(session, node)
    usdc = f"USDC {node_facts.usdc}" if node_facts.usdc else "USDC is created at the start"
    indexer = "no indexer" if node.indexer is None else f"indexer {node.indexer}"
    return f"algod {node.url}, network {node_facts.genesis_id}, round {node_facts.newest_round}, {usdc}, {indexer}"
