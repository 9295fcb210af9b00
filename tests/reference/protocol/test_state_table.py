"""A table of states, and what it refuses to be."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

import pytest

from reference.protocol.state_table import StateTable


class Door(StrEnum):
    """Where a door stands."""

    OPEN = "open"
    SHUT = "shut"
    WALLED = "walled"


class Act(StrEnum):
    """What is done to it."""

    PUSH = "push"
    WALL_UP = "wall up"


MOVES = {
    (Door.OPEN, Act.PUSH): Door.SHUT,
    (Door.SHUT, Act.PUSH): Door.SHUT,
    (Door.OPEN, Act.WALL_UP): Door.WALLED,
}


def test_it_says_where_something_can_happen_and_what_it_leads_to() -> None:
    """In the order of the table; a state is final when nothing leaves it."""
    table = StateTable(Door.OPEN, "hung", MOVES)
    assert table.starts(Act.PUSH) == (Door.OPEN, Door.SHUT)
    assert table.end(Act.WALL_UP) is Door.WALLED
    assert table.finals == (Door.WALLED,)


@pytest.mark.parametrize(
    ("moves", "says"),
    [
        ({**MOVES, (Door.SHUT, Act.PUSH): Door.OPEN}, "push leads to 2 states"),
        ({(Door.OPEN, Act.PUSH): Door.SHUT}, "wall up leads to 0 states"),
        ({(Door.OPEN, Act.PUSH): Door.SHUT, (Door.SHUT, Act.WALL_UP): Door.SHUT}, "nothing leads to walled"),
    ],
)
def test_a_table_that_no_statement_follows_from_is_refused(moves: Mapping[tuple[Door, Act], Door], says: str) -> None:
    """When it is made, which is when its module is imported."""
    with pytest.raises(ValueError, match=says):
        StateTable(Door.OPEN, "hung", moves)
