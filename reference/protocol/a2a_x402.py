"""The a2a-x402 extension, version 0.2: the form of a payment in a task (P-RA-02, P-RA-06 to P-RA-09).

A task that must be paid for is `input-required`. The metadata of its status message contains the challenge, or the
outcome of a payment.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from reference.protocol.a2a import Outcome, TaskState, data_part, text_part

URI = "https://github.com/google-agentic-commerce/a2a-x402/blob/main/spec/v0.2"
STATUS = "x402.payment.status"
REQUIRED = "x402.payment.required"
PAYLOAD = "x402.payment.payload"
RECEIPTS = "x402.payment.receipts"
ERROR = "x402.payment.error"
# A member of this project, named as in the 402 object: the order is invalid, and the example is quoted instead.
FAULTS = "error_detail"
# The interface's name of the state; A2A's own states are a closed list (C-18).
PAYMENT_STATE = "a2a-x402"
# A task's history does not return the credential that a payer sent (P-CV-12).
SECRET = frozenset({PAYLOAD})


class Status(StrEnum):
    """Values of `x402.payment.status`."""

    REQUIRED = "payment-required"
    SUBMITTED = "payment-submitted"
    REJECTED = "payment-rejected"
    COMPLETED = "payment-completed"
    FAILED = "payment-failed"


_DEFAULT_ERROR = "SETTLEMENT_FAILED"
# The table of P-RA-09. It has fewer names than the rail has codes, because the extension's names are a closed list.
ERRORS: Mapping[str, str] = {
    "invalid_signature": "INVALID_SIGNATURE",
    "weld_mismatch": "INVALID_SIGNATURE",
    "challenge_expired": "EXPIRED_PAYMENT",
    "authorization_expired": "EXPIRED_PAYMENT",
    "payment_already_spent": "DUPLICATE_NONCE",
    "payment_refunded": "DUPLICATE_NONCE",
    "authorization_used": "DUPLICATE_NONCE",
    "lane_mismatch": "NETWORK_MISMATCH",
    "wrong_amount": "INVALID_AMOUNT",
    "insufficient_funds": "INSUFFICIENT_FUNDS",
}


def error_of(code: str) -> str:
    """Return the extension's name for an error code of the rail (P-RA-09)."""
    return ERRORS.get(code, _DEFAULT_ERROR)


@dataclass(frozen=True, slots=True)
class Refusal:
    """The outcome of a refused payment.

    Attributes:
        code: The rail's error code.
        transaction: The transaction in the payment, or the empty string.
        network: CAIP-2 name of the lane, or the empty string.
    """

    code: str
    transaction: str
    network: str

    def receipt(self) -> dict[str, Any]:
        """Return the entry of the payment receipts that reports the failure."""
        return {"success": False, "errorReason": self.code, "transaction": self.transaction, "network": self.network}


def require_payment(
    uri: str, challenge: Mapping[str, Any], memo: Mapping[str, Any], faults: Sequence[Mapping[str, Any]] = ()
) -> Outcome:
    """Return the outcome of an unpaid request: a challenge (P-RA-06).

    Args:
        uri: The extension's URI.
        challenge: The whole 402 object.
        memo: The notes that are stored with the task.
        faults: Why the challenge is for the example and not for the request that was sent (P-RA-05).
    """
    message_metadata = {STATUS: Status.REQUIRED.value, REQUIRED: challenge, **_list_faults(faults)}
    return _unpaid(uri, "Payment required." + _explain_faults(faults), message_metadata, memo, _payment_state())


def refuse_payment(
    uri: str,
    challenge: Mapping[str, Any],
    memo: Mapping[str, Any],
    refusal: Refusal,
    faults: Sequence[Mapping[str, Any]] = (),
) -> Outcome:
    """Return the outcome of a refused payment: another challenge (P-RA-08).

    Args:
        uri: The extension's URI.
        challenge: A fresh 402 object.
        memo: The notes that are stored with the task.
        refusal: The outcome of the payment.
        faults: Why the challenge is for the example and not for the request that was sent (P-RA-05).
    """
    message_metadata: dict[str, Any] = {STATUS: Status.FAILED.value, ERROR: error_of(refusal.code), REQUIRED: challenge}
    message_metadata |= {RECEIPTS: [refusal.receipt()], **_list_faults(faults)}
    sentence = f"The payment was refused: {refusal.code}." + _explain_faults(faults)
    return _unpaid(uri, sentence, message_metadata, memo, _payment_state())


def _list_faults(faults: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    return {FAULTS: [dict(one) for one in faults]} if faults else {}


def _explain_faults(faults: Sequence[Mapping[str, Any]]) -> str:
    """Return the sentence that says why a payment would buy the answer to the example."""
    if not faults:
        return ""
    why = "; ".join(f"{_pointer(one['loc'])}: {one['msg']}" for one in faults)
    return f" Your order is invalid ({why}), so the published example is what is quoted, and what a payment buys."


# The path has the form of pydantic's `loc`. A JSON pointer is what clients in other languages can resolve.
def _pointer(loc: Sequence[Any]) -> str:
    """Return a place as a JSON pointer (RFC 6901)."""
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in loc)


def keep_undecided(uri: str, memo: Mapping[str, Any], *, code: str, retry_after: int) -> Outcome:
    """Return the outcome of a payment that cannot be judged yet (P-RA-08).

    Args:
        uri: The extension's URI.
        memo: The notes that are stored with the task.
        code: The rail's error code.
        retry_after: Seconds after which the same payment is to be sent again.
    """
    # The metadata contains no `payment_state` and no new challenge. A client that reads "payment required" here
    # would pay twice.
    sentence = f"Not decided yet: {code}. Do not pay again; send the same payment in {retry_after} s."
    return _unpaid(uri, sentence, {STATUS: Status.SUBMITTED.value}, memo, {"retry_after_seconds": retry_after})


def complete_payment(
    uri: str, body: Mapping[str, Any], receipt: Mapping[str, Any], memo: Mapping[str, Any] | None = None
) -> Outcome:
    """Return the outcome of a served payment: the paid answer as an artifact (P-RA-08).

    Args:
        uri: The extension's URI.
        body: The body of the paid 200 (5.9).
        receipt: The content of `PAYMENT-RESPONSE`.
        memo: The notes that are stored with the task.
    """
    return Outcome(
        TaskState.COMPLETED,
        parts=(text_part("Paid and served."),),
        artifacts=((data_part(body),),),
        memo=memo or {},
        message_metadata={STATUS: Status.COMPLETED.value, RECEIPTS: [dict(receipt)]},
        extensions=(uri,),
        secret_members=SECRET,
    )


def record_rejection(uri: str) -> Outcome:
    """Return the outcome if the client declines to pay: a failed task (P-RA-08)."""
    return Outcome(
        TaskState.FAILED,
        parts=(text_part("The client does not pay."),),
        message_metadata={STATUS: Status.REJECTED.value},
        extensions=(uri,),
        secret_members=SECRET,
    )


def _payment_state() -> dict[str, str]:
    return {"payment_state": PAYMENT_STATE}


def _unpaid(
    uri: str, sentence: str, message_metadata: Mapping[str, Any], memo: Mapping[str, Any], metadata: Mapping[str, Any]
) -> Outcome:
    return Outcome(
        TaskState.INPUT_REQUIRED,
        parts=(text_part(sentence),),
        message_metadata=message_metadata,
        extensions=(uri,),
        metadata=metadata,
        memo=memo,
        secret_members=SECRET,
    )
