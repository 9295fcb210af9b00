"""JSON texts that a lenient parser would smooth over."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.oracles.strict_json import values_of


@pytest.mark.parametrize(
    ("body", "expected_values"),
    [
        (b'{"a":1,"b":2,"a":[3]}', [1, [3]]),
        (b'{"b":{"a":1}}', []),
        (b'[{"a":1}]', []),
        (b'[["a",1]]', []),
        (b'{"a":1', []),
        (b'{"a":"\xff"}', []),
    ],
)
def test_each_value_that_an_object_gives_a_member_is_found(body: bytes, expected_values: list[Any]) -> None:
    """A member that is written twice is listed twice; what is deeper, or in a list, is no member of the text."""
    assert values_of(body, "a") == expected_values
