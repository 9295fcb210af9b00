"""The delivery of an event to a destination: states, outcomes of attempts, and retries (P-WH-08, P-WH-09)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from reference.protocol.state_table import StateTable

MOST_DESTINATIONS = 9
# Seconds after a failed attempt: 30 s, 2 min, 10 min, 1 h and 6 h. With the first attempt at once these are six
# attempts (P-WH-08).
DEFAULT_SCHEDULE = (30, 120, 600, 3600, 21600)


class EventType(StrEnum):
    """The type of change that an event reports (P-WH-12)."""

    PAYMENT_CONFIRMED = "payment.confirmed"
    PAYMENT_CANCELLED = "payment.cancelled"


DEFAULT_TYPES = (EventType.PAYMENT_CONFIRMED,)


class DeliveryState(StrEnum):
    """The state of the delivery of one event to one destination."""

    PENDING = "pending"
    SENDING = "sending"
    DELIVERED = "delivered"
    DEAD = "dead"
    DROPPED = "dropped"


class DeliveryMove(StrEnum):
    """The events that move a delivery."""

    CLAIMED = "a worker claims an attempt"
    ARRIVED = "answered 2xx, now or before"
    FAILED = "failed, or its worker died"
    GIVEN_UP = "failed for the last time"
    ASKED_FOR = "sent again by hand"
    UNWANTED = "its destination is deleted"


# The state machine of a delivery. It is pending until its time, and is then claimed by one worker, so that two workers
# never send one attempt. After a failure it is pending again, until a 2xx or the end of the schedule. A delivered or a
# dead delivery becomes pending again only if the tenant sends it by hand. A delivery whose destination is deleted is
# dropped and stays so: nothing is sent to a destination that does not exist any more (P-WH-08).
DELIVERY = StateTable(
    DeliveryState.PENDING,
    "an event is recorded",
    {
        (DeliveryState.PENDING, DeliveryMove.CLAIMED): DeliveryState.SENDING,
        (DeliveryState.SENDING, DeliveryMove.ARRIVED): DeliveryState.DELIVERED,
        (DeliveryState.SENDING, DeliveryMove.FAILED): DeliveryState.PENDING,
        (DeliveryState.SENDING, DeliveryMove.GIVEN_UP): DeliveryState.DEAD,
        (DeliveryState.PENDING, DeliveryMove.ASKED_FOR): DeliveryState.PENDING,
        (DeliveryState.DELIVERED, DeliveryMove.ASKED_FOR): DeliveryState.PENDING,
        (DeliveryState.DEAD, DeliveryMove.ASKED_FOR): DeliveryState.PENDING,
        (DeliveryState.PENDING, DeliveryMove.UNWANTED): DeliveryState.DROPPED,
    },
)


class Outcome(StrEnum):
    """The result of one attempt."""

    DELIVERED = "delivered"
    STATUS = "status"
    TIMEOUT = "timeout"
    CONNECTION = "connection"
    ADDRESS = "address"
    # The secret could not be decrypted, so nothing was sent.
    UNSIGNED = "unsigned"
    # The worker ended before it recorded the result, so the receiver may or may not have the event. It is sent again,
    # and receivers deduplicate by `id` (P-WH-13).
    INTERRUPTED = "interrupted"


def outcome_of(status: int) -> Outcome:
    """Return the outcome of an attempt by the status of its answer: only a 2xx is a delivery (P-WH-09)."""
    return Outcome.DELIVERED if 200 <= status < 300 else Outcome.STATUS


@dataclass(frozen=True, slots=True)
class AttemptConsequence:
    """The consequences of an attempt.

    Attributes:
        move: The event that moves the delivery.
        failures: How many attempts have failed.
        delay: Seconds from the end of this attempt to the next one; None if no attempt follows.
    """

    move: DeliveryMove
    failures: int
    delay: int | None


def decide_next(
    outcome: Outcome, *, failures: int, delivered_before: bool, schedule: Sequence[int]
) -> AttemptConsequence:
    """Return the consequences of an attempt.

    Args:
        outcome: Its result.
        failures: How many attempts of this delivery failed before it.
        delivered_before: Whether an earlier one was answered 2xx, so that this one was requested by the tenant.
        schedule: Seconds to wait after each failure but the last.
    """
    if outcome is Outcome.DELIVERED:
        return AttemptConsequence(DeliveryMove.ARRIVED, failures, None)
    if outcome is Outcome.INTERRUPTED:  # it may have succeeded, so it uses up nothing of the schedule
        return AttemptConsequence(DeliveryMove.FAILED, failures, 0)
    # A failed repetition by hand does not undo an earlier 2xx: the receiver has the event.
    if delivered_before:
        return AttemptConsequence(DeliveryMove.ARRIVED, failures + 1, None)
    if failures < len(schedule):
        return AttemptConsequence(DeliveryMove.FAILED, failures + 1, schedule[failures])
    return AttemptConsequence(DeliveryMove.GIVEN_UP, failures + 1, None)
