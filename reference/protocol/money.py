"""Amounts as integers of micro-units and atomic units, without floats (1.3)."""

from __future__ import annotations

import re
from decimal import ROUND_HALF_UP, Context, Decimal

MICRO_DIGITS = 6
LARGEST_AMOUNT_MICROUNITS = 10**15

_JSON_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?", re.ASCII)
# Beyond this power of ten no rate brings an amount back into range. The bound also keeps `1e999999999` from costing
# memory.
_LARGEST_POWER = 99
_OUT_OF_RANGE = "the amount must come to 0.000001 … 1000000000 of the asset"


def atomic_units(amount_microunits: int, decimals: int) -> int:
    """Return the atomic units on chain of an amount in micro-units (P-MN-01).

    Args:
        amount_microunits: Millionths of the asset, whatever its decimals.
        decimals: Decimals of the asset; 6 or more on every network of the table.

    Raises:
        ValueError: Fewer than 6 decimals, which could not hold a micro-unit.
    """
    if decimals < MICRO_DIGITS:
        raise ValueError("an asset with fewer than 6 decimals cannot hold a micro-unit")
    factor: int = 10 ** (decimals - MICRO_DIGITS)
    return amount_microunits * factor


def microunits_of(literal: str, rate: Decimal = Decimal(1)) -> int:
    """Return the micro-units that a JSON number means, rounded once, ties away from zero (P-MN-02).

    Args:
        literal: The number as it is in the JSON text.
        rate: Units of the asset for one unit of the currency.

    Raises:
        ValueError: No JSON number, or a result outside 1 … 10^15.
    """
    if _JSON_NUMBER.fullmatch(literal) is None:
        raise ValueError("the amount must be a JSON number")
    try:
        amount = Decimal(literal)
    except ArithmeticError as fault:  # an exponent past what Decimal can hold
        raise ValueError(_OUT_OF_RANGE) from fault
    if abs(amount.adjusted()) > _LARGEST_POWER:
        raise ValueError(_OUT_OF_RANGE)
    # The precision holds every digit of the product, so that one rounding happens, at the end. Two roundings could
    # move a tie (P-MN-02).
    exactly = Context(prec=len(literal) + len(rate.as_tuple().digits) + _LARGEST_POWER)
    microunits = int(exactly.multiply(amount, rate).scaleb(MICRO_DIGITS, exactly).to_integral_value(ROUND_HALF_UP))
    if not 1 <= microunits <= LARGEST_AMOUNT_MICROUNITS:
        raise ValueError(_OUT_OF_RANGE)
    return microunits


def decimal_text(number: Decimal, *, digits: int | None = None) -> str:
    """Return a decimal number without an exponent and without zeros at the end of its fraction.

    Args:
        number: The number, of any exponent that `microunits_of` takes.
        digits: The most digits behind the point, ties away from zero; None for all.
    """
    if digits is not None and -int(number.as_tuple().exponent) > digits:
        places = Context(prec=2 * _LARGEST_POWER)
        number = number.quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP, places)
    whole, point, fraction = format(number, "f").partition(".")
    fraction = fraction.rstrip("0")
    return f"{whole}.{fraction}" if point and fraction else whole


def amount_pretty(amount_microunits: int, asset_label: str) -> str:
    """Return an amount for people: 2 to 6 fraction digits, one space, the asset's label (P-MN-04)."""
    whole, fraction = divmod(amount_microunits, 10**MICRO_DIGITS)
    digits = f"{fraction:06d}".rstrip("0").ljust(2, "0")
    return f"{whole}.{digits} {asset_label}"
