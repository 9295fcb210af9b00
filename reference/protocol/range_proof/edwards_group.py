"""The prime-order subgroup of edwards25519, by PyNaCl's operations, and its scalars.

A point is its canonical encoding of 32 bytes. A scalar is an integer below the order, in 32 bytes little-endian.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache

from nacl import bindings

ORDER = 2**252 + 27742317777372353535851937790883648493
BYTES = 32
BASE = b"\x58" + b"\x66" * 31
IDENTITY = b"\x01" + bytes(31)
ORDER_TWO = b"\xec" + b"\xff" * 30 + b"\x7f"


def is_element(point: bytes) -> bool:
    """Return whether 32 bytes are the canonical encoding of a point in the subgroup; the identity is refused."""
    return bindings.crypto_core_ed25519_is_valid_point(point) and (_library_is_sound() or _is_twice_its_half(point))


@cache
def _library_is_sound() -> bool:
    """Return whether libsodium refuses an element that the point of order two was added to.

    Before 2026 it did not (CVE-2025-69277; PyNaCl up to 1.6.1, and any PyNaCl that is built on an older libsodium).
    """
    return not bindings.crypto_core_ed25519_is_valid_point(plus(BASE, ORDER_TWO))


def _is_twice_its_half(point: bytes) -> bool:
    """Return whether a point is an element, if it is one but for the point of order two: doubling loses that."""
    # Multiplying by the inverse of two in the subgroup and doubling again returns a point of the subgroup
    # unchanged. Doubling loses the point of order two, so a point that contains it does not come back.
    half = times((ORDER + 1) // 2, point)
    return plus(half, half) == point


def plus(first: bytes, second: bytes) -> bytes:
    """Return the sum of two points; unlike for `times` they only have to be on the curve."""
    return bindings.crypto_core_ed25519_add(first, second)


def minus(first: bytes, second: bytes) -> bytes:
    """Return the difference of two points, which only have to be on the curve."""
    return bindings.crypto_core_ed25519_sub(first, second)


def times(scalar: int, point: bytes) -> bytes:
    """Return a multiple of an element, or of the identity; any integer is a scalar."""
    # PyNaCl refuses the identity and a zero scalar, so both are handled here.
    residue = scalar % ORDER
    if residue == 0 or point == IDENTITY:
        return IDENTITY
    if residue == 1:
        return point
    if point == BASE:
        return bindings.crypto_scalarmult_ed25519_base_noclamp(encode_scalar(residue))
    return bindings.crypto_scalarmult_ed25519_noclamp(encode_scalar(residue), point)


def total(terms: Iterable[tuple[int, bytes]]) -> bytes:
    """Return the sum of multiples of elements."""
    point_sum = IDENTITY
    for scalar, point in terms:
        point_sum = plus(point_sum, times(scalar, point))
    return point_sum


def encode_scalar(scalar: int) -> bytes:
    """Return a scalar's 32 bytes."""
    return (scalar % ORDER).to_bytes(BYTES, "little")


def scalar_of(data: bytes) -> int:
    """Return the scalar of 32 bytes.

    Raises:
        ValueError: They are not its canonical encoding.
    """
    scalar = int.from_bytes(data, "little")
    if len(data) != BYTES or scalar >= ORDER:
        raise ValueError("not a canonical scalar")
    return scalar


def reduce_to_scalar(data: bytes) -> int:
    """Return bytes, little-endian, modulo the order."""
    return int.from_bytes(data, "little") % ORDER


def inverse(scalar: int) -> int:
    """Return the inverse of a scalar that is not zero."""
    return pow(scalar, -1, ORDER)


def dot(left: Sequence[int], right: Sequence[int]) -> int:
    """Return the inner product of two vectors of one length."""
    return sum(one * other for one, other in zip(left, right, strict=True)) % ORDER


def powers(scalar: int, count: int) -> list[int]:
    """Return the powers of a scalar, from the zeroth."""
    values = [1]
    while len(values) < count:
        values.append(values[-1] * scalar % ORDER)
    return values
