"""Forgeries that live on one thing left out: built, refused, and taken by the mutant that leaves it out."""

from __future__ import annotations

import random
from functools import cache
from typing import Any

import pytest

from conformance.oracles.range_proof.making import TWISTED, Forgery, commitment_text, proof_of, secret
from reference.mutants import zk_receipts
from reference.mutants.catalog import CATALOG
from reference.protocol.range_proof import group, verifying
from reference.protocol.range_proof import proof as proof_reading
from tests.reference.protocol.range_proof.receipts import PAYMENT, refused

FORGERIES = {
    Forgery.W: ("no-w", "inner_product"),
    Forgery.POLYNOMIAL: ("no-polynomial", "polynomial"),
    Forgery.INNER_PRODUCT: ("no-inner-product", "inner_product"),
    Forgery.SUBGROUP: ("no-subgroup", "commitment"),
    Forgery.POINTS: ("no-subgroup-of-points", "point S"),
}
SEAMS: list[tuple[Any, str]] = [
    *((verifying, name) for name in ("polynomial_holds", "inner_product_holds")),
    *((group, name) for name in ("is_element", "times")),
    (proof_reading, "_point"),
]
# What lives without w is wrong about the inner product: whoever does not look at that takes it too.
PASSING_TOO = {Forgery.INNER_PRODUCT: {Forgery.W}, Forgery.SUBGROUP: {Forgery.POINTS}}


@cache
def forged(forgery: Forgery) -> tuple[dict[str, Any], bytes]:
    """Return a payload whose score of 3 is below its threshold of 900, and a proof; of 950 where a point is wrong."""
    rng = random.Random(f"{forgery}")
    held = secret(950 if forgery in TWISTED else 3, rng, forgery)
    payload = {**PAYMENT, "commitment_b64": commitment_text(held), "threshold_milliunits": 900}
    return payload, proof_of(payload, held, rng, forgery)


@pytest.mark.parametrize("forgery", Forgery)
def test_a_forgery_is_refused_by_what_it_lives_on(forgery: Forgery, monkeypatch: pytest.MonkeyPatch) -> None:
    """At the stage that is about it; and by nothing else, for without that it passes."""
    mutant, stage = FORGERIES[forgery]
    payload, proof = forged(forgery)
    assert refused(payload, proof) == stage
    for owner, name in SEAMS:
        monkeypatch.setattr(owner, name, getattr(owner, name))  # the mutant's change ends with the test
    CATALOG[f"zk-receipt-{mutant}"].apply()
    assert refused(payload, proof) is None
    passing = {other for other in Forgery if refused(*forged(other)) is None}
    assert passing == {forgery} | PASSING_TOO.get(forgery, set())


def test_every_mutant_has_its_forgery() -> None:
    """One each."""
    ids = {f"zk-receipt-{name}" for name, _ in FORGERIES.values()}
    assert {mutant.id for mutant in zk_receipts.MUTANTS} == ids


def test_an_honest_proof_of_the_suite_holds() -> None:
    """The maker of the forgeries can make a proof: what is refused is what was forged."""
    rng = random.Random(9)
    held = secret(901, rng)
    payload = {**PAYMENT, "commitment_b64": commitment_text(held), "threshold_milliunits": 900}
    assert refused(payload, proof_of(payload, held, rng)) is None
