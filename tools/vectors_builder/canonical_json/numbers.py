"""Numbers that have a canonical form: ECMAScript's shortest digits, whatever the text's own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tools.vectors_builder.canonical_json.making import holds
from tools.vectors_builder.drafting import Draft

_DIGITS: Final = (
    "profile 1.1 P-CV-20: a number with more digits than binary64 holds is the nearest one (RFC 7493 2.2)",
)
_UNDERFLOW: Final = ("profile 1.1 P-CV-20: what is nearest to zero is zero (RFC 7493 2.2 only advises against it)",)
_TENTH: Final = "0.1000000000000000055511151231257827021181583404541015625"


def whole() -> Iterator[Draft]:
    """Yield zero, whole numbers, and whole numbers in other notations."""
    why = "Minus zero is written 0"
    yield holds("zero", "minus-as-an-integer", "-0", "0", why)
    yield holds("zero", "minus-with-a-fraction", "[-0.0]", "[0]", why)
    yield holds("zero", "with-an-exponent", "[0E+5,-0e-9]", "[0,0]", "An exponent says nothing of zero")
    why = "The last whole number that no other is confused with"
    yield holds("integer", "greatest-exact", "9007199254740991", "9007199254740991", why)
    yield holds("integer", "least-exact", "-9007199254740991", "-9007199254740991", why)
    yield holds("integer", "with-a-fraction", "[1.0,-20.00]", "[1,-20]", "A fraction of zeros is left out")
    why = "Whole numbers below 1e+21 are written without an exponent, whatever they came with"
    yield holds("large", "hundred-quintillion", "1e20", "100000000000000000000", why)
    yield holds("large", "nine-digits-and-zeros", "1.2345678901234568e20", "123456789012345680000", why)
    yield holds("large", "sextillion", "1e21", "1e+21", "From 1e+21 on a number has an exponent, with its sign")
    why = "An exponent in the text is an amount, not a spelling to be kept"
    yield holds("exponent", "capital-and-plus", "[1E+2,1E2]", "[100,100]", why)
    yield holds("exponent", "negative", "[1e-2,25E-1]", "[0.01,2.5]", why)
    yield holds("exponent", "leading-zeros", "1e0005", "100000", "Zeros may lead an exponent, unlike a number")


def fractions() -> Iterator[Draft]:
    """Yield small numbers, the ends of the range, and shortest digits."""
    why = "The last power of ten that is written without an exponent"
    yield holds("small", "millionth", "1e-6", "0.000001", why)
    yield holds("small", "tenth-of-a-millionth", "0.0000001", "1e-7", "Below a millionth a number has an exponent")
    yield holds("small", "several-digits", "0.00000012345", "1.2345e-7", "The point goes after the first digit")
    why = "Digits are what a reader needs to find the number again, no more"
    yield holds("shortest", "tenth", "0.10", "0.1", why)
    yield holds("shortest", "sum-of-tenths", "0.30000000000000004", "0.30000000000000004", why)
    yield holds("shortest", "exact-expansion-of-a-tenth", _TENTH, "0.1", why)
    yield holds(
        "extreme", "least-normal", "2.2250738585072014e-308", "2.2250738585072014e-308", "Where digits get fewer"
    )
    yield holds("extreme", "greatest-denormal", "2.225073858507201e-308", "2.225073858507201e-308", "One below it")
    yield holds("extreme", "power-of-two", "5e-324", "5e-324", "The least number above zero has one digit")
    why = "A long text of a short number: digits that say nothing, which no limit on length may drop"
    yield holds("long-number", "zeros-after", "1." + "0" * 400, "1", why)
    yield holds("long-number", "zeros-before", "0." + "0" * 399 + "1e400", "1", why)
    yield holds("long-number", "zeros-and-a-negative-exponent", "5" + "0" * 30 + "e-30", "5", why)


def rounded_numbers() -> Iterator[Draft]:
    """Yield numbers that are more exact in text than binary64: open by the standards, and read to the nearest."""
    why = "Half way between two numbers the even one is taken"
    yield holds("greater-precision", "half-way", "9007199254740993.0", "9007199254740992", why, _DIGITS)
    why = "The example of RFC 7493 2.2 for what nobody should send"
    text = "3.141592653589793238462643383279"
    yield holds("greater-precision", "pi", text, "3.141592653589793", why, _DIGITS)
    why = "A digit above the greatest number is still nearest to it"
    text, form = "1.7976931348623158e308", "1.7976931348623157e+308"
    yield holds("greater-precision", "above-the-greatest", text, form, why, _DIGITS)
    why = "Above half of the least number is the least number"
    yield holds("underflow", "above-half-of-the-least", "2.4703282292062328e-324", "5e-324", why, _UNDERFLOW)
    why = "Nearer to zero than to anything else"
    yield holds("underflow", "below-half-of-the-least", "2.4703282292062327e-324", "0", why, _UNDERFLOW)
    yield holds("underflow", "far-below-zero", "-1e-400", "0", "Minus nothing is zero, without a sign", _UNDERFLOW)
