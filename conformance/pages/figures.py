"""Amounts as people write them, read exactly with any grouping of digits and any decimal mark.

Pure. A text that can be read in two ways has two values, and either is accepted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal

MICRO = 1_000_000
# Digits with marks inside: points, commas, apostrophes, and the spaces that writers of numbers use.
_DIGIT = "0-9\u0660-\u0669\u06f0-\u06f9"
_SPACES = " _\u00a0\u2009\u202f"
_NUMBER = re.compile(rf"(?<![{_DIGIT}.,])[{_DIGIT}](?:[{_DIGIT}]|[.,'\u2019\u066b\u066c{_SPACES}](?=[{_DIGIT}]))*")
_GROUP_MARKS = "'\u2019\u066c" + _SPACES
# Groups of thousands, of hundreds after the first (India) and of ten thousands (China).
_GROUPS = range(2, 5)


def find_amount(text: str, microunits: int) -> str | None:
    """Return the first number of a text that is exactly `microunits` millionths, or None.

    The number is a decimal of whole units in any usual spelling, or the plain integer of millionths.
    """
    return next((word for word, values in numbers(text) if microunits in values), None)


def numbers(text: str) -> Iterator[tuple[str, frozenset[int]]]:
    """Yield each number of a text with every value it can have, in millionths."""
    for match in _NUMBER.finditer(text):
        for word in _parts(match[0]):
            yield word, frozenset(_values(word))


def _parts(word: str) -> Iterator[str]:
    """Yield a number, and its parts between spaces."""
    yield word
    # A space may group the digits of one number, and it may separate two numbers.
    parts = re.split(f"[{_SPACES}]", word)
    if len(parts) > 1:
        yield from parts


def _values(word: str) -> Iterator[int]:
    # Digits of other scripts become ASCII digits.
    plain = "".join(str(int(one)) if one.isdecimal() else one for one in word)
    if plain.isdecimal():
        yield int(plain)
    # Points and commas have opposite roles in different countries, so both readings are tried.
    for mark, group_mark in ((".", ","), (",", "."), ("\u066b", "")):
        whole, _, fraction = plain.partition(mark)
        digits = _ungroup(whole, group_mark)
        if digits is not None and (mark not in plain or fraction.isdecimal()):
            value = Decimal(f"{digits}.{fraction or 0}") * MICRO
            if value == value.to_integral_value():
                yield int(value)


def _ungroup(whole: str, mark: str) -> str | None:
    """Return the digits of a whole number that may be grouped by `mark` or by a pure grouping mark, else None."""
    for separator in (mark, *_GROUP_MARKS):
        parts = whole.split(separator) if separator else [whole]
        if all(part.isdecimal() for part in parts) and all(len(part) in _GROUPS for part in parts[1:]):
            return "".join(parts)
    return None
