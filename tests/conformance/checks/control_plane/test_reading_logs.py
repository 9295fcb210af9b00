"""What a log entry says of a change, apart from its place and its time."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.checks.control_plane.audit import strip_place_and_time

_ENTRY = {"what": "issuer.registered", "did": "did:web:a", "when": "2026-01-01T00:00:00Z", "n": 1, "hmac": "a"}


@pytest.mark.parametrize(
    ("changes", "differ"),
    [
        ({"what": "issuer.revoked"}, True),
        ({"what": 3}, True),
        ({"when": "2026-01-01T00:00:01Z", "n": 1}, False),
        ({"at": 1_767_225_600, "ts_ms": 1_767_225_600_000, "createdAt": 7, "entry_id": "x", "index": 4}, False),
        ({"seconds": 12.5}, False),
        ({"hmac": "b"}, False),
        ({"format": "b"}, True),
    ],
)
def test_entries_are_alike_but_for_place_and_time(changes: dict[str, Any], differ: bool) -> None:
    """Words and small numbers tell changes apart; times, places and what the profile names of the chain do not."""
    assert (
        strip_place_and_time({**_ENTRY, **changes}, frozenset({"hmac"}))
        != strip_place_and_time(_ENTRY, frozenset({"hmac"}))
    ) is differ
