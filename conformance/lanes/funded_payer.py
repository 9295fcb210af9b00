"""The base of every lane's payer: throw-away accounts with money, on a node on which paying is allowed."""

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
    """An open node."""

    async def read_network(self) -> NodeNetwork:
        """Return the network that it serves."""

    async def next_block_time(self) -> int:
        """Return the earliest possible time of the next block, in unix seconds, as far as the node shows it.

        Raises:
            Inconclusive: The node could not be asked.
        """

    async def close(self) -> None:
        """Close connections."""


A = TypeVar("A", bound=HasAddress)


class FundedPayer(Controlled, Generic[A]):
    """A payer with separate accounts, fresh in every run; the first one pays.

    Attributes:
        lane: The lane.
        network_key: Key of the network that the profile says its node serves.
        caip2: CAIP-2 name of the network, as the node reports it.
        has_open_payment: Whether a payment was signed and is not decided yet.
    """

    def __init__(self, chain: Chain, control: NodeControl) -> None:
        super().__init__(control)
        self.lane = chain.lane
        self.network_key = chain.network
        self.caip2 = ""
        # When the payer is closed, the money for an open payment stays in its account: taking it back would make a
        # payment fail that was presented already.
        self.has_open_payment = False
        self._accounts: list[A] = []
        # Checks pay concurrently from one account. Without the lock, two of them could count the same money as
        # theirs.
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
    """Yield the network of a node and the wallet of the run; the node is closed if the body fails.

    Args:
        chain: The table of the node in the profile.
        node: The node.
        wallet: How much of the operator's money the run may take; None for a fresh wallet without main networks.

    Raises:
        Inconclusive: The node cannot be asked or may not be paid on.
    """
    table = f"chains.{chain.lane}"
    try:
        # In this order: a profile without money is a mistake that needs no node, and the node's network is asked
        # before any account is made there.
        require_money(table, chain)
        network, purse = await node.read_network(), wallet or Wallet()
        admit(table, chain, network, main_network=purse.main_network)
        yield network, purse
    # Also for an interrupt: an open node has connections and threads that would keep the process alive.
    except BaseException:
        await node.close()
        raise
