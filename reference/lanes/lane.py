"""What a lane is to the rail: facts about its chain, its weld, and how it asks a node."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias, runtime_checkable

from reference.lanes.payment_search import Finder
from reference.protocol.challenge import Terms, Token
from reference.protocol.eip3009 import Authorization, Domain
from reference.protocol.networks import Network
from reference.protocol.observed_transaction import ObservedTransaction
from reference.protocol.weld import Payment


class ChainUnavailable(Exception):
    """The node could not be asked or gave a malformed answer: nobody is served on its word (fail closed)."""


@dataclass(frozen=True, slots=True)
class LaneFacts:
    """What documents say of a lane.

    Attributes:
        network: Its network.
        binding: Member `extra.binding` of its challenge entry.
        scheme_kind: Its `scheme_kind` in the index.
        asset_name: Member `extra.name`.
        extra: Its further members of `extra`, the same in every challenge.
    """

    network: Network
    binding: str
    scheme_kind: str
    asset_name: str
    extra: Mapping[str, str] = field(default_factory=dict)


class _AnyLane(Protocol):
    facts: LaneFacts
    finder: Finder

    def build_live_members(self, token: str) -> Mapping[str, str]:
        """Return the lane's own members of `extra` for a token."""

    async def observe(self, tx_id: str) -> ObservedTransaction:
        """Return what the node shows of a transaction.

        Raises:
            ChainUnavailable: It could not be asked.
        """

    def is_address(self, text: str) -> bool:
        """Return whether a text is an address of this chain."""

    async def check_node(self) -> bool:
        """Return whether the node is of this lane's network (P-NW-06).

        Raises:
            ChainUnavailable: It could not be asked.
        """


@runtime_checkable
class ObservingLane(_AnyLane, Protocol):
    """A lane whose payments the payer puts on the chain; the rail only looks."""

    def judge(self, transaction: ObservedTransaction, terms: Terms, token: Token, tx_id: str, ttl: int) -> Payment:
        """Return the payment when the transaction welds.

        Raises:
            PaymentRefused: By the first rule that does not hold.
        """

    def find_received(self, transaction: ObservedTransaction, terms: Terms, token: Token, tx_id: str) -> Payment | None:
        """Return what the transaction moved to the payee for a challenge, at any time and in any amount.

        Raises:
            PaymentRefused: `tx_not_confirmed`: it is not final yet.
        """


@dataclass(frozen=True, slots=True)
class Fees:
    """What a settlement may cost, in wei a unit of gas."""

    most: int
    tip: int


class Settler(Protocol):
    """An account from which the rail settles."""

    @property
    def address(self) -> str:
        """Its address."""

    @property
    def gas_limit(self) -> int:
        """Gas that a settlement may take."""

    def sign(self, *, chain_id: int, nonce: int, to: str, data: bytes, fees: Fees) -> tuple[bytes, str]:
        """Return a signed call of a contract and its transaction hash, `0x` and lower-case hex."""


@dataclass(frozen=True, slots=True)
class Use:
    """What became of an authorization on its chain.

    Attributes:
        is_used: Whether it can never be used again.
        tx_id: The transaction that used it; None while searches do not know it, or when it was cancelled.
        is_cancelled: Whether the payer cancelled it.
    """

    is_used: bool
    tx_id: str | None = None
    is_cancelled: bool = False


@dataclass(frozen=True, slots=True)
class Outlook:
    """What a settlement would meet now.

    Attributes:
        is_used: Whether its authorization can never be used again.
        refusal: Why the contract would refuse it, in its own words; None when it would not.
        fees: What it costs to be mined soon.
        wei: Native coin of the settler's account.
        nonce: How many transactions of that account are in blocks and in the pool.
    """

    is_used: bool
    refusal: str | None
    fees: Fees
    wei: int
    nonce: int


@runtime_checkable
class SettlingLane(_AnyLane, Protocol):
    """A lane whose payments the rail puts on the chain, from an account of its own."""

    domain: Domain

    async def read_outlook(self, authorization: Authorization, settler: str) -> Outlook:
        """Return all that is to be known before an authorization is settled.

        Raises:
            ChainUnavailable: The node could not be asked.
        """

    def seconds_until_final(self, tx_id: str) -> float | None:
        """Return in how many seconds a transaction may be final, if the next block takes it; None when nobody knows."""

    async def find_use(self, authorization: Authorization, since: int) -> Use:
        """Return what became of an authorization that did not exist before `since`, in unix seconds.

        Raises:
            ChainUnavailable: The node could not be asked.
        """

    async def try_settlement(self, authorization: Authorization, settler: str) -> str | None:
        """Return why the contract would refuse a settlement now, in its own words; None when it would not.

        Raises:
            ChainUnavailable: The node could not be asked.
        """

    async def has_held_price(self, authorization: Authorization) -> bool:
        """Return whether the payer held what it authorized in the chain's newest safe block, some minutes ago.

        Raises:
            ChainUnavailable: The node could not be asked.
        """

    def encode_settlement(self, authorization: Authorization) -> bytes:
        """Return the call data that settles an authorization."""

    async def read_nonce(self, settler: str, *, include_pending: bool) -> int:
        """Return how many transactions of an account are in blocks, or also in the pool.

        Raises:
            ChainUnavailable: The node could not be asked.
        """

    async def read_fees(self) -> Fees:
        """Return what a transaction costs that is to be mined soon.

        Raises:
            ChainUnavailable: The node could not be asked.
        """

    async def send(self, raw: bytes) -> None:
        """Hand a signed transaction to the node; that it is known already is no fault.

        Raises:
            ChainUnavailable: The node refused it or could not be asked.
        """


Lane: TypeAlias = ObservingLane | SettlingLane
