"""What every lane's payer is: throw-away accounts with money, on a node that may be paid on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Generic, Protocol, TypeVar

from conformance.lanes.main_network_guard import NodeNetwork, admit, require_money
from conformance.lanes.node_control import Controlled, NodeControl
from conformance.lanes.spending import Wallet
from conformance.target import Chain


class HasAddress(Protocol):
    """An account, with its key in its chain's own form."""

    @property
    def address(self) -> str:
        """Its address as the chain writes it."""


class LaneNode(Protocol):
    """A node that was opened."""

    async def read_network(self) -> NodeNetwork:
        """Return what network it serves."""

    async def next_block_time(self) -> int:
        """Return the earliest time that the next block may bear, in unix seconds, as far as the node tells.

        Raises:
            Inconclusive: The node could not be asked.
        """

    async def close(self) -> None:
        """Close connections."""


A = TypeVar("A", bound=HasAddress)


class FundedPayer(Controlled, Generic[A]):
    """A payer with accounts of its own, fresh in every run; the first is the one that pays.

    Attributes:
        lane: The lane.
        network_key: Key of the network that the profile says its node serves.
        caip2: CAIP-2 name of the network, as the node says itself.
        has_open_payment: Whether a payment was signed and not decided yet. What its account holds then stays there
            when the payer is closed, since taking it away would make a payment fail that was presented.
    """

    def __init__(self, chain: Chain, control: NodeControl) -> None:
        super().__init__(control)
        self.lane = chain.lane
        self.network_key = chain.network
        self.caip2 = ""
        self.has_open_payment = False
        self._accounts: list[A] = []
        self._funding_lock = asyncio.Lock()

    @property
    def main(self) -> A:
        """The paying account with its key."""
        return self._accounts[0]

    @property
    def address(self) -> str:
        """The paying account's address."""
        return self.main.address


@asynccontextmanager
async def admit_node(chain: Chain, node: LaneNode, wallet: Wallet | None) -> AsyncIterator[tuple[NodeNetwork, Wallet]]:
    """Yield what network a node serves and what the run may take; the node is closed when the body fails.

    Args:
        chain: What the profile says of the node.
        node: The node.
        wallet: What the run may take of the operator's money; a payer's own, off main networks, when None.

    Raises:
        Inconclusive: The node cannot be asked or may not be paid on.
    """
    table = f"chains.{chain.lane}"
    try:
        require_money(table, chain)
        network, purse = await node.read_network(), wallet or Wallet()
        admit(table, chain, network, main_network=purse.main_network)
        yield network, purse
    except BaseException:
        await node.close()
        raise
