"""The Falcon oracle's short ways give what the specification's plain ones give: the coding, and the product."""

from __future__ import annotations

import random
from operator import mul

import pytest

from conformance.oracles import falcon, falcon_making

HEAD = bytes((falcon.SIGNATURE_HEADER,)) + bytes(falcon.SALT_BYTES)
# The longest vectors that are within the bound: one large coefficient, a few, all alike.
SHORT = [[2047, *[0] * 1023], [0] * 1023 + [-2047], [2047] * 16 + [0] * 1008, [261] * 1024, [261, -261] * 512]
KEYS = [[6144] * 1024, [6145] * 1024, [6144, 6145] * 512, [0] * 1024, [12288] * 1024, [0] * 1023 + [6145]]


def decompress(signature_coding: bytes) -> list[int] | None:
    """Return the coefficients of a compressed polynomial, read bit by bit (Falcon 1.2, algorithm 18), or None."""
    bits = iter("".join(f"{byte:08b}" for byte in signature_coding))
    values = []
    try:
        for _ in range(falcon.DEGREE):
            sign, low = next(bits), int("".join(next(bits) for _ in range(7)), 2)
            high = 0
            while next(bits) == "0":
                high += 1
            value = low + 128 * high
            if high > 15 or (sign == "1" and value == 0):
                return None
            values.append(-value if sign == "1" else value)
    except (StopIteration, RuntimeError):
        return None
    bits_left = "".join(bits)
    return None if "1" in bits_left or len(bits_left) >= 8 else values


def coded_by_oracle(signature_coding: bytes) -> list[int] | None:
    """Return what the oracle reads, None where it refuses the coding."""
    try:
        return falcon.signature_parts(HEAD + signature_coding)[1]
    except falcon.NotFalcon as fault:
        if str(fault) != falcon.FalconFault.INVALID_CODING:
            raise
        return None


def product(first_polynomial: list[int], second_polynomial: list[int]) -> list[int]:
    """Return the product of two polynomials modulo x**1024 + 1, term by term."""
    coefficients = []
    # The coefficients of `other` by which those of `one` are multiplied for the first coefficient of the product.
    reversed_polynomial = [second_polynomial[0], *(-value for value in reversed(second_polynomial[1:]))]
    for _ in range(falcon.DEGREE):
        coefficients.append(sum(map(mul, first_polynomial, reversed_polynomial)))
        reversed_polynomial = [-reversed_polynomial[-1], *reversed_polynomial[:-1]]
    return coefficients


def center(values: list[int]) -> list[int]:
    return [value - falcon.MODULUS if value > falcon.MODULUS // 2 else value for value in values]


def draw_vector(rng: random.Random, spread: float = 168.0) -> list[int]:
    """Return the half of a vector as a signer draws it."""
    return [round(rng.gauss(0, spread)) for _ in range(falcon.DEGREE)]


def test_a_coding_is_read_as_bit_by_bit() -> None:
    """Of any spread, with bits turned, bytes taken out, put in and added: the same values, or none."""
    rng, read = random.Random(18), 0
    for changes in [0, 1, 1, 2, 3] * 40:
        values = draw_vector(rng, rng.choice([1, 40, 168]))
        signature_coding = bytearray(falcon_making.compress(values))
        for _ in range(changes):
            change(signature_coding, rng)
        values_read = coded_by_oracle(bytes(signature_coding[: falcon.MAX_SIGNATURE_BYTES - len(HEAD)]))
        assert values_read == decompress(bytes(signature_coding[: falcon.MAX_SIGNATURE_BYTES - len(HEAD)]))
        assert changes or values_read == values
        read += values_read is not None
    assert 60 < read < 140


def change(signature_coding: bytearray, rng: random.Random) -> None:
    """Turn a bit, or take out, put in or add a byte."""
    place, byte = rng.randrange(len(signature_coding)), rng.choice([0, 0x80, rng.randrange(256)])
    match rng.randrange(5):
        case 0:
            signature_coding[place] ^= 1 << rng.randrange(8)
        case 1:
            signature_coding[-1] ^= 1 << rng.randrange(8)
        case 2:
            del signature_coding[place]
        case 3:
            signature_coding.insert(place, byte)
        case _:
            signature_coding.append(byte)


@pytest.mark.parametrize("bits", ["0", "1", "00000000" * 3, "1000000000000000", "100000001" * 1024, "000000001" * 1025])
def test_codings_at_the_edges(bits: str) -> None:
    """No more than zeros, signs of zero, one coefficient too many, and the shortest and largest there are."""
    signature_coding = int(bits.ljust(-(-len(bits) // 8) * 8, "0"), 2).to_bytes(-(-len(bits) // 8), "big")
    assert coded_by_oracle(signature_coding) is decompress(signature_coding) is None
    for value in (0, 127, 128, -128):
        whole = falcon_making.compress([value] * 1024)
        assert coded_by_oracle(whole) == decompress(whole) == [value] * 1024
    for value, expected_values in ((2047, [2047, *[0] * 1023]), (2048, None)):
        one = falcon_making.compress([value, *[0] * 1023])
        assert coded_by_oracle(one) == decompress(one) == expected_values


@pytest.mark.parametrize("short", SHORT)
@pytest.mark.parametrize("key", KEYS)
def test_a_product_is_the_one_term_by_term(short: list[int], key: list[int]) -> None:
    """As large as any can be, of one sign and of both."""
    assert sum(map(mul, short, short)) <= falcon.LENGTH_BOUND
    number = falcon.key_number(falcon_making.public_key_of(key))
    assert list(falcon.multiply(short, number)) == product(short, center(key))


@pytest.mark.parametrize("seed", range(4))
def test_a_product_of_what_a_signer_draws(seed: int) -> None:
    """And the largest coefficient that a product can have: the vector is the key's own, turned round."""
    rng = random.Random(seed)
    short, key = draw_vector(rng), [rng.randrange(falcon.MODULUS) for _ in range(falcon.DEGREE)]
    number = falcon.key_number(falcon_making.public_key_of(key))
    assert list(falcon.multiply(short, number)) == product(short, center(key))
    signs = [rng.choice([-1, 1]) for _ in range(falcon.DEGREE)]
    rotated_signs = [261 * signs[0], *(-261 * sign for sign in reversed(signs[1:]))]
    number = falcon.key_number(falcon_making.public_key_of([6144 * sign % falcon.MODULUS for sign in signs]))
    largest = falcon.multiply(rotated_signs, number)
    assert largest[0] == 261 * 6144 * 1024 < 2**31
    assert list(largest) == product(rotated_signs, [6144 * sign for sign in signs])
