"""The table of an Algorand node."""

from __future__ import annotations

from typing import ClassVar, Final

from conformance.target.chain import Chain
from conformance.target.tables import Secret


class AlgorandChain(Chain):
    """How the suite reaches the Algorand node the target uses, who pays, and how much USDC at most in atomic units.

    Attributes:
        network: Key of the network that the node serves: `algorand_mainnet`, `algorand_testnet`, or
            `algorand_localnet` for a private network.
        asset: Id of USDC on a private network, which only the node knows.
        algod: Address of algod.
        indexer: Address of the indexer.
        token: API token of both.
        control: Address of the control verbs of a simulated chain, which fund the payers by themselves.
        funder: 25-word mnemonic of an account that holds Algos and USDC, where there are no control verbs.
        spending_limit: Atomic units of USDC that a whole run may take of the funder's money, on all lanes.
    """

    lane: ClassVar[str] = "algorand"
    network: str = "algorand_mainnet"
    algod: str
    indexer: str | None = None
    token: Secret | None = None

    @property
    def node(self) -> str:
        """Address of the node."""
        return self.algod


TABLE: Final = AlgorandChain
