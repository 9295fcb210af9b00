"""Where a search begins: the newest known block that is older than a time."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from reference.lanes.payment_search import find_last_before


@given(st.lists(st.integers(0, 40), min_size=1, max_size=60).map(sorted), st.integers(-5, 50), st.integers(0, 60))
async def test_everything_as_young_as_the_time_comes_after_it(times: list[int], since: int, pruned: int) -> None:
    """Whatever the blocks' times, and whatever the node has forgotten, no block after the answer's is left out."""
    newest = len(times) - 1

    async def time_of(position: int) -> int | None:
        return None if position < pruned else times[position]

    block = await find_last_before(since, newest, time_of)
    assert 0 <= block <= newest
    young = [place for place, time in enumerate(times) if time >= since and place >= pruned]
    assert all(place > block for place in young if place > 0)
    if block + 1 <= newest and block + 1 >= pruned and block > 0:
        assert times[block + 1] >= since


async def test_few_blocks_are_asked_about() -> None:
    """A million blocks take some forty questions."""
    positions: list[int] = []

    async def time_of(position: int) -> int | None:
        positions.append(position)
        return position

    assert await find_last_before(123_456, 1_000_000, time_of) == 123_455
    assert len(positions) <= 45
