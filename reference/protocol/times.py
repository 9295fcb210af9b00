"""Times as text (P-CV-04)."""

from __future__ import annotations

from datetime import UTC, datetime


def utc_text(unix: int) -> str:
    """Return unix seconds as `YYYY-MM-DDThh:mm:ssZ`."""
    return datetime.fromtimestamp(unix, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
