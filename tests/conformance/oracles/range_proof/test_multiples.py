"""Sums of multiples by tables are those by plain multiplication."""

from __future__ import annotations

import random

import pytest

from conformance.oracles.range_proof import curve
from conformance.oracles.range_proof.curve import L
from conformance.oracles.range_proof.multiples import BASE, combine_generators
from conformance.oracles.range_proof.system import LEFTS, RIGHTS, generator

# Few and many: digits of four bits and of eight.
NAMES = ((BASE, "H"), (BASE, "H", "U", *LEFTS[:20], *RIGHTS[:20]))
EDGES = (
    *(0, 1, -1, 7, 8, -8, 127, 128, 129, -128, -129, 2**64 - 1, 2**255, -(2**300)),
    *(L // 2, L // 2 + 1, L - 1, L, 2 * L + 5),
    *(int("80" * 31, 16), int("7f" * 31, 16), int("8" * 62, 16), int("7" * 62, 16)),
)


def _plainly(terms: dict[str, int]) -> curve.Point:
    points = {name: curve.BASE if name == BASE else generator(name) for name in terms}
    return curve.total([curve.multiply(scalar % L, points[name]) for name, scalar in terms.items()])


@pytest.mark.parametrize("names", NAMES, ids=["few", "many"])
def test_random_scalars(names: tuple[str, ...]) -> None:
    rng = random.Random(16)
    for _ in range(3):
        terms = {name: rng.randrange(L) for name in names}
        assert curve.encode(combine_generators(terms)) == curve.encode(_plainly(terms))


@pytest.mark.parametrize("names", NAMES, ids=["few", "many"])
@pytest.mark.parametrize("scalar", EDGES)
def test_scalars_at_the_edges_of_digits(names: tuple[str, ...], scalar: int) -> None:
    terms = dict.fromkeys(names, scalar)
    assert curve.encode(combine_generators(terms)) == curve.encode(_plainly(terms))


def test_no_terms_are_nothing() -> None:
    assert curve.is_same(combine_generators({}), curve.NEUTRAL)
