"""The lanes of the suite: one line each, by which all that is a lane's own is found."""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib import import_module
from typing import Final

from conformance.vocabulary.lanes.facts import LaneFacts

_NAMES = (
    "algorand",
    "base",
    "solana",
)
FACTS: Final[Mapping[str, LaneFacts]] = {
    name: import_module(f"conformance.vocabulary.lanes.{name}").FACTS for name in _NAMES
}
_BY_NETWORK: Final = {network.caip2: lane.name for lane in FACTS.values() for network in (lane.main, lane.test)}
_BY_NAMESPACE: Final = {lane.namespace: lane.name for lane in FACTS.values() if lane.takes_namespace}


def lane_serving(network: str) -> str | None:
    """Return the lane of a network, as an `accepts` entry names it: it names that one, or takes its namespace."""
    return _BY_NETWORK.get(network) or _BY_NAMESPACE.get(re.split("[:_-]", network, maxsplit=1)[0])
