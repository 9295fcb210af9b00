"""The chain nodes that the target uses: one table a lane, each with who pays there and how much at most."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Final, TypeAlias

from pydantic import Field

from conformance.target.tables import Secret, Table

ATOMIC_UNITS = r"^(0|[1-9][0-9]{0,18})$"
AtomicUnits = Annotated[str, Field(pattern=ATOMIC_UNITS)]


class AlgorandChain(Table):
    """How the suite reaches the Algorand node the target uses, who pays, and how much USDC at most in atomic units.

    Attributes:
        network: Key of the network that the node serves: `algorand_mainnet` or `algorand_testnet`.
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
    control: str | None = None
    funder: Secret | None = None
    spending_limit: AtomicUnits | None = None

    @property
    def node(self) -> str:
        """Address of the node."""
        return self.algod


class BaseChain(Table):
    """How the suite reaches the EVM node the target uses, who pays, and how much USDC at most in atomic units.

    Attributes:
        network: Key of the network that the node serves: `base_mainnet` or `base_sepolia`.
        rpc: Address of its JSON-RPC.
        control: Address of the control verbs of a simulated chain, which fund the payers by themselves.
        funder: Hex key of an account that holds ETH and USDC, where there are no control verbs.
        spending_limit: Atomic units of USDC that a whole run may take of the funder's money, on all lanes.
    """

    lane: ClassVar[str] = "base"
    network: str = "base_mainnet"
    rpc: str
    control: str | None = None
    funder: Secret | None = None
    spending_limit: AtomicUnits | None = None

    @property
    def node(self) -> str:
        """Address of the node."""
        return self.rpc


class SolanaChain(Table):
    """How the suite reaches the Solana node the target uses, who pays, and how much USDC at most in atomic units.

    Attributes:
        network: Key of the network that the node serves: `solana_mainnet` or `solana_devnet`.
        rpc: Address of its JSON-RPC.
        ws: Address of its WebSocket, where it has one.
        control: Address of the control verbs of a simulated chain, which fund the payers by themselves.
        funder: Key pair of an account that holds SOL and USDC, as solana-keygen writes it.
        spending_limit: Atomic units of USDC that a whole run may take of the funder's money, on all lanes.
    """

    lane: ClassVar[str] = "solana"
    network: str = "solana_mainnet"
    rpc: str
    ws: str | None = None
    control: str | None = None
    funder: Secret | None = None
    spending_limit: AtomicUnits | None = None

    @property
    def node(self) -> str:
        """Address of the node."""
        return self.rpc


Chain: TypeAlias = AlgorandChain | BaseChain | SolanaChain


class Chains(Table):
    """The chain nodes, one table a lane.

    Attributes:
        algorand: The Algorand node.
        base: The Base node.
        solana: The Solana node.
    """

    algorand: AlgorandChain | None = None
    base: BaseChain | None = None
    solana: SolanaChain | None = None


TABLES: Final[Mapping[str, type[Chain]]] = {one.lane: one for one in (AlgorandChain, BaseChain, SolanaChain)}
