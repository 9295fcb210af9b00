"""What an operator tells about a payer: the command that makes one paid call."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import Field

from conformance.target.tables import Table


class PayerProgram(Table):
    """A payer under test.

    Attributes:
        command: How one paid call is made, word by word, from the folder that the run is called from. What to pay for
            is in environment variables and files, which docs/testing-payers.md lists.
        environment: Further environment variables.
        seconds: Time that a call may take before the suite ends it; `WELDPROOF_PAYER_SECONDS` says less by a margin.
    """

    command: tuple[str, ...] | None = Field(default=None, min_length=1)
    environment: Mapping[str, str] = Field(default_factory=dict)
    seconds: float = Field(default=30.0, gt=0)
