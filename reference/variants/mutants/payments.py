"""What adds a close-out to a payment, for mutants in Python; those of this module are data in `mutants/rail.toml`."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, Final

from reference.lanes.algorand.lane import AlgorandLane
from reference.protocol.observed import ObservedTransaction
from reference.variants.mutants.mutant import Mutant
from reference.variants.seams import replace

MUTANTS: Final[tuple[Mutant, ...]] = ()


def close_out_counts() -> None:
    """What a close-out moved is added to the plain amount."""

    def adding(from_algod: Callable[..., Any]) -> Callable[..., Any]:
        async def seen(self: AlgorandLane, pending: Any) -> ObservedTransaction:
            found: ObservedTransaction = await from_algod(self, pending)
            closed = pending.get("asset-closing-amount", 0)
            return dataclasses.replace(
                found, transfers=tuple(dataclasses.replace(one, value=one.value + closed) for one in found.transfers)
            )

        return seen

    replace(AlgorandLane, "_from_algod", adding)
