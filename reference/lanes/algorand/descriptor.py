"""The Algorand lane in the registry."""

from __future__ import annotations

from typing import Final

import aiohttp

from reference.lanes.algorand.lane import AlgorandLane
from reference.lanes.descriptor import Descriptor, LaneRules, NodeSettings
from reference.lanes.lane import Lane
from reference.lanes.node import Node
from reference.protocol.networks import Network


class Algorand(Descriptor):
    """Algorand: a confirmed round is final."""

    name = "algorand"
    title = "Algorand"
    family = "algorand"
    main = "algorand_mainnet"
    undoes = False

    def open(self, session: aiohttp.ClientSession, network: Network, nodes: NodeSettings, rules: LaneRules) -> Lane:
        """Return the lane over an algod and an indexer."""
        del rules
        algod = Node(session, nodes.node, {"X-Algo-API-Token": nodes.token} if nodes.token else {})
        indexer = Node(session, nodes.indexer, {"X-Indexer-API-Token": nodes.token} if nodes.token else {})
        return AlgorandLane(network, algod, indexer if nodes.indexer else None)


DESCRIPTOR: Final = Algorand()
