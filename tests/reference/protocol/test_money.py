"""Money in integers."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference.protocol.money import amount_pretty, atomic_units, microunits_of


@pytest.mark.parametrize(
    ("literal", "expected"),
    [
        ("8.41", 8410000),
        ("1.005", 1005000),
        ("0.30000000000000004", 300000),
        ("0.0000005", 1),
        ("1e-6", 1),
        ("1E9", 10**15),
        ("8.41" + "0" * 5000, 8410000),
        ("0.5" + "0" * 300 + "1", 500000),
    ],
)
def test_an_amount_is_read_from_its_digits(literal: str, expected: int) -> None:
    """Micro-units come from the literal text as a decimal, ties away from zero (P-MN-02)."""
    assert expected == microunits_of(literal)


@pytest.mark.parametrize(
    "literal",
    ["0.0000004", "0", "-1", "1000000000.0000005", "1e10", "1e99999999999999999999", "1e-99999999999999999999", "0e9",
     "1e1000000", "NaN", "Infinity", "", "1_0", " 1", "1\n", "01", "+1", ".5", "٣"],
)  # fmt: skip
def test_an_amount_out_of_range_is_refused(literal: str) -> None:
    """Less than half a micro-unit, more than 10^15, or no JSON number is a ValueError and nothing worse."""
    with pytest.raises(ValueError, match="amount"):
        microunits_of(literal)


def test_a_rate_is_applied_before_the_one_rounding() -> None:
    """8.41 EUR at 1.08 is 9.0828; a tie is only a tie after the rate."""
    assert microunits_of("8.41", Decimal("1.08")) == 9082800
    assert microunits_of("0.000001", Decimal("1.5")) == 2
    assert microunits_of("0.0000014", Decimal("1.05")) == 1


@given(st.integers(1, 10**15))
def test_what_is_shown_reads_back(amount: int) -> None:
    """The text for people holds the exact amount, with 2 to 6 fraction digits."""
    number, label = amount_pretty(amount, "USDC").split(" ")
    assert label == "USDC"
    assert 2 <= len(number.split(".")[1]) <= 6
    assert amount == microunits_of(number)


@pytest.mark.parametrize(("amount", "expected"), [(8410000, "8.41 USDC"), (1, "0.000001 USDC"), (5000000, "5.00 USDC")])
def test_the_worked_pretty_amounts(amount: int, expected: str) -> None:
    """P-MN-04's examples come out as written."""
    assert expected == amount_pretty(amount, "USDC")


def test_atomic_units_follow_the_decimals() -> None:
    """Six decimals are micro-units themselves, seven are ten times as many, fewer than six cannot be (P-MN-01)."""
    assert (atomic_units(8410000, 6), atomic_units(8410000, 7)) == (8410000, 84100000)
    with pytest.raises(ValueError, match="6 decimals"):
        atomic_units(1, 5)
