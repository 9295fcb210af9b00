"""Sums of multiples of the system's generators, by tables of what each is times 1, 16, 16^2 and so on."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Final, TypeAlias

from conformance.oracles.range_proof import curve
from conformance.oracles.range_proof.curve import NEUTRAL, D, L, P, Point
from conformance.oracles.range_proof.system import generator

BASE: Final = "B"
# y + x, y - x and 2*D*x*y of a point.
_Ready: TypeAlias = tuple[int, int, int]
# Digits of four bits in a number of 256 bits.
_DIGITS = 64
# Above so many terms fewer and wider digits cost less, though there are more buckets to add up.
_FEW = 16


def combine_generators(terms: Mapping[str, int]) -> Point:
    """Return the sum of multiples of generators.

    Args:
        terms: Scalars by the generator's name; `BASE` is the curve's own base point. Any integer will do.
    """
    width = 4 if len(terms) <= _FEW else 8
    half = 1 << width - 1
    offset = half * (((1 << 256) - 1) // ((1 << width) - 1))
    buckets = [NEUTRAL] * (half + 1)
    for name, scalar in terms.items():
        # Scalars near zero on either side have few digits; with the offset every digit d stands there as d + half.
        near = (scalar + L // 2) % L - L // 2
        digits = _digits(near + offset, width)
        for digit, point in zip(digits, _table(name)[:: width // 4], strict=True):
            if digit > half:
                buckets[digit - half] = _plus(buckets[digit - half], point)
            elif digit < half:
                plus, minus, product = point
                buckets[half - digit] = _plus(buckets[half - digit], (minus, plus, -product))
    suffix_sum = whole = NEUTRAL
    for bucket in buckets[:0:-1]:
        if bucket is not NEUTRAL:
            suffix_sum = curve.add(suffix_sum, bucket)
        if suffix_sum is not NEUTRAL:
            whole = curve.add(whole, suffix_sum)
    return whole


def _digits(number: int, width: int) -> list[int]:
    """Return the digits of a number below 2^256, the lowest first; `width` is 4 or 8 bits."""
    whole = number.to_bytes(32, "little")
    return list(whole) if width == 8 else [digit for byte in whole for digit in (byte & 15, byte >> 4)]


def _plus(point: Point, table_point: _Ready) -> Point:
    """Return the sum of a point and one out of a table."""
    x, y, z, t = point
    plus, minus, product = table_point
    a, b, c, d = (y - x) * minus % P, (y + x) * plus % P, t * product % P, 2 * z
    e, f, g, h = b - a, d - c, d + c, b + a
    return e * f % P, g * h % P, f * g % P, e * h % P


@cache
def _table(name: str) -> tuple[_Ready, ...]:
    """Return what a generator is times 16^n."""
    point = curve.BASE if name == BASE else generator(name)
    multiples: list[Point] = []
    for _ in range(_DIGITS):
        multiples.append(point)
        for _ in range(4):
            point = curve.double(point)
    return tuple(map(_ready, multiples, _inverses([one[2] for one in multiples])))


def _ready(point: Point, back: int) -> _Ready:
    x, y = point[0] * back % P, point[1] * back % P
    return (y + x) % P, (y - x) % P, 2 * D * x * y % P


def _inverses(numbers: list[int]) -> list[int]:
    """Return one over each number, by one inversion for all of them."""
    # Montgomery's trick: one inversion of the product of all numbers, and multiplications to
    # take it apart.
    products = [1]
    for number in numbers:
        products.append(products[-1] * number % P)
    back, inverses = pow(products[-1], -1, P), []
    for number, before in zip(reversed(numbers), reversed(products[:-1]), strict=True):
        inverses.append(back * before % P)
        back = back * number % P
    return inverses[::-1]
