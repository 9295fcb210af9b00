"""Refusals of transactions by a Solana node, read from the SDK's exceptions."""

from __future__ import annotations

from typing import Final

from solana.rpc.core import RPCException
from solders.rpc.errors import (
    InvalidParamsMessage,
    SendTransactionPreflightFailureMessage,
    TransactionPrecompileVerificationFailureMessage,
)
from solders.transaction_status import TransactionErrorFieldless

from conformance.outcome import Inconclusive

_SHORT: Final = 300
_REFUSALS = (
    SendTransactionPreflightFailureMessage,
    TransactionPrecompileVerificationFailureMessage,
    InvalidParamsMessage,
)


class Refused(Inconclusive):
    """A transaction that the node refused or that failed on the chain. If unexpected, it decides nothing.

    Attributes:
        tx_id: Id of that transaction.
    """

    def __init__(self, reason: str, tx_id: str) -> None:
        super().__init__(reason)
        self.tx_id = tx_id


class UnknownBlockhash(Refused):
    """A refusal in preflight, because the node does not know the blockhash (any more)."""


def make_refusal(fault: RPCException, tx_id: str) -> Inconclusive:
    """Return the exception for a node's error about a submission: `Refused`, or `Inconclusive` for its own fault."""
    reason = shorten_error(fault)
    answer = fault.args[0] if fault.args else None
    if not isinstance(answer, _REFUSALS):
        return Inconclusive(f"the Solana node answered a submission with an error: {reason}")
    err = getattr(getattr(answer, "data", None), "err", None)
    kind = UnknownBlockhash if err == TransactionErrorFieldless.BlockhashNotFound else Refused
    return kind(f"the Solana node refused the transaction: {reason}", tx_id)


def shorten_error(fault: RPCException) -> str:
    """Return the text of a node's error, shortened."""
    answer = fault.args[0] if fault.args else fault
    data = getattr(answer, "data", None)
    reason = getattr(data, "err", None) or getattr(answer, "message", None)
    return f"{type(answer).__name__}: {answer if reason is None else reason}"[:_SHORT]
