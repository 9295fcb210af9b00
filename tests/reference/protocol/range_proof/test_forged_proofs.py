"""Forgeries that live on one thing left out: built, refused, and taken by the mutant that leaves it out."""

from __future__ import annotations

import random
from functools import cache
from typing import Any

import pytest

from conformance.oracles.range_proof.making import TWISTED, Forgery, commitment_text, proof_of, secret
from reference.protocol import zk_receipts as protocol
from reference.protocol.range_proof import group, verifying
from reference.protocol.range_proof import proof as proof_reading
from reference.protocol.range_proof.transcript import Transcript
from reference.variants.mutants import zk_receipts
from reference.variants.mutants.catalog import CATALOG
from tests.reference.protocol.range_proof.receipts import PAYMENT, refused

FORGERIES = {
    Forgery.W: ("no-w", "inner_product"),
    Forgery.POLYNOMIAL: ("no-polynomial", "polynomial"),
    Forgery.INNER_PRODUCT: ("no-inner-product", "inner_product"),
    Forgery.SUBGROUP: ("no-subgroup-of-commitment", "commitment"),
    Forgery.MOVED: ("no-subgroup-moved", "commitment"),
    Forgery.POINTS: ("no-subgroup-of-s", "point S"),
    Forgery.VALUES: ("no-subgroup-of-values", "point T1"),
    Forgery.ROUNDS: ("no-subgroup-of-rounds", "point L_"),
}
SEAMS: list[tuple[Any, str]] = [
    *((verifying, name) for name in ("polynomial_holds", "inner_product_holds")),
    *((group, name) for name in ("is_element", "times", "total", "scalar_of")),
    *((protocol, name) for name in ("check", "signature_faults")),
    (proof_reading, "_point"),
    (Transcript, "add"),
]
# A proof that passes without w has a wrong inner product: a verifier that does not check that accepts it, too.
PASSING_TOO = {Forgery.INNER_PRODUCT: {Forgery.W}}
# Mutants that leave out a check of several points take each forgery that lives on one of them.
WIDER = {
    "no-subgroup": {Forgery.SUBGROUP, Forgery.POINTS, Forgery.VALUES, Forgery.ROUNDS},
    "no-subgroup-of-points": {Forgery.POINTS, Forgery.VALUES, Forgery.ROUNDS},
    "old-libsodium": {Forgery.VALUES, Forgery.ROUNDS},
}
# Mutants that live on a receipt which an honest one was turned into; see `test_spoiled_receipts.py`.
SPOILT = {"no-payload", "reduced-scalars", "any-length", "remembered-proofs", "unsigned"}


@cache
def forged(forgery: Forgery) -> tuple[dict[str, Any], bytes]:
    """Return a payload whose score of 3 is below its threshold of 900, and a proof; of 950 where a point is wrong."""
    rng = random.Random(f"{forgery}")
    held = secret(950 if forgery in TWISTED else 3, rng, forgery)
    payload = {**PAYMENT, "commitment_b64": commitment_text(held), "threshold_milliunits": 900}
    return payload, proof_of(payload, held, rng, forgery)


@pytest.fixture
def seams(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a mutant changes ends with the test."""
    for owner, name in SEAMS:
        monkeypatch.setattr(owner, name, getattr(owner, name))


@pytest.mark.usefixtures("seams")
@pytest.mark.parametrize("forgery", Forgery)
def test_a_forgery_is_refused_by_what_it_lives_on(forgery: Forgery) -> None:
    """At the stage that is about it; and by nothing else, for without that it passes."""
    mutant, stage = FORGERIES[forgery]
    payload, proof = forged(forgery)
    assert str(refused(payload, proof)).startswith(stage)
    CATALOG[f"zk-receipt-{mutant}"].apply()
    assert refused(payload, proof) is None
    passing = {other for other in Forgery if refused(*forged(other)) is None}
    assert passing == {forgery} | PASSING_TOO.get(forgery, set())


@pytest.mark.usefixtures("seams")
@pytest.mark.parametrize("mutant", WIDER)
def test_a_wider_hole_lets_more_pass(mutant: str) -> None:
    """Without any subgroup check, or without that of a proof's points."""
    CATALOG[f"zk-receipt-{mutant}"].apply()
    assert {one for one in Forgery if refused(*forged(one)) is None} == WIDER[mutant]


def test_every_mutant_has_its_forgery() -> None:
    """One each, and wider ones several."""
    ids = {f"zk-receipt-{name}" for name in ({one for one, _ in FORGERIES.values()} | WIDER.keys() | SPOILT)}
    assert {mutant.id for mutant in zk_receipts.MUTANTS} == ids
    assert len(FORGERIES) == len(Forgery)


def test_an_honest_proof_of_the_suite_holds() -> None:
    """The maker of the forgeries can make a proof: what is refused is what was forged."""
    rng = random.Random(9)
    held = secret(901, rng)
    payload = {**PAYMENT, "commitment_b64": commitment_text(held), "threshold_milliunits": 900}
    assert refused(payload, proof_of(payload, held, rng)) is None
