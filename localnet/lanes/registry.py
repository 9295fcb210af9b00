"""The lanes of a stack: one line each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from localnet.lanes.algorand.lane import Algorand
from localnet.lanes.base.lane import Base
from localnet.lanes.lane import Lane
from localnet.lanes.solana.lane import Solana

LANES: Final[Mapping[str, Lane]] = {
    one.name: one
    for one in (
        Algorand(),
        Base(),
        Solana(),
    )
}


def lane_of(network: str) -> Lane:
    """Return the lane of a network key.

    Raises:
        LookupError: No lane has it.
    """
    return next(one for one in LANES.values() if network in one.networks)
