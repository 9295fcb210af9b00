"""ISO 8601 times in JSON text."""

from __future__ import annotations

import datetime as dt
import re


def utc_time(value: object) -> dt.datetime | None:
    """Return an ISO 8601 time in UTC; None if the value is not one, names another zone or lacks a zone."""
    if not isinstance(value, str) or re.match(r"\d{4}-?\d{2}-?\d{2}[Tt]\d{2}", value) is None:
        return None
    if not value.endswith(("Z", "z", "+00:00", "+0000", "+00")):
        return None
    try:
        return dt.datetime.fromisoformat(value.upper())
    except ValueError:
        return None
