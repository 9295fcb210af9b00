"""The descriptor of a lane: its node, its payer, its payer of checkout links, and its sender."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from conformance.http.client import Names
from conformance.lanes.checkout_request import CheckoutPayer
from conformance.lanes.funded_payer import LaneNode
from conformance.lanes.signed_payment import PaymentSender
from conformance.lanes.spending import Wallet
from conformance.lanes.tested_payer_accounts import PayerHost
from conformance.target import Budgets


class Payer(Protocol):
    """The payer of a lane; checks of one lane use its further methods for their attacks."""

    lane: str

    @property
    def address(self) -> str:
        """The paying account's address."""

    @property
    def has_control(self) -> bool:
        """Whether the profile gives the address of control verbs."""

    @property
    def caip2(self) -> str:
        """CAIP-2 name of the network."""

    async def close(self) -> None:
        """Close connections."""

    async def block_time(self) -> int:
        """Return the time of the node's newest block, in unix seconds.

        Raises:
            Inconclusive: The node could not be asked.
        """

    async def lacks(self, verb: str) -> bool:
        """Return whether the node cannot carry out a control verb.

        Raises:
            Inconclusive: The node could not be asked.
        """

    async def pay(self, entry: Mapping[str, Any]) -> dict[str, Any]:
        """Pay one `accepts` entry, welded as its lane demands, and wait until the payment is final on the chain.

        Returns:
            The proof: the JSON object that goes into `X-PAYMENT`.

        Raises:
            Inconclusive: The node could not be reached or refused the transaction.
        """


@runtime_checkable
# On such a lane the proof is an authorization; its transaction exists only after the rail has sent it.
class SettledByRail(Protocol):
    """A payer whose proofs name no transaction, because the rail sends it."""

    async def settlement(self, entry: Mapping[str, Any], proof: Mapping[str, Any]) -> str | None:
        """Return the transaction that settled a proof; None if the chain shows none.

        Raises:
            Inconclusive: The node could not be asked.
        """


@runtime_checkable
class SignsUnfunded(Protocol):
    """A payer that can sign what pays an entry without holding the money."""

    async def sign_unfunded(self, entry: Mapping[str, Any]) -> dict[str, Any]:
        """Return a proof for an `accepts` entry that is right except that its payer holds nothing.

        Raises:
            Inconclusive: The entry names no domain, no price or no token, or the node could not be asked.
        """


@dataclass(frozen=True, slots=True)
class LaneTools:
    """The tools of a lane's payments; making them imports the chain's libraries.

    Attributes:
        node: Opens the node that the lane's table in a profile gives.
        payer: Opens a payer there with a funded account; raises `Inconclusive` as `open_payer` does.
        checkout: Returns the payer of checkout links that uses the account of such a payer.
        sender: Opens the sender of signed payments on the node.
        take_back: Returns the asset and the native coin in the account of a wallet's label to the funder;
            raises `Inconclusive` if the node cannot be asked.
        payer_host: Returns the chain side of a payer under test, funded by such a payer.
    """

    node: Callable[[Any, Budgets, Names], LaneNode]
    payer: Callable[[Any, Budgets, Names, Wallet | None], Awaitable[Payer]]
    checkout: Callable[[Any], CheckoutPayer]
    sender: Callable[[Any, Budgets, Names], PaymentSender]
    take_back: Callable[[Any, Budgets, Names, Wallet, str], Awaitable[None]]
    payer_host: Callable[[Any], PayerHost]


@dataclass(frozen=True, slots=True)
class Descriptor:
    """One lane, which can be described without the libraries of its chain.

    Attributes:
        name: The lane, as profiles, commands and extras name it.
        means: Returns its tools.
        spellings: Returns other spellings of a transaction id; None if the payer names no transaction.
    """

    name: str
    # A function: commands that only describe lanes must work without the chains' SDKs, whose import takes a second.
    means: Callable[[], LaneTools]
    spellings: Callable[[str], list[str]] | None = None
