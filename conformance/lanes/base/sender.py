"""Sender of signed payments on an EVM chain, which also reads their state."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Self

from eth_utils.address import is_address
from eth_utils.crypto import keccak

from conformance.http.client import Names
from conformance.lanes.base.node import BaseNode, Refused
from conformance.lanes.base.token import Token
from conformance.lanes.signed_payment import Fate, NotAPayment, NotTaken, SignedPayment
from conformance.target import Budgets
from conformance.target.lanes.base import BaseChain

# Seconds after the end of an authorization until no block that used it in time can be replaced by another.
_SETTLED_SECONDS: Final = 120
# Public nodes answer a query for logs of at most about this many blocks.
_LOG_BLOCKS: Final = 450
_NONCE_BYTES: Final = 32


@dataclass(frozen=True, slots=True)
class _Terms:
    """The parts of an authorization that identify its use: contract, authorizer, nonce and end."""

    contract: str
    authorizer: str
    nonce: bytes
    valid_before: int


@dataclass(slots=True)
class BaseSender:
    """Sends to one node; see `PaymentSender`."""

    node: BaseNode

    @classmethod
    def open(cls, chain: BaseChain, budgets: Budgets, names: Names) -> Self:
        """Open the node that a profile's table gives."""
        return cls(BaseNode(chain, budgets, names))

    async def close(self) -> None:
        """Close connections."""
        await self.node.close()

    async def send(self, payment: SignedPayment) -> None:
        """Give the node the transaction; see `PaymentSender`. An authorization is left to the rail."""
        if not payment.transaction:
            return
        try:
            await self.node.take(_raw(payment))
        except Refused as refusal:
            raise NotTaken(str(refusal)) from refusal

    async def fate(self, payment: SignedPayment) -> Fate:
        """Return the state of a payment; see `PaymentSender`."""
        if payment.transaction:
            _raw(payment)
            receipt = await self.node.receipt(str(payment.tx_id))
            if receipt is not None:
                return Fate.LANDED if receipt.get("status") == 1 else Fate.FAILED
        terms = _terms(payment)
        if terms is None:
            return Fate.UNSEEN
        # The clock is read before the contract. In the other order, an authorization that is used between the two
        # answers would count as lapsed.
        is_over = await self.node.block_time() > terms.valid_before + _SETTLED_SECONDS
        # An authorization that the rail sends has no transaction id yet; the token's contract shows whether it was
        # used.
        if await Token(self.node, terms.contract).is_used(terms.authorizer, terms.nonce):
            return Fate.LANDED
        return Fate.LAPSED if is_over else Fate.UNSEEN

    async def transaction(self, payment: SignedPayment) -> str | None:
        """Return the transaction that used an authorization, among the newest blocks; see `PaymentSender`."""
        terms = _terms(payment)
        if payment.tx_id is not None or terms is None:
            return payment.tx_id
        newest = int(await self.node.ask(self.node.web3.eth.block_number))
        token = Token(self.node, terms.contract)
        return await token.used_in(terms.authorizer, terms.nonce, max(0, newest - _LOG_BLOCKS))


def _raw(payment: SignedPayment) -> bytes:
    """Return a signed transaction.

    Raises:
        NotAPayment: It cannot be read, or has another id than the payment says.
    """
    try:
        raw = bytes.fromhex(payment.transaction)
    except ValueError as fault:
        raise NotAPayment("the signed transaction is not hexadecimal") from fault
    if "0x" + keccak(raw).hex() != payment.tx_id:
        raise NotAPayment("the signed transaction is another one than its id says")
    return raw


def _terms(payment: SignedPayment) -> _Terms | None:
    """Return the terms of a payment's authorization; None if it has none.

    Raises:
        NotAPayment: It cannot be read, or is another account's.
    """
    if not payment.proof:
        return None
    terms = payment.proof.get("authorization")
    try:
        nonce = bytes.fromhex(str(terms["nonce"]).removeprefix("0x"))  # type: ignore[index]
        terms_read = _Terms(payment.asset, str(terms["from"]), nonce, int(terms["validBefore"]))  # type: ignore[index]
    except (TypeError, ValueError, LookupError) as fault:
        raise NotAPayment("the proof contains no authorization") from fault
    if terms_read.authorizer != payment.payer or len(nonce) != _NONCE_BYTES or not is_address(payment.asset):
        raise NotAPayment("the authorization is another account's, or of no token")
    return terms_read
