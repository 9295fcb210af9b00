"""The Solana lane in the registry."""

from __future__ import annotations

from typing import Final

import aiohttp

from reference.lanes.descriptor import Descriptor, LaneRules, NodeSettings
from reference.lanes.json_rpc import open_rpc
from reference.lanes.lane import Lane
from reference.lanes.solana.lane import SolanaLane
from reference.protocol.networks import Network


class Solana(Descriptor):
    """Solana."""

    name = "solana"
    title = "Solana"
    family = "solana"
    main = "solana_mainnet"

    def open(self, session: aiohttp.ClientSession, network: Network, nodes: NodeSettings, rules: LaneRules) -> Lane:
        """Return the lane over an RPC node."""
        return SolanaLane(network, open_rpc(session, nodes.node, nodes.token), rules.word, rules.commitment)


DESCRIPTOR: Final = Solana()
