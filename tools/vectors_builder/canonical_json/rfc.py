"""The examples of RFC 8785: the one of section 3.2.2, the one of 3.2.3, and the table of its appendix B."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Final

from tools.vectors_builder.canonical_json.making import draft_refusal, holds
from tools.vectors_builder.drafting import Draft

_TABLE_ORIGIN: Final = "RFC 8785 B"

_SAMPLE: Final = r"""{
  "numbers": [333333333.33333329, 1E30, 4.50,
              2e-3, 0.000000000000000000000000001],
  "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
  "literals": [null, true, false]
}"""
_SAMPLE_FORM: Final = (
    r'{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],'
    r'"string":"€$\u000f\nA'
    r"'"
    r'B\"\\\\\"/"}'
)
_SORTED_EXAMPLE: Final = r"""{
  "\u20ac": "Euro Sign",
  "\r": "Carriage Return",
  "\ufb33": "Hebrew Letter Dalet With Dagesh",
  "1": "One",
  "\ud83d\ude00": "Emoji: Grinning Face",
  "\u0080": "Control",
  "\u00f6": "Latin Small Letter O With Diaeresis"
}"""
_SORTED_FORM: Final = (
    '{"\\r":"Carriage Return","1":"One","\x80":"Control","ö":"Latin Small Letter O With Diaeresis",'
    '"€":"Euro Sign","\U0001f600":"Emoji: Grinning Face","\ufb33":"Hebrew Letter Dalet With Dagesh"}'
)

# Bits of the number in hexadecimal, and its form.
_NUMBERS: Final[tuple[tuple[str, str, str], ...]] = (
    ("0000000000000000", "0", "zero"),
    ("8000000000000000", "0", "minus zero"),
    ("0000000000000001", "5e-324", "the least number above zero"),
    ("8000000000000001", "-5e-324", "the greatest number below zero"),
    ("7fefffffffffffff", "1.7976931348623157e+308", "the greatest number"),
    ("ffefffffffffffff", "-1.7976931348623157e+308", "the least number"),
    ("4340000000000000", "9007199254740992", "the first whole number with a neighbour that cannot be told from it"),
    ("c340000000000000", "-9007199254740992", "the same below zero"),
    ("4430000000000000", "295147905179352830000", "two to the 68th, whose last digits are nobody's"),
    ("44b52d02c7e14af5", "9.999999999999997e+22", "two below 1e+23"),
    ("44b52d02c7e14af6", "1e+23", "what 1e+23 is read as"),
    ("44b52d02c7e14af7", "1.0000000000000001e+23", "one above 1e+23"),
    ("444b1ae4d6e2ef4e", "999999999999999700000", "two below 1e+21: the last range without an exponent"),
    ("444b1ae4d6e2ef4f", "999999999999999900000", "the last number without an exponent"),
    ("444b1ae4d6e2ef50", "1e+21", "the first number with an exponent"),
    ("3eb0c6f7a0b5ed8c", "9.999999999999997e-7", "the last small number with an exponent"),
    ("3eb0c6f7a0b5ed8d", "0.000001", "the first small number without an exponent"),
    ("41b3de4355555553", "333333333.3333332", "neighbours that differ in the last digit"),
    ("41b3de4355555554", "333333333.33333325", "a neighbour that needs a digit more"),
    ("41b3de4355555555", "333333333.3333333", "the nearest to a third"),
    ("41b3de4355555556", "333333333.3333334", "its upper neighbour"),
    ("41b3de4355555557", "333333333.33333343", "another that needs a digit more"),
    ("becbf647612f3696", "-0.0000033333333333333333", "seventeen digits after six places, below zero"),
    ("43143ff3c1cb0959", "1424953923781206.2", "a tie that is rounded to even"),
)


def samples() -> Iterator[Draft]:
    """Yield the two documents that the RFC shows with their forms."""
    why = "Every rule of the form at once, as the RFC shows it"
    yield holds("sample", "rfc-8785-3.2.2", _SAMPLE, _SAMPLE_FORM, why, origin="RFC 8785 3.2.2")
    why = "Names from four ranges, sorted by UTF-16 code units: the emoji comes before the Hebrew letter"
    yield holds("sample", "rfc-8785-3.2.3", _SORTED_EXAMPLE, _SORTED_FORM, why, origin="RFC 8785 3.2.3")


def numbers() -> Iterator[Draft]:
    """Yield the table of numbers, each written with seventeen digits and an exponent, which names it exactly."""
    for bits, form, description in _NUMBERS:
        (number,) = struct.unpack(">d", bytes.fromhex(bits))
        why = f"The table of RFC 8785: {description}"
        yield holds("number-table", bits, f"{number:.16e}", form, why, origin=_TABLE_ORIGIN)
    for bits, text, description in (
        ("7fffffffffffffff", "NaN", "no number"),
        ("7ff0000000000000", "Infinity", "infinity"),
    ):
        fault, why = f"The number is {description}.", f"The table of RFC 8785: {description} is an error"
        yield draft_refusal("number", "number-table", bits, text, fault, why, origin=_TABLE_ORIGIN)
