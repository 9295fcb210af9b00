"""The chain nodes that the target uses: one table a lane, each with who pays there and how much at most."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from conformance.target.tables import Secret, Table

ATOMIC_UNITS = r"^(0|[1-9][0-9]{0,18})$"
AtomicUnits = Annotated[str, Field(pattern=ATOMIC_UNITS)]


class AlgorandChain(Table):
    """How the suite reaches the Algorand node the target uses, who pays, and how much USDC at most in atomic units."""

    network: str = "algorand_mainnet"
    algod: str
    indexer: str | None = None
    token: Secret | None = None
    control: str | None = None
    funder: Secret | None = None
    spending_limit: AtomicUnits | None = None


class BaseChain(Table):
    """How the suite reaches the EVM node the target uses, who pays, and how much USDC at most in atomic units."""

    network: str = "base_mainnet"
    rpc: str
    control: str | None = None
    funder: Secret | None = None
    spending_limit: AtomicUnits | None = None


class SolanaChain(Table):
    """How the suite reaches the Solana node the target uses, who pays, and how much USDC at most in atomic units."""

    network: str = "solana_mainnet"
    rpc: str
    ws: str | None = None
    control: str | None = None
    funder: Secret | None = None
    spending_limit: AtomicUnits | None = None


class Chains(Table):
    """The chain nodes, one table a lane."""

    algorand: AlgorandChain | None = None
    base: BaseChain | None = None
    solana: SolanaChain | None = None
