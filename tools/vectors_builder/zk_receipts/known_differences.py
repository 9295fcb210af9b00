"""Receipts that a second library is known to read differently, with the reason."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

DIFFERENCES: Final[Mapping[str, str]] = {
    "envelope_decode/duplicate/threshold": "Python's json takes the last of two members of one name",
}
