"""Records are made, compared and hashed as frozen dataclasses are."""

from __future__ import annotations

from dataclasses import field, replace

import pytest

from reference.fast_records import record


@record
class Point:
    """A place with a note that says nothing about which place it is."""

    x: int
    y: int = 0
    note: str = field(default="", compare=False)


def test_equal_records_are_one_key() -> None:
    """What compares is what counts, also as a key."""
    assert Point(1, note="here") == Point(1, note="there")
    assert len({Point(1, note="here"), Point(1, note="there"), Point(2)}) == 2
    assert replace(Point(1), y=3) == Point(1, 3)


def test_a_record_takes_no_further_member() -> None:
    """A misspelt member is an error and no new one."""
    with pytest.raises(AttributeError):
        Point(1).z = 2  # type: ignore[attr-defined]
