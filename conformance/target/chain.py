"""The members that the tables of all chain nodes share: network, control address, payer and spending limit."""

from __future__ import annotations

from typing import Annotated, ClassVar, Self

from pydantic import Field, model_validator

from conformance.target.tables import Secret, Table
from conformance.vocabulary.network import LOCAL_ENDING
from conformance.vocabulary.networks import Network, network_named

ATOMIC_UNITS = r"^(0|[1-9][0-9]{0,18})$"
AtomicUnits = Annotated[str, Field(pattern=ATOMIC_UNITS)]


class Chain(Table):
    """How the suite reaches a node the target uses, who pays there, and how much USDC at most in atomic units.

    Attributes:
        network: Key of the network that the node serves.
        asset: Id of USDC on a local network (its key ends in `_localnet`), which only the node knows.
        control: Address of the control verbs of a simulated chain, which fund the payers by themselves.
        funder: Key of an account that holds the chain's coin and USDC, where there are no control verbs.
        spending_limit: Atomic units of USDC that a whole run may take of the funder's money, on all lanes.
    """

    lane: ClassVar[str]
    network: str
    asset: str | None = Field(default=None, min_length=1)
    control: str | None = None
    funder: Secret | None = None
    spending_limit: AtomicUnits | None = None

    @model_validator(mode="after")
    def _names_local_asset(self) -> Self:
        # Every private network has its own USDC, so no table can list the id.
        if self.network.endswith(LOCAL_ENDING) and self.asset is None:
            raise ValueError(f"{self.network} is a local network: give asset, the id of its USDC")
        if self.asset is not None and not self.network.endswith(LOCAL_ENDING):
            raise ValueError(
                f"the USDC of {self.network} is known: leave asset out, or give network = "
                f'"{self.lane}{LOCAL_ENDING}" for a private network'
            )
        return self

    @property
    def usdc(self) -> Network | None:
        """The network with its USDC; None for an unknown key."""
        if self.asset is None:
            return network_named(self.network)
        name = f"a local network of {self.lane.capitalize()}"
        return Network(self.network, name, "", "", self.asset)

    @property
    def node(self) -> str:
        """Address of the node."""
        raise NotImplementedError
