"""Registry of lanes: one name each, by which the `DESCRIPTOR` of its folder is imported."""

from __future__ import annotations

import os
from importlib import import_module
from typing import Final

import aiohttp

from reference.lanes.descriptor import Descriptor, LaneRules, NodeSettings
from reference.lanes.lane import Lane
from reference.protocol.networks import Network

# The only place outside the folders of lanes that names one. Their order is the default order of `accepts` (P-CH-03).
_NAMES = (
    "algorand",
    "base",
    "solana",
)
LANES: Final[tuple[Descriptor, ...]] = tuple(
    import_module(f"reference.lanes.{name}.descriptor").DESCRIPTOR for name in _NAMES
)


def descriptor_of(network: Network) -> Descriptor | None:
    """Return the lane of a network, None when no lane serves it."""
    return next((lane for lane in LANES if lane.serves(network)), None)


def open_lane(session: aiohttp.ClientSession, network: Network, nodes: NodeSettings, rules: LaneRules) -> Lane | None:
    """Return the opened lane of a network, None when no lane serves it."""
    lane = descriptor_of(network)
    return None if lane is None else lane.open(session, network, nodes, rules)


def payee_setting(lane: Descriptor) -> str:
    """Return the name of the setting that holds the rail's payee on a lane."""
    return f"WP_RAIL_PAYTO_{lane.name.upper()}"


def read_payees() -> dict[str, str]:
    """Return the rail's payee by lane, as the environment has them."""
    return {lane.name: os.environ[payee_setting(lane)] for lane in LANES if os.environ.get(payee_setting(lane))}
