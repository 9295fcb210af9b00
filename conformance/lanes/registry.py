"""The lanes that the suite pays on: one line each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from conformance.lanes.algorand.descriptor import ALGORAND
from conformance.lanes.base.descriptor import BASE
from conformance.lanes.descriptor import Descriptor
from conformance.lanes.solana.descriptor import SOLANA

LANES: Final[Mapping[str, Descriptor]] = {
    one.name: one
    for one in (
        ALGORAND,
        BASE,
        SOLANA,
    )
}
