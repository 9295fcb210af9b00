"""What the table of every lane's node has: its network, its control address, who pays there and how much at most."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field

from conformance.target.tables import Secret, Table

ATOMIC_UNITS = r"^(0|[1-9][0-9]{0,18})$"
AtomicUnits = Annotated[str, Field(pattern=ATOMIC_UNITS)]


class Chain(Table):
    """How the suite reaches a node the target uses, who pays there, and how much USDC at most in atomic units.

    Attributes:
        network: Key of the network that the node serves.
        control: Address of the control verbs of a simulated chain, which fund the payers by themselves.
        funder: Key of an account that holds the chain's coin and USDC, where there are no control verbs.
        spending_limit: Atomic units of USDC that a whole run may take of the funder's money, on all lanes.
    """

    lane: ClassVar[str]
    network: str
    control: str | None = None
    funder: Secret | None = None
    spending_limit: AtomicUnits | None = None

    @property
    def node(self) -> str:
        """Address of the node."""
        raise NotImplementedError
