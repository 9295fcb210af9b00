"""Amounts of USDC for people, next to or instead of atomic units."""

from __future__ import annotations

from decimal import Decimal
from typing import Final

_UNITS: Final = 10**6


def in_usdc(units: int | Decimal) -> str:
    """Return atomic units, millionths, as a decimal number of USDC: `0.05`, `900`."""
    # `normalize` removes the zeros at the end, and the format `f` keeps 900 from becoming 9E+2.
    return f"{(Decimal(units) / _UNITS).normalize():f}"
