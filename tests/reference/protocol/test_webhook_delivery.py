"""What follows from an attempt: the schedule, the dead letter, resending (P-WH-08, P-WH-09)."""

from __future__ import annotations

import pytest

from reference.protocol.webhook_delivery import (
    DEFAULT_SCHEDULE,
    DELIVERY,
    AttemptConsequence,
    DeliveryMove,
    DeliveryState,
    Outcome,
    decide_next,
    outcome_of,
)

FAILURES = [one for one in Outcome if one not in {Outcome.DELIVERED, Outcome.INTERRUPTED}]


@pytest.mark.parametrize("status", [200, 201, 202, 204, 226, 299])
def test_any_2xx_delivers(status: int) -> None:
    """Whatever it is called."""
    assert outcome_of(status) is Outcome.DELIVERED


@pytest.mark.parametrize("status", [100, 199, 300, 301, 302, 307, 308, 400, 404, 410, 429, 500, 503, 599])
def test_no_other_status_delivers(status: int) -> None:
    """Redirects and refusals neither."""
    assert outcome_of(status) is Outcome.STATUS


@pytest.mark.parametrize("outcome", FAILURES)
def test_six_attempts_and_then_a_dead_letter(outcome: Outcome) -> None:
    """+30 s, +2 min, +10 min, +1 h, +6 h, then nothing more."""
    consequence = [
        decide_next(outcome, failures=n, delivered_before=False, schedule=DEFAULT_SCHEDULE) for n in range(7)
    ]
    waits = [30, 120, 600, 3600, 21600]
    assert consequence[:5] == [AttemptConsequence(DeliveryMove.FAILED, n + 1, wait) for n, wait in enumerate(waits)]
    assert consequence[5:] == [AttemptConsequence(DeliveryMove.GIVEN_UP, n, None) for n in (6, 7)]


def test_what_was_delivered_stays_so_when_a_resend_fails() -> None:
    """It is not tried again by itself."""
    consequence = decide_next(Outcome.TIMEOUT, failures=0, delivered_before=True, schedule=DEFAULT_SCHEDULE)
    assert consequence == AttemptConsequence(DeliveryMove.ARRIVED, 1, None)


def test_an_interrupted_attempt_uses_up_nothing() -> None:
    """It may have succeeded: the next one is due at once, and the schedule is where it was."""
    consequence = decide_next(Outcome.INTERRUPTED, failures=3, delivered_before=False, schedule=DEFAULT_SCHEDULE)
    assert consequence == AttemptConsequence(DeliveryMove.FAILED, 3, 0)


def test_whatever_follows_ends_an_attempt() -> None:
    """From sending, by any outcome; nothing else ends one."""
    moves = {
        decide_next(outcome, failures=failures, delivered_before=before, schedule=DEFAULT_SCHEDULE).move
        for outcome in Outcome
        for failures in range(7)
        for before in (False, True)
    }
    assert moves == {move for move in DeliveryMove if DELIVERY.starts(move) == (DeliveryState.SENDING,)}


def test_what_is_dropped_stays_so() -> None:
    """Every other delivery can be sent again, when no worker is sending it."""
    assert DELIVERY.finals == (DeliveryState.DROPPED,)
    again = {DeliveryState.PENDING, DeliveryState.DELIVERED, DeliveryState.DEAD}
    assert set(DELIVERY.starts(DeliveryMove.ASKED_FOR)) == again
