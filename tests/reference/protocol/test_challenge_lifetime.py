"""How long a challenge can be presented: time in which no payer could be served does not count."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference.protocol.challenge_lifetime import last_moment

MOMENTS = st.integers(0, 10_000)
ABSENCES = st.lists(st.tuples(MOMENTS, MOMENTS).map(lambda two: (min(two), max(two))), max_size=6)


@pytest.mark.parametrize(
    ("absences", "last"),
    [
        ([], 1100),
        ([(900, 1000)], 1100),  # over before it was issued
        ([(1101, 5000)], 1100),  # begun after its end
        ([(1050, 1060)], 1100 + 10 + 30),
        ([(900, 1010)], 1100 + 10 + 30),
        ([(1100, 9000)], 9000 + 30),
        ([(1050, 1060), (1050, 1060), (1055, 1058)], 1100 + 10 + 30),  # two workers saw one outage
        ([(1105, 1200), (1050, 1060)], 1110 + 95 + 30),  # the second meets what the first made longer
        ([(1050, 1070), (1060, 1080)], 1100 + 30 + 30),
    ],
)
def test_the_last_moment(absences: list[tuple[int, int]], last: int) -> None:
    """Issued at 1000 for 100 seconds, with 30 afterwards for those who waited."""
    assert last_moment(1000, 100, absences, grace=30) == last


@given(ABSENCES, st.tuples(MOMENTS, MOMENTS).map(lambda two: (min(two), max(two))))
def test_a_further_absence_never_makes_it_shorter(absences: list[tuple[int, int]], further: tuple[int, int]) -> None:
    """In whatever order they are given."""
    before = last_moment(1000, 1800, absences, grace=900)
    assert 2800 <= before <= last_moment(1000, 1800, [further, *reversed(absences)], grace=900)
