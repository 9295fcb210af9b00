"""Signed payments: a payment is signed and stored before it is sent, so that it can be sent again but never doubled."""

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
# A node may drop a transaction that it accepted, so it is sent again after so many seconds.
_SEND_AGAIN_SECONDS: Final = 20.0


@dataclass(frozen=True, slots=True, repr=False)
class SignedPayment:
    """A signed payment. Its holder can move the money to the payee, and nowhere else; no key can be derived from it.

    Attributes:
        payer: Address of the paying account.
        asset: Id of the asset, as its chain writes it.
        held: Atomic units of the asset that the account held when it signed.
        tx_id: Id of the transaction; None if the rail makes it.
        transaction: The signed transaction in hexadecimal; empty if the rail makes it.
        proof: JSON object of `X-PAYMENT`; the authorization, if the rail sends; empty for a transfer to a link.
        signed_at: When it was signed, in unix seconds by this machine's clock.
    """

    payer: str
    asset: str
    # With the balance after the transfer, it shows whether the transfer happened, even if the node has forgotten its
    # id.
    held: int
    tx_id: str | None
    transaction: str = field(default="", repr=False)
    proof: Mapping[str, Any] = field(default_factory=dict, repr=False)
    signed_at: int = field(default_factory=lambda: int(time.time()))


# Theory of a signed payment
#
# The id of a transaction is known once it is signed, and a chain executes a transaction at most once. A program
# stores the signed transaction before it sends it. If it is killed, the next process asks the chain for the id, and
# sends the same bytes again if the chain does not know them. However often that happens, the payer pays once. On
# lanes where the rail sends, the authorization with its nonce takes the transaction's place.
#
# UNSEEN -> SEEN -> LANDED or FAILED; UNSEEN -> LAPSED once the transaction is too old for any further block. SEEN can
# become UNSEEN again, because a node may drop a transaction from its pool. LANDED, FAILED and LAPSED are final.
class Fate(StrEnum):
    """The state of a signed payment on its chain."""

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
    """Sender of signed payments to one node, which also reads their state."""

    async def send(self, payment: SignedPayment) -> None:
        """Give the node a transaction; a transaction that it knows already is accepted.

        Raises:
            NotTaken: It refuses the transaction.
            NotAPayment: The payment is not what it says it is.
            Inconclusive: The node could not be asked.
        """

    async def fate(self, payment: SignedPayment) -> Fate:
        """Return the state of a payment on the chain.

        Raises:
            NotAPayment: The payment is not what it says it is.
            Inconclusive: The node could not be asked.
        """

    async def transaction(self, payment: SignedPayment) -> str | None:
        """Return the id of the transaction that made a payment; None if the chain shows none.

        Raises:
            Inconclusive: The node could not be asked.
        """

    async def close(self) -> None:
        """Close connections."""


@runtime_checkable
class SignsEntries(Protocol):
    """A payer that signs the payment of an `accepts` entry without sending it."""

    async def sign(self, entry: Mapping[str, Any]) -> SignedPayment:
        """Return the payment of an entry, its money set aside.

        Raises:
            Inconclusive: The entry cannot be paid as it stands, or the node could not be asked.
        """


@runtime_checkable
class SignsBills(Protocol):
    """A payer of checkout links that signs the payment of a bill without sending it."""

    async def sign(self, bill: CheckoutRequest, way: str | None = None) -> SignedPayment:
        """Return the payment of a bill, its money set aside; see `CheckoutPayer.settle`."""


@runtime_checkable
class SignsAgain(Protocol):
    """A payer whose signed transaction can become too old before it is sent, and be signed again."""

    async def sign_again(self, payment: SignedPayment) -> SignedPayment | None:
        """Return the same transfer from the same account in a transaction that a node accepts now.

        None if the first transaction has landed or can still land: a second one might then be a second payment.

        Raises:
            Inconclusive: The node could not be asked.
        """


@dataclass(frozen=True, slots=True)
class Landing:
    """The state that a payment reached within a time.

    Attributes:
        fate: What the chain showed last.
        trouble: Why a node refused the transaction or could not be asked; None if neither happened.
        is_refused: Whether the node refused the transaction, which is not on the chain and was given to no node before.
        is_outdated: Whether it was refused because it is too old, or because its blockhash is unknown to the node.
    """

    fate: Fate
    trouble: str | None = None
    is_refused: bool = False
    is_outdated: bool = False


async def land(sender: PaymentSender, payment: SignedPayment, seconds: float) -> Landing:
    """Send a payment, the same bytes as often as necessary, until the chain decides or the time is over.

    Raises:
        NotAPayment: The parts of the payment do not belong together.
    """
    loop = asyncio.get_running_loop()
    ends, wait, sent_at, trouble = loop.time() + seconds, _FIRST_WAIT, None, None
    # The first question comes at once: on a simulated chain a payment is final within a second.
    is_given = was_given = False
    while True:
        # The chain is asked before anything is sent: an earlier process may have sent the payment.
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
            # A refusal decides only if no node was given the transaction before. A node that took it, or whose answer
            # was lost, may have passed it on, and the refusal of another node shows nothing about that. Then only the
            # chain decides.
            is_given, trouble = was_given, str(refusal)
            fate = await _fate_after_refusal(sender, payment)
            if fate not in {Fate.UNSEEN, Fate.SEEN}:
                return Landing(fate, trouble)
            if fate is Fate.UNSEEN and not is_given:
                is_outdated = isinstance(refusal, OutdatedPayment)
                return Landing(fate, trouble, is_refused=True, is_outdated=is_outdated)
        # Not a fault of the node: sending the same record again would never help.
        except NotAPayment:
            raise
        except Inconclusive as fault:
            trouble = str(fault)
        if loop.time() > ends:
            return Landing(fate, trouble)
        await asyncio.sleep(wait)
        wait = min(wait * _LONGER, _LONGEST_WAIT)


async def _fate_after_refusal(sender: PaymentSender, payment: SignedPayment) -> Fate:
    """Return the state of a payment that its node refused; `SEEN` if the chain cannot be asked."""
    try:
        return await sender.fate(payment)
    # Unknown counts as on its way: assuming that it failed could make the payer pay twice.
    except Inconclusive:
        return Fate.SEEN
