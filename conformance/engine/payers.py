"""Funded payers of a run: one for each lane and node, opened at first use."""

from __future__ import annotations

import asyncio

from conformance.engine.stale_chains import StaleChains
from conformance.http.client import Names
from conformance.lanes.checkout_request import CheckoutPayer
from conformance.lanes.descriptor import Payer
from conformance.lanes.payers import open_checkout_payer, open_payer
from conformance.lanes.spending import Wallet
from conformance.target import Chains, Profile


class Payers:
    """The payers of one target.

    Attributes:
        open_payers: The payers opened so far, by lane; those on the gateway's nodes by `gateway LANE`.
        separate_payers: Those on `[payer.chains]` by lane. The target's clock does not move these nodes.
        checkout_payers: The payers of checkout links opened so far, by lane.
    """

    def __init__(self, profile: Profile, names: Names, wallet: Wallet, stale_chains: StaleChains) -> None:
        self._profile = profile
        self._names = names
        self._wallet = wallet
        self._stale_chains = stale_chains
        # Checks that start together ask for the same payer. Without the lock, each would fund an account from the
        # operator's money.
        self._lock = asyncio.Lock()
        self.open_payers: dict[str, Payer] = {}
        self.separate_payers: dict[str, Payer] = {}
        self.checkout_payers: dict[str, CheckoutPayer] = {}

    async def close(self) -> None:
        """Close the connections of every payer."""
        for payer in (*self.open_payers.values(), *self.separate_payers.values()):
            await payer.close()

    async def for_rail(self, lane: str) -> Payer:
        """Return the funded payer of a lane, opening it at first use.

        Raises:
            Inconclusive: The profile has no way to reach the lane's node or to fund a payer, or its chain is stale.
        """
        await self._refuse_stale_chain(self._profile.chains, lane)
        async with self._lock:
            if lane not in self.open_payers:
                self.open_payers[lane] = await open_payer(lane, self._profile, self._names, wallet=self._wallet)
            return self.open_payers[lane]

    async def for_gateway(self, lane: str) -> Payer:
        """Return the funded payer of a lane on the node that checkout payments are made on, opening it at first use.

        Raises:
            Inconclusive: The profile has no way to reach that node or to fund a payer, or its chain is stale.
        """
        await self._refuse_stale_chain(self._profile.gateway_chains, lane)
        place = f"gateway {lane}"
        async with self._lock:
            if place not in self.open_payers:
                nodes = self._profile.gateway_chains
                self.open_payers[place] = await open_payer(lane, self._profile, self._names, nodes, self._wallet)
            return self.open_payers[place]

    async def for_payer_under_test(self, lane: str) -> Payer:
        """Return the funded payer of a lane on the node that a payer under test pays on, opening it at first use.

        Raises:
            Inconclusive: The profile has no way to reach that node or to fund a payer, or its chain is stale.
        """
        if self._profile.payer.chains.of(lane) is None:
            return await self.for_rail(lane)
        nodes = self._profile.payer_chains
        await self._refuse_stale_chain(nodes, lane)
        async with self._lock:
            if lane not in self.separate_payers:
                self.separate_payers[lane] = await open_payer(lane, self._profile, self._names, nodes, self._wallet)
            return self.separate_payers[lane]

    async def _refuse_stale_chain(self, chains: Chains, lane: str) -> None:
        if (chain := chains.of(lane)) is not None:
            await self._stale_chains.refuse(chain)

    async def for_checkout(self, lane: str) -> CheckoutPayer:
        """Return the payer of a lane's checkout links, with the account of `for_gateway`.

        Raises:
            Inconclusive: The profile has no way to reach that node or to fund a payer.
        """
        if lane not in self.checkout_payers:
            self.checkout_payers[lane] = open_checkout_payer(await self.for_gateway(lane))
        return self.checkout_payers[lane]
