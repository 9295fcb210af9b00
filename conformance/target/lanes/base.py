"""The table of a Base node."""

from __future__ import annotations

from typing import ClassVar, Final

from conformance.target.chain import Chain


class BaseChain(Chain):
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

    @property
    def node(self) -> str:
        """Address of the node."""
        return self.rpc


TABLE: Final = BaseChain
