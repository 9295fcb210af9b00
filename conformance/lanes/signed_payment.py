"""A payment that is signed before it is sent: it can be stored first, and the same one can be sent again.

A transaction's id is known once it is signed, and a chain takes a transaction once. So a program that stored the signed
transaction and was killed asks the chain for that id, and sends the same bytes again if they are not there: however
often that happens, the payer pays once. On lanes where the rail sends, the authorization takes the transaction's place.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final, Protocol, runtime_checkable

from conformance.lanes.checkout_request import CheckoutRequest
from conformance.outcome import Inconclusive

_FIRST_WAIT, _LONGEST_WAIT, _LONGER = 0.05, 2.0, 1.5
# A node may drop a transaction that it took: it is given again after so many seconds.
_SEND_AGAIN_SECONDS: Final = 20.0


@dataclass(frozen=True, slots=True, repr=False)
class SignedPayment:
    """A signed payment. Whoever has it can have the money moved to its payee; no key can be derived from it.

    Attributes:
        payer: Address of the paying account.
        asset: Id of the asset, as its chain writes it.
        held: Atomic units of the asset that the account held when it signed.
        tx_id: Id of the transaction; None where the rail makes it.
        transaction: The signed transaction in hexadecimal; empty where the rail makes it.
        proof: JSON object of `X-PAYMENT`, where the rail sends, the authorization; empty for a transfer to a link.
        signed_at: When it was signed, in unix seconds by this machine's clock.
    """

    payer: str
    asset: str
    held: int
    tx_id: str | None
    transaction: str = field(default="", repr=False)
    proof: Mapping[str, Any] = field(default_factory=dict, repr=False)
    signed_at: int = field(default_factory=lambda: int(time.time()))


class Fate(StrEnum):
    """What a chain shows of a signed payment."""

    UNSEEN = "not on the chain"
    SEEN = "on its way"
    LANDED = "on the chain, final"
    FAILED = "on the chain, failed"
    LAPSED = "not on the chain, and too old to get there"


class NotTaken(Inconclusive):
    """A node refused a signed transaction."""


class OutdatedPayment(NotTaken):
    """A node refused a signed transaction because its blockhash is too old, or unknown to this node."""


class NotAPayment(Inconclusive):
    """A record of a signed payment is malformed, or its parts are of different payments."""


class PaymentSender(Protocol):
    """Sends signed payments to one node, and asks it for them."""

    async def send(self, payment: SignedPayment) -> None:
        """Give the node a transaction; one that it knows already is no fault.

        Raises:
            NotTaken: It refuses the transaction.
            NotAPayment: The payment is not what it says it is.
            Inconclusive: The node could not be asked.
        """

    async def fate(self, payment: SignedPayment) -> Fate:
        """Return what the chain shows of a payment.

        Raises:
            NotAPayment: The payment is not what it says it is.
            Inconclusive: The node could not be asked.
        """

    async def transaction(self, payment: SignedPayment) -> str | None:
        """Return the id of the transaction that made a payment, None where the chain shows none.

        Raises:
            Inconclusive: The node could not be asked.
        """

    async def close(self) -> None:
        """Close connections."""


@runtime_checkable
class SignsEntries(Protocol):
    """A payer that signs what an `accepts` entry asks for and leaves the sending to others."""

    async def sign(self, entry: Mapping[str, Any]) -> SignedPayment:
        """Return the payment of an entry, its money set aside.

        Raises:
            Inconclusive: The entry cannot be paid as it stands, or the node could not be asked.
        """


@runtime_checkable
class SignsBills(Protocol):
    """A payer of checkout links that signs what a bill asks for and leaves the sending to others."""

    async def sign(self, bill: CheckoutRequest, way: str | None = None) -> SignedPayment:
        """Return the payment of a bill, its money set aside; see `CheckoutPayer.settle`."""


@runtime_checkable
class SignsAgain(Protocol):
    """A payer whose signed transaction can become too old before it is sent, and be signed again."""

    async def sign_again(self, payment: SignedPayment) -> SignedPayment | None:
        """Return the same transfer from the same account, as a transaction that a node takes now.

        None if the first transaction has landed or can still land, so that a second one might be a second payment.

        Raises:
            Inconclusive: The node could not be asked.
        """


@dataclass(frozen=True, slots=True)
class Landing:
    """How far a payment came within a time.

    Attributes:
        fate: What the chain showed last.
        trouble: Why a node refused the transaction or could not be asked, None where neither happened.
        is_refused: Whether the node refused the transaction, which is not on the chain and was given to no node before.
        is_outdated: Whether it was refused because it is too old, or because its blockhash is unknown to the node.
    """

    fate: Fate
    trouble: str | None = None
    is_refused: bool = False
    is_outdated: bool = False


async def land(sender: PaymentSender, payment: SignedPayment, seconds: float) -> Landing:
    """Send a payment, the same bytes as often as it takes, until the chain decides or the time is over.

    The chain is asked before anything is sent, since an earlier process may have sent the payment.

    A refusal decides only if no node was given the transaction before. A node that took it, or whose answer was lost,
    may have passed it on, and another node's refusal shows nothing of that. Then only the chain decides.

    Raises:
        NotAPayment: The payment is not what it says it is.
    """
    loop = asyncio.get_running_loop()
    ends, wait, sent_at, trouble = loop.time() + seconds, _FIRST_WAIT, None, None
    is_given = was_given = False
    while True:
        fate = Fate.UNSEEN
        try:
            fate = await sender.fate(payment)
            if fate not in {Fate.UNSEEN, Fate.SEEN}:
                return Landing(fate)
            if fate is Fate.UNSEEN and (sent_at is None or loop.time() > sent_at + _SEND_AGAIN_SECONDS):
                was_given, is_given = is_given, True
                await sender.send(payment)
                sent_at = loop.time()
        except NotTaken as refusal:
            is_given, trouble = was_given, str(refusal)
            fate = await _fate_after_refusal(sender, payment)
            if fate not in {Fate.UNSEEN, Fate.SEEN}:
                return Landing(fate, trouble)
            if fate is Fate.UNSEEN and not is_given:
                is_outdated = isinstance(refusal, OutdatedPayment)
                return Landing(fate, trouble, is_refused=True, is_outdated=is_outdated)
        except NotAPayment:
            raise
        except Inconclusive as fault:
            trouble = str(fault)
        if loop.time() > ends:
            return Landing(fate, trouble)
        await asyncio.sleep(wait)
        wait = min(wait * _LONGER, _LONGEST_WAIT)


async def _fate_after_refusal(sender: PaymentSender, payment: SignedPayment) -> Fate:
    """Return what the chain shows of a payment that its node refused, on its way if that cannot be asked."""
    try:
        return await sender.fate(payment)
    except Inconclusive:
        return Fate.SEEN
