"""What a lane is to the rail: facts about its chain, its weld, and how it asks a node."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from reference.protocol.challenge import Terms, Token
from reference.protocol.networks import Network
from reference.protocol.observed import ObservedTransaction
from reference.protocol.weld import Payment


class ChainUnavailable(Exception):
    """The node could not be asked or gave an answer that is none: nobody is served on its word (fail closed)."""


@dataclass(frozen=True, slots=True)
class LaneFacts:
    """What documents say of a lane.

    Attributes:
        network: Its network.
        binding: Member `extra.binding` of its challenge entry.
        scheme_kind: Its `scheme_kind` in the index.
        asset_name: Member `extra.name`.
    """

    network: Network
    binding: str
    scheme_kind: str
    asset_name: str


class ObservingLane(Protocol):
    """A lane whose payments the payer puts on the chain; the rail only looks."""

    facts: LaneFacts

    def live_members(self, token: str) -> Mapping[str, str]:
        """Return the lane's own members of `extra` for a token."""

    async def observe(self, tx_id: str) -> ObservedTransaction:
        """Return what the node shows of a transaction.

        Raises:
            ChainUnavailable: It could not be asked.
        """

    def judge(self, seen: ObservedTransaction, terms: Terms, token: Token, tx_id: str, ttl: int) -> Payment:
        """Return the payment when the transaction welds.

        Raises:
            PaymentRefused: By the first rule that does not hold.
        """

    def is_address(self, text: str) -> bool:
        """Return whether a text is an address of this chain."""

    async def check_node(self) -> bool:
        """Return whether the node is of this lane's network (P-NW-06).

        Raises:
            ChainUnavailable: It could not be asked.
        """
