"""edwards25519 in plain integers, in extended coordinates (RFC 8032, section 5.1.4)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Final, TypeAlias

# X, Y, Z and T with x = X/Z, y = Y/Z and x*y = T/Z.
Point: TypeAlias = tuple[int, int, int, int]

P: Final = 2**255 - 19
L: Final = 2**252 + 27742317777372353535851937790883648493
D: Final = -121665 * pow(121666, P - 2, P) % P
NEUTRAL: Final[Point] = (0, 1, 1, 0)
_TWO_D = 2 * D % P
_ROOT_OF_MINUS_ONE = pow(2, (P - 1) // 4, P)
_SIGN = 1 << 255
_WINDOW = 4
_DIGITS = 64  # windows of a scalar below 2^256


class NoPoint(ValueError):
    """Bytes are no canonical encoding of a point of the curve."""


def add(first: Point, second: Point) -> Point:
    """Return the sum of two points; the law is complete."""
    x1, y1, z1, t1 = first
    x2, y2, z2, t2 = second
    # The unified addition of RFC 8032, 5.1.4. It needs no case for equal points.
    a, b = (y1 - x1) * (y2 - x2) % P, (y1 + x1) * (y2 + x2) % P
    c, d = t1 * _TWO_D * t2 % P, 2 * z1 * z2 % P
    e, f, g, h = b - a, d - c, d + c, b + a
    return e * f % P, g * h % P, f * g % P, e * h % P


def double(point: Point) -> Point:
    """Return twice a point."""
    x, y, z, _ = point
    a, b, c = x * x % P, y * y % P, 2 * z * z % P
    h = a + b
    e, g = h - (x + y) * (x + y) % P, a - b
    f = c + g
    return e * f % P, g * h % P, f * g % P, e * h % P


def multiply(scalar: int, point: Point) -> Point:
    """Return a multiple; the scalar is not reduced, so that points outside the subgroup are multiplied rightly."""
    product = NEUTRAL
    for bit in f"{scalar:b}":
        product = double(product)
        if bit == "1":
            product = add(product, point)
    return product


def combine(scalars: Sequence[int], points: Sequence[Point]) -> Point:
    """Return the sum of multiples of points, by buckets; scalars are below 2^256 and not reduced."""
    total_point = NEUTRAL
    # Pippenger's method: for each window, points with the same digit are added first, and each
    # sum is then multiplied by its digit by repeated addition.
    for shift in range((_DIGITS - 1) * _WINDOW, -1, -_WINDOW):
        for _ in range(_WINDOW):
            total_point = double(total_point)
        buckets: list[Point | None] = [None] * (1 << _WINDOW)
        for scalar, point in zip(scalars, points, strict=True):
            digit = scalar >> shift & (1 << _WINDOW) - 1
            bucket_point = buckets[digit]
            buckets[digit] = point if bucket_point is None else add(bucket_point, point)
        suffix_sum = whole = NEUTRAL
        for bucket in buckets[:0:-1]:
            suffix_sum = suffix_sum if bucket is None else add(suffix_sum, bucket)
            whole = add(whole, suffix_sum)
        total_point = add(total_point, whole)
    return total_point


def is_same(first: Point, second: Point) -> bool:
    """Return whether two points are one."""
    # The coordinates are projective, so cross products are compared instead of quotients.
    return (first[0] * second[2] - second[0] * first[2]) % P == 0 and (
        first[1] * second[2] - second[1] * first[2]
    ) % P == 0


def negate(point: Point) -> Point:
    """Return the other end of a point."""
    x, y, z, t = point
    return -x % P, y, z, -t % P


def encode(point: Point) -> bytes:
    """Return the 32 bytes of a point: y little-endian, the last bit the lowest of x."""
    x, y, z, _ = point
    back = pow(z, P - 2, P)
    return (y * back % P | (x * back % P & 1) << 255).to_bytes(32, "little")


def decode(data: bytes) -> Point:
    """Return the point of 32 bytes, in the subgroup or not.

    Raises:
        NoPoint: They are no canonical encoding of any.
    """
    number = int.from_bytes(data, "little")
    y, odd = number & _SIGN - 1, number >> 255
    if len(data) != 32 or y >= P:
        raise NoPoint("not 32 bytes, or y is not below the prime")
    over, under = (y * y - 1) % P, (D * y * y + 1) % P
    x = over * pow(under, 3, P) * pow(over * pow(under, 7, P), (P - 5) // 8, P) % P
    if (under * x * x - over) % P:
        x = x * _ROOT_OF_MINUS_ONE % P
    if (under * x * x - over) % P or (x == 0 and odd):
        raise NoPoint("no point has this y, or x = 0 has a sign")
    x = P - x if x & 1 != odd else x
    return x, y, 1, x * y % P


def is_in_subgroup(point: Point) -> bool:
    """Return whether a point is of prime order, the neutral one not being so."""
    # The curve has cofactor 8, so a point may be on it and outside of the prime subgroup.
    return not is_same(point, NEUTRAL) and is_same(multiply(L, point), NEUTRAL)


def total(points: Sequence[Point]) -> Point:
    """Return the sum of points."""
    return reduce(add, points, NEUTRAL)


BASE: Final = decode((4 * pow(5, P - 2, P) % P).to_bytes(32, "little"))
