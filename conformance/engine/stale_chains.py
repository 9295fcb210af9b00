"""Chains whose newest block is old: what depends on block times cannot be decided there.

A target compares a block's time with its clock: a payment in a block that is too old is refused, and a careful target
does not offer a lane whose chain trails. Neither is a breach. An idle node that makes blocks only for transactions may
trail, if it gives the next block a time near that of the block before. So does any chain that stands still.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from typing import Final

from conformance.http.client import Names
from conformance.lanes.funded_payer import AskedNode
from conformance.lanes.payers import node_of
from conformance.outcome import Inconclusive
from conformance.target import Chain, Profile

# The tolerance between a block's time and a challenge's (5.5). Ordinary chains make a block every few seconds.
STALE_SECONDS: Final = 60
_ANSWER_SECONDS: Final = 5.0
_NOTICED_SECONDS: Final = 30.0
# What is paid on a chain, or says where it can be paid; checks of other surfaces do not depend on one.
_CHAIN_SURFACES: Final = frozenset({"rail", "gateway", "webhooks"})


class StaleChains:
    """What is known of the chains of one profile; each is asked at most every few seconds."""

    def __init__(self, profile: Profile, names: Names) -> None:
        self._profile = profile
        self._names = names
        self._nodes: dict[str, AskedNode] = {}
        self._last_answers: dict[str, tuple[float, str | None]] = {}
        self._last_stale: dict[str, tuple[float, str]] = {}

    async def close(self) -> None:
        """Close connections."""
        for node in self._nodes.values():
            await node.close()

    async def refuse(self, chain: Chain) -> None:
        """Refuse to pay on a chain that trails.

        Raises:
            Inconclusive: It does.
        """
        if (reason := await self.find_reason(chain)) is not None:
            raise Inconclusive(reason)

    async def find_reason(self, chain: Chain) -> str | None:
        """Return why nothing can be decided on a chain now; None where it is current or its node cannot be asked."""
        place = chain.model_dump_json()
        answer = self._last_answers.get(place)
        if answer is not None and time.monotonic() - answer[0] < _ANSWER_SECONDS:
            return answer[1]
        try:
            node = self._nodes.get(place)
            if node is None:
                node = self._nodes.setdefault(place, node_of(chain, self._profile.budgets, self._names))
            age = time.time() - await node.next_block_time()
        except (Inconclusive, ImportError):  # without the extra of the lane nothing is paid there
            return None
        reason = _explain_age(chain.lane, age) if age > STALE_SECONDS else None
        self._last_answers[place] = time.monotonic(), reason
        if reason is not None:
            self._last_stale[place] = time.monotonic(), reason
        return reason

    async def find_reason_for(self, surface: str, lane: str | None, since: float) -> str | None:
        """Return why a breach that a check of a surface found shows nothing; None if no chain of it trailed.

        Args:
            surface: The surface.
            lane: The lane that the check is bound to; None for a check that depends on every claimed lane.
            since: When the check began, in monotonic seconds. A chain that has become current meanwhile may have
                trailed for the check, and targets notice that it is current only after a while.
        """
        for chain in self._chains_of(surface, lane):
            if (reason := await self.find_reason(chain)) is not None:
                return reason
            stale_at, reason = self._last_stale.get(chain.model_dump_json(), (-math.inf, ""))
            if stale_at > since - _NOTICED_SECONDS:
                return reason
        return None

    def _chains_of(self, surface: str, lane: str | None) -> Iterator[Chain]:
        if lane is None and surface not in _CHAIN_SURFACES:
            return
        for name in self._profile.claims.lanes if lane is None else (lane,):
            for chains in (self._profile.chains, self._profile.gateway_chains):
                if (chain := chains.of(name)) is not None:
                    yield chain


def _explain_age(lane: str, age: float) -> str:
    return (
        f"the newest block of this {lane} node is {age:.0f} s old, so a correct target may refuse payments as too old, "
        "or not offer the lane: let blocks pass until the chain is current (`weldproof up` and `weldproof localnet "
        "start` do so on the nodes that they use), then run this again"
    )
