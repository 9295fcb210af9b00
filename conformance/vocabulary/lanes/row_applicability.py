"""On which lanes a row that names one is decided: on each of that one's family, or on that very lane."""

from __future__ import annotations

from typing import Final, Protocol

from conformance.vocabulary.lanes.registry import FACTS

# Each says that one lane is offered, and with what asset. All else is a rule of the protocol that a family shares.
OFFERS: Final = frozenset({"RAIL-LANE-01", "RAIL-LANE-02", "RAIL-LANE-03", "RAIL-LANE-04"})


class OfALane(Protocol):
    """A requirement, as far as it is asked here."""

    @property
    def id(self) -> str:
        """Its id."""

    @property
    def lane(self) -> str | None:
        """The lane that it names, if any."""


def decided_on(row: OfALane, lane: str) -> bool:
    """Return whether a row is decided on a lane: it names none, that one, or the first of that one's family."""
    if row.lane in {None, lane}:
        return True
    return row.id not in OFFERS and lane in FACTS and FACTS[lane].family == row.lane
