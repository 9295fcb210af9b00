"""One wallet a lane: official SDKs, real signatures, real transactions.

A payer sends exactly what a check asks for, welded or not; whether that buys anything is the target's business.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol, runtime_checkable

from conformance import extras
from conformance.http.client import Names
from conformance.lanes.algorand.transaction_ids import spellings as algorand_spellings
from conformance.lanes.checkout_request import CheckoutPayer
from conformance.lanes.funded_payer import AskedNode
from conformance.lanes.networks import Served
from conformance.lanes.solana.transaction_ids import spellings as solana_spellings
from conformance.lanes.spending import Wallet
from conformance.outcome import Inconclusive
from conformance.target import AlgorandChain, BaseChain, Budgets, Chain, Chains, Profile


class Payer(Protocol):
    """What every lane's payer can do; a lane's own attacks use its further methods."""

    lane: str

    @property
    def address(self) -> str:
        """The paying account's address."""

    @property
    def has_control(self) -> bool:
        """Whether the profile gives the address of control verbs."""

    @property
    def caip2(self) -> str:
        """CAIP-2 name of the network."""

    async def close(self) -> None:
        """Close connections."""

    async def block_time(self) -> int:
        """Return the time of the node's newest block, in unix seconds.

        Raises:
            Inconclusive: The node could not be asked.
        """

    async def lacks(self, verb: str) -> bool:
        """Return whether the node cannot carry out a control verb.

        Raises:
            Inconclusive: The node could not be asked.
        """

    async def pay(self, entry: Mapping[str, Any]) -> dict[str, Any]:
        """Pay one `accepts` entry, welded as its lane demands, wait until the payment is final on the chain.

        Returns:
            The proof: the JSON object that goes into `X-PAYMENT`.

        Raises:
            Inconclusive: The node could not be reached or refused the transaction.
        """


@runtime_checkable
class Settled(Protocol):
    """A payer whose proofs name no transaction, since the rail settles."""

    async def settlement(self, entry: Mapping[str, Any], proof: Mapping[str, Any]) -> str | None:
        """Return the transaction that settled a proof, None where the chain shows none.

        Raises:
            Inconclusive: The node could not be asked.
        """


async def payer_for(
    lane: str,
    profile: Profile,
    names: Names,
    seed: int,
    chains: Chains | None = None,
    wallet: Wallet | None = None,
) -> Payer:
    """Open the payer of a lane with a funded account, on other nodes than the rail's where `chains` gives them.

    Args:
        lane: The lane.
        profile: The target's profile.
        names: What shows in no log.
        seed: Seed of everything random that is sent to the target.
        chains: Other nodes than the rail's.
        wallet: What the run may take of the operator's money; a payer's own, off main networks, when None.

    Raises:
        Inconclusive: The profile gives no node for the lane, or no way to fund an account; or the lane's extra is not
            installed.
    """
    nodes = profile.chains if chains is None else chains
    if getattr(nodes, lane, None) is not None:
        _installed(lane)
    if lane == "algorand" and nodes.algorand is not None:
        from conformance.lanes.algorand.payer import AlgorandPayer  # noqa: PLC0415 - SDKs are imported when a lane needs them

        return await AlgorandPayer.open(nodes.algorand, profile.budgets, names, seed, wallet)
    if lane == "base" and nodes.base is not None:
        from conformance.lanes.base.payer import BasePayer  # noqa: PLC0415 - SDKs are imported when a lane needs them

        return await BasePayer.open(nodes.base, profile.budgets, names, seed, wallet)
    if lane == "solana" and nodes.solana is not None:
        from conformance.lanes.solana.payer import SolanaPayer  # noqa: PLC0415 - SDKs are imported when a lane needs them

        return await SolanaPayer.open(nodes.solana, profile.budgets, names, seed, wallet)
    raise Inconclusive(f"the profile has no [chains.{lane}] table, so nothing can be paid on that lane")


async def served_by(chain: Chain, budgets: Budgets, names: Names) -> Served:
    """Return what network a node serves, as it says itself.

    Raises:
        Inconclusive: The node could not be asked, or the lane's extra is not installed.
    """
    node: AskedNode
    if isinstance(chain, AlgorandChain):
        _installed("algorand")
        from conformance.lanes.algorand.node import AlgorandNode  # noqa: PLC0415 - SDKs are imported when needed

        node = AlgorandNode(chain, budgets, names)
    elif isinstance(chain, BaseChain):
        _installed("base")
        from conformance.lanes.base.node import BaseNode  # noqa: PLC0415 - SDKs are imported when needed

        node = BaseNode(chain, budgets, names)
    else:
        _installed("solana")
        from conformance.lanes.solana.node import SolanaNode  # noqa: PLC0415 - SDKs are imported when needed

        node = SolanaNode(chain, budgets, names)
    try:
        return await node.served()
    finally:
        await node.close()


def _installed(lane: str) -> None:
    if not extras.installed(lane):
        raise Inconclusive(extras.sentence(lane))


def checkout_payer(payer: Payer) -> CheckoutPayer:
    """Return what pays checkout links from a payer's account.

    Raises:
        Inconclusive: Nothing does on that lane.
    """
    if payer.lane == "algorand":
        from conformance.lanes.algorand.checkout import AlgorandCheckout  # noqa: PLC0415 - as above
        from conformance.lanes.algorand.payer import AlgorandPayer  # noqa: PLC0415 - SDKs are imported when a lane needs them

        if isinstance(payer, AlgorandPayer):
            return AlgorandCheckout(payer)
    elif payer.lane == "base":
        from conformance.lanes.base.checkout import BaseCheckout  # noqa: PLC0415 - as above
        from conformance.lanes.base.payer import BasePayer  # noqa: PLC0415 - SDKs are imported when a lane needs them

        if isinstance(payer, BasePayer):
            return BaseCheckout(payer)
    elif payer.lane == "solana":
        from conformance.lanes.solana.checkout import SolanaCheckout  # noqa: PLC0415 - as above
        from conformance.lanes.solana.payer import SolanaPayer  # noqa: PLC0415 - SDKs are imported when a lane needs them

        if isinstance(payer, SolanaPayer):
            return SolanaCheckout(payer)
    raise Inconclusive(f"the suite pays no checkout link on the lane {payer.lane}")


def spellings(lane: str) -> Callable[[str], list[str]] | None:
    """Return what spells a lane's transaction ids in other ways; None where the payer names no transaction."""
    if lane == "algorand":
        return algorand_spellings
    if lane == "solana":
        return solana_spellings
    return None
