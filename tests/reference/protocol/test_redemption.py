"""The life of a redemption as a table (5.8)."""

from __future__ import annotations

from reference.protocol.redemption import REDEMPTION, RedemptionEvent, State, mined_payment_key


def _from(state: State) -> dict[RedemptionEvent, State]:
    return {happening: end for (start, happening), end in REDEMPTION.moves.items() if start is state}


def test_one_payment_leads_to_one_execution() -> None:
    """Claimed, paid, answered: and then nothing can happen any more."""
    assert _from(REDEMPTION.first)[RedemptionEvent.CLAIMED] is State.UNPAID
    assert _from(State.UNPAID)[RedemptionEvent.PAYMENT_FINAL] is State.PAID
    assert _from(State.PAID)[RedemptionEvent.ANSWER_STORED] is State.SPENT
    assert State.SPENT in REDEMPTION.finals


def test_a_paid_row_never_goes_back() -> None:
    """From paid it goes to spent, or an operator gives it back: it is not lost to an eviction, a window, a bad look."""
    assert _from(State.PAID) == {RedemptionEvent.ANSWER_STORED: State.SPENT, RedemptionEvent.GIVEN_BACK: State.REFUNDED}


def test_what_is_over_stays_so() -> None:
    """What was given back is not served, and what was served is not given back."""
    assert set(REDEMPTION.finals) == {State.EXPIRED, State.SPENT, State.REFUNDED}


def test_only_an_unpaid_claim_can_be_dropped() -> None:
    """What deletes rows starts from an unpaid claim."""
    dropping_events = (RedemptionEvent.BAD_PAYMENT, RedemptionEvent.EVICTED, RedemptionEvent.WINDOW_OVER)
    assert {REDEMPTION.starts(happening) for happening in dropping_events} == {(State.UNPAID,)}


def test_the_payment_key_is_network_and_transaction() -> None:
    """P-ST-03 for mined lanes."""
    assert mined_payment_key("algorand:x", "TX") == "algorand:x|TX"
