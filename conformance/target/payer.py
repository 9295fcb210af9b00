"""What an operator tells about a payer: the command that makes one paid call."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import Field

from conformance.target.chains import Chains
from conformance.target.tables import Table


class PayerProgram(Table):
    """A payer under test.

    Attributes:
        command: How one paid call is made, word by word, from the folder that the run is called from. What to pay for
            is in environment variables and files, which docs/testing-payers.md lists.
        environment: Further environment variables.
        stock: Whether the payer speaks plain x402 version 2 (scheme `exact`, `PAYMENT-SIGNATURE`) and knows no weld.
            The played rail then offers calls in that form, on Base. Rows about the weld and the receipt do not apply.
        seconds: `WELDPROOF_PAYER_SECONDS`: time in which a call should end. The suite ends it half a minute later.
        chains: Nodes on which the payer pays by lane, in tables like those of `[chains]`; a lane that is left out has
            the node of `[chains]`. Give nodes that no surface uses and whose time `[clock]` does not move.
    """

    command: tuple[str, ...] | None = Field(default=None, min_length=1)
    environment: Mapping[str, str] = Field(default_factory=dict)
    stock: bool = False
    seconds: float = Field(default=20.0, gt=0)
    chains: Chains = Chains()
