"""The lane table: which family of networks is served by which file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import aiohttp

from reference.chains.algorand import AlgorandLane
from reference.chains.lane import ObservingLane
from reference.chains.node import Node
from reference.protocol.networks import Network


@dataclass(frozen=True, slots=True, repr=False)
class NodeSettings:
    """Where the nodes of one network are.

    Attributes:
        node: Address of the node.
        indexer: Address of its indexer, where the chain has one.
        token: What the node asks for, or the empty string; never shown.
    """

    node: str
    indexer: str = ""
    token: str = ""


Opener = Callable[[aiohttp.ClientSession, Network, NodeSettings], ObservingLane]


def _algorand(session: aiohttp.ClientSession, network: Network, nodes: NodeSettings) -> ObservingLane:
    algod = Node(session, nodes.node, {"X-Algo-API-Token": nodes.token} if nodes.token else {})
    indexer = Node(session, nodes.indexer, {"X-Indexer-API-Token": nodes.token} if nodes.token else {})
    return AlgorandLane(network, algod, indexer if nodes.indexer else None)


LANES: Mapping[str, Opener] = {"algorand": _algorand}


def open_lane(session: aiohttp.ClientSession, network: Network, nodes: NodeSettings) -> ObservingLane | None:
    """Return the lane of a network, or None when no file serves its family."""
    opener = LANES.get(network.family)
    return None if opener is None else opener(session, network, nodes)
