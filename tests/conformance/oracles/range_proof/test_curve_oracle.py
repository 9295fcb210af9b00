"""The suite's curve arithmetic, beside libsodium's and by the curve's own laws."""

from __future__ import annotations

import random

import pytest
from nacl import bindings

from conformance.oracles.range_proof import curve

SMALL = [
    (8, "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05"),
    (8, "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa"),
    (4, "00" * 32),
    (2, "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f"),
    (1, "01" + "00" * 31),
]


def test_multiples_are_those_of_libsodium() -> None:
    """Of the base point and of others, and their sums."""
    rng = random.Random(1)
    for _ in range(20):
        first_scalar, second_scalar = rng.randrange(1, curve.L), rng.randrange(1, curve.L)
        theirs = bindings.crypto_scalarmult_ed25519_base_noclamp(first_scalar.to_bytes(32, "little"))
        ours = curve.multiply(first_scalar, curve.BASE)
        assert curve.encode(ours) == theirs
        further = bindings.crypto_scalarmult_ed25519_noclamp(second_scalar.to_bytes(32, "little"), theirs)
        assert curve.encode(curve.multiply(second_scalar, ours)) == further
        assert curve.encode(curve.combine([second_scalar, 1], [ours, curve.BASE])) == bindings.crypto_core_ed25519_add(
            further, curve.encode(curve.BASE)
        )
        assert curve.is_same(curve.decode(further), curve.multiply(second_scalar, ours))


@pytest.mark.parametrize(("order", "text"), SMALL)
def test_points_of_small_order(order: int, text: str) -> None:
    """They decode, have their order, and are not of the subgroup; nor is a point that one was added to."""
    point = curve.decode(bytes.fromhex(text))
    orders = [n for n in (1, 2, 4, 8) if curve.is_same(curve.multiply(n, point), curve.NEUTRAL)]
    assert orders[0] == order
    assert not curve.is_in_subgroup(point)
    assert curve.is_in_subgroup(curve.add(curve.BASE, point)) == (order == 1)
    assert curve.is_in_subgroup(curve.BASE)


def test_doubling_and_adding_agree() -> None:
    """Also at the neutral point and for opposite ones: the law is complete."""
    for point in (curve.NEUTRAL, curve.BASE, *(curve.decode(bytes.fromhex(text)) for _, text in SMALL)):
        assert curve.is_same(curve.double(point), curve.add(point, point))
        assert curve.is_same(curve.add(point, curve.negate(point)), curve.NEUTRAL)


@pytest.mark.parametrize(
    "data",
    [
        *((curve.P + y).to_bytes(32, "little") for y in range(19)),
        *((2**255 + y).to_bytes(32, "little") for y in (1, curve.P - 1)),
        *(bytes(length) for length in (0, 31, 33)),
        (2).to_bytes(32, "little"),
        b"\xff" * 32,
    ],
)
def test_what_is_no_encoding(data: bytes) -> None:
    """A y beyond the prime, a sign of zero, another length, no such point."""
    with pytest.raises(curve.NoPoint):
        curve.decode(data)
