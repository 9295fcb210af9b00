"""Where a log is not linked as its names tell."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.assertions.audit_log import find_broken_link
from conformance.target import REFERENCE_HUB

CHAIN = REFERENCE_HUB.audit_chain
assert CHAIN is not None
LOG: list[dict[str, Any]] = [
    {"seq": 1, "prev_mac": CHAIN.genesis, "mac": "a"},
    {"seq": 2, "prev_mac": "a", "mac": "b"},
    {"seq": 3, "prev_mac": "b", "mac": "c"},
]


@pytest.mark.parametrize(
    ("place", "change", "told"),
    [
        (0, {}, None),
        (0, {"prev_mac": "another"}, "entry 1 does not name the one before it"),
        (2, {"prev_mac": "a"}, "entry 3 does not name the one before it"),
        (1, {"mac": ""}, "entry 2 has no mac"),
        (2, {"seq": 4}, "its numbers are not 1, 2, 3 …"),
    ],
)
def test_the_first_break_is_told(place: int, change: dict[str, Any], told: str | None) -> None:
    """Each entry names the one before it, the first one the genesis; each has a MAC; numbers leave none out."""
    assert CHAIN is not None
    log = [{**one, **(change if at == place else {})} for at, one in enumerate(LOG)]
    assert told == find_broken_link(log, CHAIN)
