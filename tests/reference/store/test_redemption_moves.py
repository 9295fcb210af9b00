"""Statements about redemptions follow from the table of their states."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import pytest

from reference.protocol.redemption import REDEMPTION, RedemptionEvent, State
from reference.store import redemption_moves
from reference.store.redemption_moves import build_drop, build_move, build_stay, can_happen

Make = Callable[[RedemptionEvent], object]
_MADE: Mapping[str, Make] = {"dropping": build_drop, "moving": build_move, "staying": build_stay}


def _where(happening: RedemptionEvent) -> str:
    return str(can_happen(happening)).replace("rail_redemptions.", "")


def test_a_statement_meets_the_rows_to_which_it_can_happen() -> None:
    """A payment comes to what is unpaid, an answer and a refund to what is paid and not over."""
    assert _where(RedemptionEvent.PAYMENT_FINAL).endswith("paid_at IS NULL")
    for event in (RedemptionEvent.ANSWER_STORED, RedemptionEvent.GIVEN_BACK):
        assert _where(event).count("IS N") == 2, event


@pytest.mark.parametrize("made", [*_MADE])
def test_each_statement_leads_where_the_table_says(made: str) -> None:
    """A row is dropped, moved or left in its state by that table alone; the others are refused at import."""
    ends = {
        "dropping": {RedemptionEvent.BAD_PAYMENT, RedemptionEvent.EVICTED, RedemptionEvent.WINDOW_OVER},
        "moving": {RedemptionEvent.PAYMENT_FINAL, RedemptionEvent.ANSWER_STORED, RedemptionEvent.GIVEN_BACK},
        "staying": {RedemptionEvent.UNDECIDED},
    }
    possible = {happening for happening in RedemptionEvent if _is_made(_MADE[made], happening)}
    assert possible == ends[made]


def _is_made(make: Make, happening: RedemptionEvent) -> bool:
    try:
        make(happening)
    except (KeyError, ValueError):
        return False
    return True


def test_another_table_makes_other_statements(monkeypatch: pytest.MonkeyPatch) -> None:
    """Were what is paid to lapse with the window, the deletion would take it."""
    moves = {**REDEMPTION.moves, (State.PAID, RedemptionEvent.WINDOW_OVER): State.EXPIRED}
    monkeypatch.setattr(redemption_moves, "REDEMPTION", replace(REDEMPTION, moves=moves))
    assert " OR " in str(build_drop(RedemptionEvent.WINDOW_OVER))


def test_two_moves_are_one_statement_where_the_second_follows_the_first() -> None:
    """Paid and answered at once, of what is unpaid; an answer does not come before its payment."""
    at_once = str(build_move(RedemptionEvent.PAYMENT_FINAL, RedemptionEvent.ANSWER_STORED))
    assert at_once.count("=:now") == 2
    assert at_once.endswith("paid_at IS NULL")
    with pytest.raises(ValueError, match="does not follow"):
        build_move(RedemptionEvent.ANSWER_STORED, RedemptionEvent.PAYMENT_FINAL)
