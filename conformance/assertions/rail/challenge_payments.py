"""A challenge on a lane whose payer sends the transaction, the payment that it requests, and its presentation."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Self

from conformance.assertions.rail.refusals import judge_refused
from conformance.discovery.rail import Operation
from conformance.engine.check import Case
from conformance.http.client import Answer
from conformance.surfaces.rail.purchase import Challenge, name_live_values, present


@dataclass(frozen=True, slots=True)
class QuotedPayment(ABC):
    """A live challenge, and payments for it. Each such lane has a subclass."""

    case: Case
    quote: Challenge

    @classmethod
    @abstractmethod
    async def ask(cls, case: Case, operation: Operation) -> Self:
        """Request a challenge."""

    @classmethod
    @abstractmethod
    async def of(cls, case: Case, quote: Challenge) -> Self:
        """Wrap a challenge that was requested before, by REST or as the terms of a task."""

    @property
    @abstractmethod
    def token(self) -> str:
        """The challenge's token."""

    @abstractmethod
    async def send(self, **changes: Any) -> str:
        """Send the requested payment, with `changes`, and return the transaction's id."""

    @abstractmethod
    async def send_unwelded(self) -> str:
        """Send the payment without its weld, and return the transaction's id."""

    @abstractmethod
    def invented_id(self) -> str:
        """Return a well-formed id of a transaction that was never sent, by the case's seed."""

    def proof(self, tx_id: str, text: str | None = None) -> dict[str, Any]:
        """Return the proof that names a transaction for this challenge, or for the token `text`."""
        return {"tx_id": tx_id, "payment_reference": self.token if text is None else text}

    async def present(self, tx_id: str, text: str | None = None) -> Answer:
        """Present a transaction and return the answer."""
        proof = self.proof(tx_id, text)
        # Transaction and token differ from run to run, so the report shows names for them.
        name_live_values(self.case, proof)
        return await present(self.case, self.quote.operation, proof, body=self.quote.body)

    async def judge_buys_nothing(self, row: str, tx_id: str, payment_name: str, *, text: str | None = None) -> Answer:
        """Present a transaction and judge that it buys nothing."""
        return await judge_refused(self.case, row, self.quote, self.proof(tx_id, text), payment_name)
