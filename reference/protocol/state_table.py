"""State machines as tables, from which the SQL statements of a store and the diagrams are derived."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Generic, TypeVar

S = TypeVar("S", bound=StrEnum)
H = TypeVar("H", bound=StrEnum)


@dataclass(frozen=True, slots=True)
class StateTable(Generic[S, H]):
    """A state machine: its states and its events, whose values are the labels of the diagram.

    Attributes:
        first: The state that it begins in.
        start_label: The label of the arrow into the first state.
        moves: The next state, by the state and the event.

    Raises:
        ValueError: An event leads to several states, or a state is never reached.
    """

    first: S
    start_label: str
    moves: Mapping[tuple[S, H], S]

    def __post_init__(self) -> None:
        """Refuse a table from which no statement can be derived."""
        # An event always leads to the same state. So the SQL statement of the event can be one UPDATE: it writes
        # that state where the row is in one of the states before.
        for event in type(next(iter(self.moves))[1]):
            self.end(event)
        unreached_states = set(type(self.first)) - {self.first, *self.moves.values()}
        if unreached_states:
            raise ValueError(f"nothing leads to {', '.join(sorted(unreached_states))}")

    def starts(self, event: H) -> tuple[S, ...]:
        """Return the states in which an event can happen."""
        return tuple(state for state, moved_by in self.moves if moved_by is event)

    def end(self, event: H) -> S:
        """Return the state that an event leads to.

        Raises:
            ValueError: It leads to several states, or to none.
        """
        ends = {self.moves[state, event] for state in self.starts(event)}
        if len(ends) != 1:
            raise ValueError(f"{event} leads to {len(ends)} states")
        return ends.pop()

    @property
    def finals(self) -> tuple[S, ...]:
        """The final states."""
        states_with_moves = {state for state, _ in self.moves}
        return tuple(state for state in type(self.first) if state not in states_with_moves)
