"""Near misses: whatever part of a value a comparison looks at, one of them is taken for the right one."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from conformance.oracles.nearly_equal_values import list_near_bytes, list_near_texts, list_places

RIGHT = "1795240615:047652b0a2d99b35:" + "0123456789abcdef" * 4
Comparison = Callable[[str, str], bool]


def test_one_character_differs_in_each_eighth_and_at_the_end() -> None:
    """A colon stays, and the characters stay digits."""
    texts = list_near_texts(RIGHT)
    for text in texts.values():
        assert sum(left != right for left, right in zip(RIGHT, text, strict=True)) == 1
        assert text.count(":") == 2
    places = [next(at for at in range(len(RIGHT)) if text[at] != RIGHT[at]) for text in texts.values()]
    assert places[0] == 0
    assert places[-1] == len(RIGHT) - 1
    assert len(places) == len(set(places)) == 9


def test_one_bit_differs_in_each_eighth_of_a_byte_string() -> None:
    """In the first and in the last byte, too."""
    value = bytes(32)
    assert (
        [near.index(1) for near in list_near_bytes(value).values()]
        == list_places(32)
        == [0, 4, 8, 12, 16, 20, 24, 28, 31]
    )


@pytest.mark.parametrize(
    "compare",
    [
        *(lambda left, right, size=size: left[:size] == right[:size] for size in (4, 8, 16, 64)),
        *(lambda left, right, size=size: left[-size:] == right[-size:] for size in (4, 8, 16, 64)),
        lambda left, right: (left[:16], left[-16:]) == (right[:16], right[-16:]),
        lambda left, right: left[:-1] == right[:-1],
        lambda left, right: left[1:] == right[1:],
        lambda left, right: len(left) == len(right),
    ],
)
def test_a_comparison_of_a_part_takes_a_near_miss(compare: Comparison) -> None:
    """Beginnings, ends, both, all but one character, and the length alone."""
    assert any(compare(RIGHT, near) for near in list_near_texts(RIGHT).values())


def test_a_whole_comparison_takes_none() -> None:
    """And the list has no right value."""
    assert RIGHT not in list_near_texts(RIGHT).values()
