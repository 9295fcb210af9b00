"""When blocks are due, from when those before them were seen."""

from __future__ import annotations

import pytest

from reference.lanes.base.block_pace import Pace


class Watched:
    """A pace, and the clock that it looks at."""

    def __init__(self, *transaction: tuple[float, int]) -> None:
        self.now = 0.0
        self.pace = Pace(lambda: self.now)
        for now, head in transaction:
            self.now = now
            self.pace.note_head(head)


def test_two_blocks_tell_the_third() -> None:
    """A little late rather than too early."""
    chain = Watched((10.0, 5), (12.0, 6))
    assert chain.pace.seconds_until(7, 0) == pytest.approx(2.1)
    assert chain.pace.seconds_until(None, 2) == pytest.approx(6.1)
    chain.now = 15.0
    assert chain.pace.seconds_until(7, 0) == pytest.approx(-0.9)


@pytest.mark.parametrize("transaction", [(), ((10.0, 5),), ((10.0, 5), (11.0, 5), (12.0, 5))])
def test_one_block_tells_nothing(transaction: tuple[tuple[float, int], ...]) -> None:
    """However often it was seen."""
    assert Watched(*transaction).pace.seconds_until(None, 0) is None


def test_who_looks_late_at_one_block_is_not_late_for_the_next() -> None:
    """The block that was seen soonest after it was there counts."""
    chain = Watched((0.0, 0), (10.0, 5), (13.5, 6), (20.0, 10))
    assert chain.pace.seconds_until(11, 0) == pytest.approx(2.1)


def test_a_chain_that_went_back_begins_anew() -> None:
    """What it did before is forgotten, and so is what is long ago."""
    chain = Watched((0.0, 10), (10.0, 20), (11.0, 15))
    assert chain.pace.seconds_until(None, 0) is None
    slower = Watched(*((float(at), at) for at in range(9)), *((8.0 + 4 * at, 8 + at) for at in range(1, 9)))
    assert slower.pace.seconds_until(None, 0) == pytest.approx(4.2)
