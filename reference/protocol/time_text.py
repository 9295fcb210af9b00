"""Times as text, in the form of P-CV-04 and of RFC 3339."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

# `datetime.fromisoformat` alone accepts far more, such as dates without a time and week numbers.
_INSTANT = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?(Z|[+-][0-9]{2}:[0-9]{2})", re.ASCII
)
_SECOND = timedelta(seconds=1)


def utc_text(unix: int) -> str:
    """Return unix seconds as `YYYY-MM-DDThh:mm:ssZ`."""
    return datetime.fromtimestamp(unix, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def unix_of(text: str) -> int:
    """Return the whole unix seconds of an RFC 3339 instant: P-CV-04, or with a fraction or an offset.

    Raises:
        ValueError: It is not an instant; a time without an offset is not one.
    """
    if _INSTANT.fullmatch(text) is None:
        raise ValueError("not a time like 2026-01-31T12:00:00Z")
    return (datetime.fromisoformat(text) - datetime(1970, 1, 1, tzinfo=UTC)) // _SECOND
