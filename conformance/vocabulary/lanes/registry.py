"""The lanes of the suite: one line each."""

from __future__ import annotations

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
