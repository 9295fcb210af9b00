"""The table of a Solana node."""

from __future__ import annotations

from typing import ClassVar, Final

from conformance.target.chain import Chain


class SolanaChain(Chain):
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

    @property
    def node(self) -> str:
        """Address of the node."""
        return self.rpc


TABLE: Final = SolanaChain
