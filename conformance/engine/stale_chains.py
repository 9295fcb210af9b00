"""Stale chains, whose newest block is old: rules that depend on block times cannot be decided there."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from typing import Final

from conformance.http.client import Names
from conformance.lanes.funded_payer import LaneNode
from conformance.lanes.payers import open_node
from conformance.outcome import Inconclusive
from conformance.target import Chain, Profile

# The tolerance between a block's time and a challenge's (5.5). Ordinary chains make a block every few seconds.
# A target compares a block's time with its clock. It refuses a payment in a block that is too old, and a careful
# target does not offer a lane whose chain is stale: neither is a breach. A chain becomes stale if it stands still, or
# if an idle node makes blocks only for transactions and gives the next block a time near that of the block before.
#
STALE_SECONDS: Final = 60
_ANSWER_SECONDS: Final = 5.0
_NOTICED_SECONDS: Final = 30.0
# Surfaces that are paid on a chain or list where to pay; checks of other surfaces do not depend on a chain.
_CHAIN_SURFACES: Final = frozenset({"rail", "gateway", "webhooks"})


class StaleChains:
    """Whether the chains of one profile are stale; each node is asked at most every few seconds."""

    def __init__(self, profile: Profile, names: Names) -> None:
        self._profile = profile
        self._names = names
        self._nodes: dict[str, LaneNode] = {}
        self._last_answers: dict[str, tuple[float, str | None]] = {}
        self._last_stale: dict[str, tuple[float, str]] = {}

    async def close(self) -> None:
        """Close connections."""
        for node in self._nodes.values():
            await node.close()

    async def refuse(self, chain: Chain) -> None:
        """Refuse to pay on a stale chain.

        Raises:
            Inconclusive: The chain is stale.
        """
        if (reason := await self.find_reason(chain)) is not None:
            raise Inconclusive(reason)

    async def find_reason(self, chain: Chain) -> str | None:
        """Return why a chain is too old to decide anything; None if it is current or its node cannot be asked."""
        place = chain.model_dump_json()
        answer = self._last_answers.get(place)
        if answer is not None and time.monotonic() - answer[0] < _ANSWER_SECONDS:
            return answer[1]
        try:
            node = self._nodes.get(place)
            if node is None:
                node = self._nodes.setdefault(place, open_node(chain, self._profile.budgets, self._names))
            age = time.time() - await node.next_block_time()
        except (Inconclusive, ImportError):
            # An ImportError means that the lane's extra is not installed: no check pays there, so nothing is at stake.
            return None
        reason = _explain_age(chain.lane, age) if age > STALE_SECONDS else None
        self._last_answers[place] = time.monotonic(), reason
        if reason is not None:
            self._last_stale[place] = time.monotonic(), reason
        return reason

    async def find_reason_for(self, surface: str, lane: str | None, since: float) -> str | None:
        """Return why a breach found by a check of a surface decides nothing; None if none of its chains was stale.

        Args:
            surface: The surface.
            lane: The lane of the check; None for a check that depends on every claimed lane.
            since: When the check began, in monotonic seconds.
        """
        for chain in self._chains_of(surface, lane):
            if (reason := await self.find_reason(chain)) is not None:
                return reason
            stale_at, reason = self._last_stale.get(chain.model_dump_json(), (-math.inf, ""))
            # The chain is current now, but may have been stale when the check used it. Targets notice a current chain
            # only after a while, so the time before the check's beginning counts, too.
            if stale_at > since - _NOTICED_SECONDS:
                return reason
        return None

    def _chains_of(self, surface: str, lane: str | None) -> Iterator[Chain]:
        if lane is None and surface not in _CHAIN_SURFACES:
            return
        for name in self._profile.claims.lanes if lane is None else (lane,):
            own_chains = (self._profile.chains, self._profile.gateway_chains)
            for chains in (self._profile.payer_chains,) if surface == "payer" else own_chains:
                if (chain := chains.of(name)) is not None:
                    yield chain


def _explain_age(lane: str, age: float) -> str:
    return (
        f"the newest block of this {lane} node is {age:.0f} s old, so a correct target may refuse payments as too old, "
        "or not offer the lane: let blocks pass until the chain is current (`weldproof up` and `weldproof localnet "
        "start` do so on the nodes that they use), then run this again"
    )
