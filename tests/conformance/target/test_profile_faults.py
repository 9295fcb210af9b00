"""What a profile that cannot be used is answered with: the key, its table, and the nearest known key."""

from __future__ import annotations

import pytest

from conformance import target


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('[rail]\nschem = "x"', "unknown key `schem` in [rail]; did you mean `scheme`?"),
        ('[surfaces.rail]\nur = "x"\nurl = "http://h"', "unknown key `ur` in [surfaces.rail]; did you mean `url`?"),
        ("qqqq = 1", "unknown key `qqqq`"),
        ("[surfaces.rail]", "the key `url` in [surfaces.rail] is missing"),
        ('[[xfail]]\nid = "RAIL-402-01"', "the key `reason` in entry 1 of xfail is missing"),
        ('[pace]\nworkers = "x"', "pace.workers: the value should be a valid integer"),
        ('[claims]\nlanes = ["solna"]', "unknown lane 'solna'"),
    ],
)
def test_the_key_and_its_table_are_named(text: str, says: str) -> None:
    with pytest.raises(target.ProfileError) as fault:
        target.parse(text, source="mine.toml")
    assert str(fault.value).startswith("mine.toml: ")
    assert says in str(fault.value)
    assert "Extra inputs" not in str(fault.value)
    assert "Value error" not in str(fault.value)
