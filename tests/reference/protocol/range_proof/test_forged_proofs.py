"""Forgeries that live on one thing left out: built, refused, and taken by the mutant that leaves it out."""

from __future__ import annotations

import random
from functools import cache
from typing import Any

import pytest

from conformance.oracles.range_proof.making import POINT_FORGERIES, Forgery, commitment_text, proof_of, secret
from reference.variants.mutants.edit_mutants import load_mutants
from tests.reference.edited_modules import import_mutated
from tests.reference.protocol.range_proof.receipts import PAYMENT, find_refusal

FORGERIES = {
    Forgery.W: ("no-w", "inner_product"),
    Forgery.POLYNOMIAL: ("no-polynomial", "polynomial"),
    Forgery.INNER_PRODUCT: ("no-inner-product", "inner_product"),
    Forgery.SUBGROUP: ("no-subgroup-of-commitment", "commitment"),
    Forgery.SUBGROUP_OTHER_SIDE: ("no-subgroup-moved", "commitment"),
    Forgery.POINTS: ("no-subgroup-of-s", "point S"),
    Forgery.VALUES: ("no-subgroup-of-values", "point T1"),
    Forgery.ROUNDS: ("no-subgroup-of-rounds", "point L_"),
}
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
def forge_proof(forgery: Forgery) -> tuple[dict[str, Any], bytes]:
    """Return a payload whose score of 3 is below its threshold of 900, and a proof; of 950 where a point is wrong."""
    rng = random.Random(f"{forgery}")
    secret_numbers = secret(950 if forgery in POINT_FORGERIES else 3, rng, forgery)
    payload = {**PAYMENT, "commitment_b64": commitment_text(secret_numbers), "threshold_milliunits": 900}
    return payload, proof_of(payload, secret_numbers, rng, forgery)


def list_passing(mutant: str) -> set[Forgery]:
    """Return the forgeries that a mutant accepts."""
    verifier = import_mutated(f"zk-receipt-{mutant}", "reference.protocol.range_proof")
    return {forgery for forgery in Forgery if find_refusal(*forge_proof(forgery), verifier) is None}


@pytest.mark.parametrize("forgery", Forgery)
def test_a_forgery_is_refused_by_what_it_lives_on(forgery: Forgery) -> None:
    """At the stage that is about it; and by nothing else, for without that it passes."""
    mutant, stage = FORGERIES[forgery]
    payload, proof = forge_proof(forgery)
    assert str(find_refusal(payload, proof)).startswith(stage)
    assert list_passing(mutant) == {forgery} | PASSING_TOO.get(forgery, set())


@pytest.mark.parametrize("mutant", WIDER)
def test_a_wider_hole_lets_more_pass(mutant: str) -> None:
    """Without any subgroup check, or without that of a proof's points."""
    assert list_passing(mutant) == WIDER[mutant]


def test_every_mutant_has_its_forgery() -> None:
    """One each, and wider ones several."""
    ids = {f"zk-receipt-{name}" for name in ({one for one, _ in FORGERIES.values()} | WIDER.keys() | SPOILT)}
    in_verifier = {
        mutant.id
        for mutant in load_mutants()
        if any(edit.file.startswith("reference/protocol/range_proof/") for edit in mutant.edits)
    }
    assert in_verifier | {"zk-receipt-unsigned"} == ids
    assert len(FORGERIES) == len(Forgery)


def test_an_honest_proof_of_the_suite_holds() -> None:
    """The maker of the forgeries can make a proof: what is refused is what was forged."""
    rng = random.Random(9)
    secret_numbers = secret(901, rng)
    payload = {**PAYMENT, "commitment_b64": commitment_text(secret_numbers), "threshold_milliunits": 900}
    assert find_refusal(payload, proof_of(payload, secret_numbers, rng)) is None
