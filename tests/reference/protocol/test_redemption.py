"""The life of a redemption as a table (5.8)."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from reference.protocol.redemption import TRANSITIONS, Happening, State, after, mined_payment_key

PAGE = Path(__file__).parents[3] / "docs" / "spec" / "5-rail-redemption.md"


def test_one_payment_leads_to_one_execution() -> None:
    """Claimed, paid, answered: and then nothing can happen any more."""
    state = State.ISSUED
    for happening in (Happening.CLAIMED, Happening.PAYMENT_FINAL, Happening.ANSWER_STORED):
        state = after(state, happening)
    assert state is State.SPENT
    for happening in Happening:
        with pytest.raises(ValueError, match="cannot happen"):
            after(state, happening)


def test_a_paid_row_never_goes_back() -> None:
    """From paid it goes to spent, or an operator gives it back: it is not lost to an eviction, a window, a bad look."""
    assert [(happening, to) for (state, happening), to in TRANSITIONS.items() if state is State.PAID] == [
        (Happening.ANSWER_STORED, State.SPENT),
        (Happening.GIVEN_BACK, State.REFUNDED),
    ]


def test_what_was_given_back_stays_so() -> None:
    """It is not served, and what was served is not given back."""
    for happening in Happening:
        with pytest.raises(ValueError, match="cannot happen"):
            after(State.REFUNDED, happening)


def test_only_an_unpaid_claim_can_be_dropped() -> None:
    """What deletes rows starts from an unpaid claim."""
    dropping = {Happening.BAD_PAYMENT, Happening.EVICTED, Happening.WINDOW_OVER}
    assert {State.UNPAID} == {state for state, happening in TRANSITIONS if happening in dropping}


def test_every_state_can_be_reached() -> None:
    """The table has no island."""
    assert set(State) == {State.ISSUED, *TRANSITIONS.values()}


def test_the_payment_key_is_network_and_transaction() -> None:
    """P-ST-03 for mined lanes."""
    assert mined_payment_key("algorand:x", "TX") == "algorand:x|TX"


def test_the_specification_draws_the_table() -> None:
    """One arrow for each way from a state to another, and none besides; the start and the ends have a dot."""
    drawn = re.findall(r"^    (\S+) --> (\S+): ", PAGE.read_text("utf-8"), re.MULTILINE)
    arrows = Counter((start, end) for start, end in drawn if start != "[*]")
    assert arrows == Counter((start.value, end.value) for (start, _), end in TRANSITIONS.items())
    assert [end for start, end in drawn if start == "[*]"] == [State.ISSUED]
