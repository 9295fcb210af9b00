"""A Falcon-1024 key made for one signature: what the suite signs credentials with, without a signer.

A signature is a short vector (s1, s2) with s1 + s2·h = c, where c is the salted message's point. If the key may be
chosen, no trapdoor is needed: draw a short vector, and h = (c - s1)/s2 is a public key under which it signs that
message. Such a key looks like any other key and verifies everywhere. It signs no other message, and it has no known
secret key.
"""

from __future__ import annotations

import base64
import random
from collections.abc import Sequence
from dataclasses import dataclass, field

from conformance.oracles.falcon import (
    DEGREE,
    KEY_HEADER,
    MAX_SIGNATURE_BYTES,
    MODULUS,
    PUBLIC_KEY_BYTES,
    SALT_BYTES,
    SIGNATURE_HEADER,
    hash_to_point,
)

# The spread of a signer's own vectors, for this degree.
_SIGMA = 168.0
# A root of x**1024 + 1, as a power of the smallest generator of the field.
_ROOT = pow(11, (MODULUS - 1) // (2 * DEGREE), MODULUS)


@dataclass(frozen=True, slots=True)
class OneSignature:
    """A public key and the one signature that it was made for.

    Attributes:
        public_key: 1793 bytes.
        signature: Header 0x3a, salt, compressed vector.
    """

    public_key: bytes = field(repr=False)
    signature: bytes = field(repr=False)


def sign_once(message: bytes, rng: random.Random) -> OneSignature:
    """Return a key with its signature over a message, drawn from `rng`: the same draw gives the same key."""
    while True:
        # A draw may be too long or have no inverse. Then everything is drawn again from the
        # same generator, so that the result depends only on the seed.
        salt = rng.randbytes(SALT_BYTES)
        first, second = ([round(rng.gauss(0, _SIGMA)) for _ in range(DEGREE)] for _ in range(2))
        one_signature = sign_with_vector(message, salt, first, second)
        if one_signature is not None and len(one_signature.signature) <= MAX_SIGNATURE_BYTES:
            return one_signature


def sign_with_vector(message: bytes, salt: bytes, first: Sequence[int], second: Sequence[int]) -> OneSignature | None:
    """Return a key under which a vector signs a message, however long the vector is.

    Args:
        message: Any bytes.
        salt: 40 bytes.
        first: The 1024 coefficients of the vector's first half, which the signature leaves out.
        second: Those of the half that the signature has.

    Returns:
        None where the second half has no inverse, so that no key makes up for it.
    """
    # A polynomial has an inverse only if it has no zero at any root.
    divisors = _transform(second)
    if 0 in divisors:
        return None
    right_side = [c - one for c, one in zip(hash_to_point(salt, message), first, strict=True)]
    ratios = [
        one * pow(other, -1, MODULUS) % MODULUS for one, other in zip(_transform(right_side), divisors, strict=True)
    ]
    signature = bytes((SIGNATURE_HEADER,)) + salt + compress(second)
    return OneSignature(public_key_of(_transform_back(ratios)), signature)


def any_public_key(rng: random.Random) -> bytes:
    """Return a well-formed public key without a known secret key."""
    return public_key_of([rng.randrange(MODULUS) for _ in range(DEGREE)])


def public_key_of(coefficients: list[int]) -> bytes:
    """Return the encoding of a public polynomial, 14 bits a coefficient."""
    bits = int("".join(f"{value:014b}" for value in coefficients), 2)
    return bytes((KEY_HEADER,)) + bits.to_bytes(PUBLIC_KEY_BYTES - 1, "big")


def neighbour_of(text: str) -> str:
    """Return a well-formed public key in base64 that differs from another in the case of one letter of its middle."""
    # A hub that compares keys without regard to case would take the two keys for one.
    candidates = (
        text[:place] + text[place].swapcase() + text[place + 1 :] for place in range(len(text) // 2, len(text))
    )
    return next(one for one in candidates if one != text and _is_well_formed(base64.b64decode(one)))


def _is_well_formed(public_key: bytes) -> bool:
    bits = f"{int.from_bytes(public_key[1:], 'big'):0{14 * DEGREE}b}"
    return all(int(bits[start : start + 14], 2) < MODULUS for start in range(0, len(bits), 14))


def compress(coefficients: Sequence[int]) -> bytes:
    """Return the compressed form of a polynomial: sign, seven low bits, the rest in unary, zeros up to a whole byte."""
    bits = "".join(f"{int(value < 0)}{abs(value) & 0x7F:07b}{'0' * (abs(value) >> 7)}1" for value in coefficients)
    bits += "0" * (-len(bits) % 8)
    return int(bits, 2).to_bytes(len(bits) // 8, "big")


def _transform(coefficients: Sequence[int]) -> list[int]:
    """Return the values of a polynomial at the 1024 roots of x**1024 + 1."""
    weighted_values, power = [], 1
    for value in coefficients:
        weighted_values.append(value * power % MODULUS)
        power = power * _ROOT % MODULUS
    return _spectrum(weighted_values, _ROOT * _ROOT % MODULUS)


def _transform_back(values: list[int]) -> list[int]:
    """Return the polynomial that has these values at the roots."""
    back = pow(_ROOT, -1, MODULUS)
    power = pow(DEGREE, -1, MODULUS)
    coefficients = []
    for value in _spectrum(values, back * back % MODULUS):
        coefficients.append(value * power % MODULUS)
        power = power * back % MODULUS
    return coefficients


def _spectrum(values: list[int], root: int) -> list[int]:
    """Return the values of a polynomial at the powers of a root of unity of its length."""
    if len(values) == 1:
        return values
    even, odd = (_spectrum(values[start::2], root * root % MODULUS) for start in (0, 1))
    weighted_odd, power = [], 1
    for value in odd:
        weighted_odd.append(value * power % MODULUS)
        power = power * root % MODULUS
    low = [(one + other) % MODULUS for one, other in zip(even, weighted_odd, strict=True)]
    return low + [(one - other) % MODULUS for one, other in zip(even, weighted_odd, strict=True)]
