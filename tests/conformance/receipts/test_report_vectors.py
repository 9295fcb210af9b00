"""The vectors of whole reports: each is valid or not as it says, and a report can be read."""

from __future__ import annotations

import random

from conformance.oracles.receipts import LONGEST, examine
from conformance.receipts.live_mutations import Material, keys
from conformance.receipts.report_vectors import vectors

MATERIAL = Material.of(None, None, random.Random(7))


def test_the_suites_verifier_says_what_each_vector_expects() -> None:
    """No vector is wrong in nothing, and no true one is refused."""
    for vector in vectors(MATERIAL):
        chosen_keys = keys(MATERIAL.third[0]) if vector.jwks is None else vector.jwks
        examination = examine(vector.jws, chosen_keys, expected_payment_hash=vector.expected_payment_hash)
        assert examination.is_verified is vector.valid, (vector.name, examination.fault)


def test_names_are_distinct() -> None:
    """A reader of a report finds the receipt by its name."""
    names = [vector.name for vector in vectors(MATERIAL)]
    assert len(set(names)) == len(names)


def test_the_longest_receipt_is_among_them() -> None:
    """One receipt has the most characters, and one has one more."""
    lengths = {len(vector.jws) for vector in vectors(MATERIAL) if isinstance(vector.jws, str)}
    assert {LONGEST, LONGEST + 1} <= lengths
