"""Interface of lanes: facts about a chain, its weld, and the questions to its node."""

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
    """The node could not be asked or its answer is malformed: no payer is served because of it (fail closed)."""


@dataclass(frozen=True, slots=True)
class LaneFacts:
    """The members of documents that describe a lane.

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
    """A lane on which the payer sends the payment; the rail only observes."""

    def judge(self, transaction: ObservedTransaction, terms: Terms, token: Token, tx_id: str, ttl: int) -> Payment:
        """Return the payment when the transaction welds.

        Raises:
            PaymentRefused: By the first rule that does not hold.
        """

    def find_received(self, transaction: ObservedTransaction, terms: Terms, token: Token, tx_id: str) -> Payment | None:
        """Return the payment that reached the payee for a challenge, at any time and in any amount.

        Raises:
            PaymentRefused: `tx_not_confirmed`: it is not final yet.
        """


@dataclass(frozen=True, slots=True)
class Fees:
    """The fees of a settlement, in wei per unit of gas."""

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
    """The state of an authorization on its chain.

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
    """The state of the chain for a settlement that would be sent now.

    Attributes:
        is_used: Whether its authorization can never be used again.
        refusal: The contract's text with which it would refuse; None if it would accept.
        fees: The fees to be mined soon.
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
    """A lane on which the rail sends the payment, from its own account."""

    domain: Domain

    async def read_outlook(self, authorization: Authorization, settler: str) -> Outlook:
        """Return the state of the chain that decides whether to settle an authorization.

        Raises:
            ChainUnavailable: The node could not be asked.
        """

    def seconds_until_final(self, tx_id: str) -> float | None:
        """Return in how many seconds a transaction may be final, if the next block takes it; None if unknown."""

    async def find_use(self, authorization: Authorization, since: int) -> Use:
        """Return the state of an authorization that did not exist before `since`, in unix seconds.

        Raises:
            ChainUnavailable: The node could not be asked.
        """

    async def try_settlement(self, authorization: Authorization, settler: str) -> str | None:
        """Return the contract's text with which it would refuse a settlement now; None if it would accept.

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
        """Return the fees of a transaction that is to be mined soon.

        Raises:
            ChainUnavailable: The node could not be asked.
        """

    async def send(self, raw: bytes) -> None:
        """Send a signed transaction to the node; a node that knows it already is not a fault.

        Raises:
            ChainUnavailable: The node refused it or could not be asked.
        """


Lane: TypeAlias = ObservingLane | SettlingLane
