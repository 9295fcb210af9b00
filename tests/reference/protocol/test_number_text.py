"""The literal text of a number in a JSON text (P-MN-02)."""

from __future__ import annotations

import pytest

from reference.protocol.canonical_json import number_text


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b'{"a": 8.410}', "8.410"),
        (b'{"a": 0.30000000000000004}', "0.30000000000000004"),
        (b'{"a": -1E+400}', "-1E+400"),
        (b'{"b": {"a": 2}, "a": 1}', "1"),
        (b'{"a": ' + b"9" * 5000 + b"}", "9" * 5000),
        (b'{"a": "8.41"}', None),
        (b'{"a": true}', None),
        (b'{"a": null}', None),
        (b'{"a": [1]}', None),
        (b'{"b": 1}', None),
        (b"[1]", None),
        (b"1", None),
    ],
)
def test_a_number_is_kept_as_it_is_written(data: bytes, text: str | None) -> None:
    """Top-level members that are numbers, and nothing else."""
    assert number_text(data, "a") == text
