"""The lanes of a stack: one line each, by which the `LANE` of its folder is found."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Final

from localnet.lanes.lane import Lane

_NAMES = (
    "algorand",
    "base",
    "solana",
)
LANES: Final[Mapping[str, Lane]] = {name: import_module(f"localnet.lanes.{name}.lane").LANE for name in _NAMES}


def lane_of(network: str) -> Lane:
    """Return the lane of a network key.

    Raises:
        LookupError: No lane has it.
    """
    return next(one for one in LANES.values() if network in {*one.networks, one.local_key})
