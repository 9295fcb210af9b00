"""The lanes of the suite: one line each."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from conformance.vocabulary.lanes.algorand import ALGORAND
from conformance.vocabulary.lanes.base import BASE
from conformance.vocabulary.lanes.facts import LaneFacts
from conformance.vocabulary.lanes.solana import SOLANA

FACTS: Final[Mapping[str, LaneFacts]] = {
    one.name: one
    for one in (
        ALGORAND,
        BASE,
        SOLANA,
    )
}
_BY_NETWORK: Final = {network.caip2: lane.name for lane in FACTS.values() for network in (lane.main, lane.test)}
_BY_NAMESPACE: Final = {lane.namespace: lane.name for lane in FACTS.values() if lane.takes_namespace}


def lane_serving(network: str) -> str | None:
    """Return the lane of a network, as an `accepts` entry names it: it names that one, or takes its namespace."""
    return _BY_NETWORK.get(network) or _BY_NAMESPACE.get(re.split("[:_-]", network, maxsplit=1)[0])
