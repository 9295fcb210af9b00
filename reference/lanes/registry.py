"""The lane table: which family of networks is served by which file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import aiohttp

from reference.lanes.algorand.lane import AlgorandLane
from reference.lanes.base.lane import BaseLane
from reference.lanes.json_rpc import JsonRpc
from reference.lanes.lane import Lane
from reference.lanes.node import Node
from reference.lanes.solana.lane import SolanaLane
from reference.protocol.networks import Network
from reference.protocol.service_word import ServiceWord


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


@dataclass(frozen=True, slots=True)
class LaneRules:
    """What the operator says about all lanes.

    Attributes:
        word: The service word, which Solana's reference accounts are derived from.
        confirmations: Blocks that make an EVM transaction final, its own counted (1.2).
        commitment: Commitment that makes a Solana transaction final.
        reads_calldata: Whether EVM lanes tell what a transaction calls (WP_EVM_SUFFIX_BIND).
    """

    word: ServiceWord
    confirmations: int = 3
    commitment: str = "finalized"
    reads_calldata: bool = False


Opener = Callable[[aiohttp.ClientSession, Network, NodeSettings, LaneRules], Lane]


def _algorand(session: aiohttp.ClientSession, network: Network, nodes: NodeSettings, _: LaneRules) -> Lane:
    algod = Node(session, nodes.node, {"X-Algo-API-Token": nodes.token} if nodes.token else {})
    indexer = Node(session, nodes.indexer, {"X-Indexer-API-Token": nodes.token} if nodes.token else {})
    return AlgorandLane(network, algod, indexer if nodes.indexer else None)


def _rpc(session: aiohttp.ClientSession, nodes: NodeSettings) -> JsonRpc:
    return JsonRpc(Node(session, nodes.node, {"Authorization": f"Bearer {nodes.token}"} if nodes.token else {}))


def _evm(session: aiohttp.ClientSession, network: Network, nodes: NodeSettings, rules: LaneRules) -> Lane:
    return BaseLane(network, _rpc(session, nodes), rules.confirmations, reads_calldata=rules.reads_calldata)


def _solana(session: aiohttp.ClientSession, network: Network, nodes: NodeSettings, rules: LaneRules) -> Lane:
    return SolanaLane(network, _rpc(session, nodes), rules.word, rules.commitment)


LANES: Mapping[str, Opener] = {"algorand": _algorand, "evm": _evm, "solana": _solana}


def open_lane(session: aiohttp.ClientSession, network: Network, nodes: NodeSettings, rules: LaneRules) -> Lane | None:
    """Return the lane of a network, or None when no file serves its family or it has no asset to sign for."""
    opener = LANES.get(network.family)
    if opener is None or (network.family == "evm" and not network.eip712_name):
        return None
    return opener(session, network, nodes, rules)
