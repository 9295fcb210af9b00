"""Amounts of USDC for people."""

from __future__ import annotations

from decimal import Decimal

import pytest

from conformance.text.usdc import in_usdc


@pytest.mark.parametrize(
    ("units", "text"),
    [(50_000, "0.05"), (1, "0.000001"), (900_000_000, "900"), (0, "0"), (Decimal(8_410_000), "8.41")],
)
def test_atomic_units_are_shown_as_a_plain_decimal_number(units: int | Decimal, text: str) -> None:
    """There is no zero at the end and no exponent."""
    assert in_usdc(units) == text
