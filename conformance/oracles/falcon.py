"""Falcon-1024 signatures, verified: round-3 encodings, as deployed services speak them (P-AD-06), in plain Python.

Written from the specification of the third round (Falcon 1.2, sections 3.7, 3.10 and 3.11): a signature holds where the
short vector that it stands for is short enough. Nothing here is secret, so nothing here takes care of timing.
"""

from __future__ import annotations

import hashlib
import re
import struct
from collections.abc import Sequence
from enum import StrEnum
from functools import lru_cache
from operator import mul
from typing import Final

DEGREE: Final = 1024
MODULUS: Final = 12_289
PUBLIC_KEY_BYTES: Final = 1793
# Sizes of round 3 for degree 1024.
SALT_BYTES: Final = 40
# Of the compressed form; the padded one has 1280 always.
MAX_SIGNATURE_BYTES: Final = 1462
# The most that the squared length of a signature's vector may be, for this degree.
LENGTH_BOUND: Final = 70_265_242
KEY_HEADER: Final = 0x0A
SIGNATURE_HEADER: Final = 0x3A
_HALF = MODULUS // 2
# Multiples of the modulus below 2**16 are the whole of the range that a sample is taken from.
_SAMPLES_BELOW = 5 * MODULUS
# A coefficient as it is coded: sign, seven low bits, the rest in unary up to 15; zero has one sign only.
_COEFFICIENT = re.compile("[01]{8}0{0,15}1")
# Every coded coefficient with its value. Decoding is one look-up for each, and a coding that is absent, such as minus
# zero, is no coefficient.
_VALUES = {
    f"{byte:08b}{high * '0'}1": (byte & 0x7F | high << 7) * (-1 if byte & 0x80 else 1)
    for byte in range(256)
    for high in range(16)
    if byte != 0x80 or high
}
# A polynomial as one whole number, its value at 2**32: its coefficients in places of 32 bits.
_WORDS = struct.Struct(f"<{DEGREE}i")
_BITS = 8 * _WORDS.size
_LOW = (1 << _BITS) - 1
# 2**31 in each place: added and then flipped, it makes coefficients of either sign into two's complement.
_SIGNS = _LOW // 0xFFFFFFFF << 31


class FalconFault(StrEnum):
    """Why a signature does not hold, in words."""

    KEY_LENGTH = "the public key is not 1793 bytes"
    KEY_HEADER = "the public key does not begin with 0x0a"
    KEY_RANGE = "the public key holds a coefficient beyond the modulus"
    LENGTH = "the signature is shorter or longer than any"
    HEADER = "the signature does not begin with 0x3a"
    INVALID_CODING = "the signature is no compressed polynomial"
    NORM = "the signature's vector is too long: another message, another key, or a changed signature"


class NotFalcon(ValueError):
    """A key, or a signature, is no encoding of one; the text is one of `FalconFault`."""


def fault_of(public_key: bytes, message: bytes, signature: bytes) -> FalconFault | None:
    """Return why a signature over a message does not hold, None where it does.

    Only the shortest coding is one: a signature that is padded with zeros, as the padded variant has it, is not one.

    Args:
        public_key: 1793 bytes, the first of them 0x0a.
        message: Any bytes; for an envelope the RFC 8785 form of its payload.
        signature: Header 0x3a, salt of 40 bytes, compressed second half of the vector.
    """
    try:
        key = key_number(public_key)
        salt, second = signature_parts(signature)
    except NotFalcon as fault:
        return FalconFault(str(fault))
    # A signature is the second half of a short vector. The first half follows from the key and
    # the message, and the whole vector must be short.
    length = sum(map(mul, second, second))
    # Also what keeps the product's coefficients in their places.
    if length > LENGTH_BOUND:
        return FalconFault.NORM
    product = multiply(second, key)
    # The first half of the vector, each coefficient between -6144 and 6144.
    first = [(c - p + _HALF) % MODULUS - _HALF for c, p in zip(hash_to_point(salt, message), product, strict=True)]
    return FalconFault.NORM if length + sum(map(mul, first, first)) > LENGTH_BOUND else None


def holds(public_key: bytes, message: bytes, signature: bytes) -> bool:
    """Return whether a signature over a message holds; see `fault_of`."""
    return fault_of(public_key, message, signature) is None


def public_polynomial(public_key: bytes) -> tuple[int, ...]:
    """Return the 1024 coefficients of a public key, 14 bits each.

    Raises:
        NotFalcon: It is not a public key.
    """
    if len(public_key) != PUBLIC_KEY_BYTES:
        raise NotFalcon(FalconFault.KEY_LENGTH)
    if public_key[0] != KEY_HEADER:
        raise NotFalcon(FalconFault.KEY_HEADER)
    coefficients: list[int] = []
    for start in range(1, PUBLIC_KEY_BYTES, 7):
        four = int.from_bytes(public_key[start : start + 7], "big")
        coefficients += (four >> 42, four >> 28 & 0x3FFF, four >> 14 & 0x3FFF, four & 0x3FFF)
    if max(coefficients) >= MODULUS:
        raise NotFalcon(FalconFault.KEY_RANGE)
    return tuple(coefficients)


def signature_parts(signature: bytes) -> tuple[bytes, list[int]]:
    """Return the salt of a signature and the second half of its vector.

    Raises:
        NotFalcon: It is not a signature.
    """
    if not 1 + SALT_BYTES < len(signature) <= MAX_SIGNATURE_BYTES:
        raise NotFalcon(FalconFault.LENGTH)
    if signature[0] != SIGNATURE_HEADER:
        raise NotFalcon(FalconFault.HEADER)
    return signature[1 : 1 + SALT_BYTES], _decompress(signature[1 + SALT_BYTES :])


def _decompress(encoding: bytes) -> list[int]:
    """Return the coefficients of a compressed polynomial: sign, seven low bits, and the rest in unary.

    Raises:
        NotFalcon: It ends too early or too late, or codes a value in a way that is not its own.
    """
    bits = f"{int.from_bytes(encoding, 'big'):0{8 * len(encoding)}b}"
    coefficients = _COEFFICIENT.findall(bits)
    # What is left of the last byte is zeros; a search that skipped a bit shows here too.
    whole = "".join(coefficients)
    # A signature must have one encoding only. Otherwise anyone could change the bytes of a
    # signature without breaking it.
    if len(coefficients) != DEGREE or len(bits) - len(whole) >= 8 or whole.ljust(len(bits), "0") != bits:
        raise NotFalcon(FalconFault.INVALID_CODING)
    try:
        return [_VALUES[one] for one in coefficients]
    except KeyError:
        raise NotFalcon(FalconFault.INVALID_CODING) from None


def hash_to_point(salt: bytes, message: bytes) -> list[int]:
    """Return the 1024 coefficients that a salted message stands for: samples of SHAKE256 but for those too large."""
    # About 6 % of the samples are rejected, so 2400 bytes nearly always suffice for 1024 of
    # them.
    byte_count = 2_400
    while True:
        stream = struct.unpack(f">{byte_count // 2}H", hashlib.shake_256(salt + message).digest(byte_count))
        coefficients = [sample % MODULUS for sample in stream if sample < _SAMPLES_BELOW][:DEGREE]
        if len(coefficients) == DEGREE:
            return coefficients
        byte_count *= 2


# Keys repeat: the same issuers sign many credentials of a run.
@lru_cache(maxsize=64)
def key_number(public_key: bytes) -> int:
    """Return a public key's polynomial as a number: its value at 2**32, its coefficients between -6144 and 6144.

    Raises:
        NotFalcon: It is not a public key.
    """
    return _number([(value + _HALF) % MODULUS - _HALF for value in public_polynomial(public_key)])


def multiply(short: Sequence[int], key: int) -> tuple[int, ...]:
    """Return the coefficients of a product modulo x**1024 + 1; they are not reduced modulo 12289.

    Both polynomials are evaluated at 2**32, multiplied as whole numbers and read back. No coefficient leaves its place
    of 32 bits: by Cauchy and Schwarz each is at most the product of the lengths of the two vectors, √70265242 at most
    and 6144 · √1024, which is less than 2**31.

    Args:
        short: 1024 coefficients whose squares are `LENGTH_BOUND` together at most.
        key: A key's number; see `key_number`.
    """
    product = _number(short) * key
    # x**1024 is -1, so 2**32768 is; the remainder takes back what the lower half borrowed from the upper.
    remainder = (product & _LOW) - (product >> _BITS)
    words = (remainder + _SIGNS) % (_LOW + 2) ^ _SIGNS
    return _WORDS.unpack(words.to_bytes(_WORDS.size, "little"))


def _number(coefficients: Sequence[int]) -> int:
    """Return the value of a polynomial at 2**32; its coefficients are of either sign."""
    return (int.from_bytes(_WORDS.pack(*coefficients), "little") ^ _SIGNS) - _SIGNS
