"""The suite's reading of range proofs and the reference's agree: on every proof, and on malformed ones."""

from __future__ import annotations

import base64
import os
import random
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from conformance.oracles.range_proof import curve
from conformance.oracles.range_proof.making import POINT_FORGERIES, Forgery, commitment_text, proof_of, secret
from conformance.oracles.range_proof.system import LAYOUT, POINTS, generator, vectors
from conformance.oracles.range_proof.verifying import Refusal, refusal_of
from reference.protocol.range_proof import NONCE_BYTES, Nonces, Opening, Statement, commit, edwards_group, prove
from reference.protocol.range_proof.generators import generators
from tests.reference.protocol.range_proof.receipts import PAYMENT, element_of, find_refusal, place_element, proven

SMALL = [curve.decode(bytes.fromhex("26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05"))]
Alteration = Callable[[random.Random, bytes], bytes]
Restatement = Callable[[random.Random, dict[str, Any]], dict[str, Any]]
PARTS = 20


def seed_of_today() -> int:
    """Return a seed that is another one tomorrow, or the one that the environment names."""
    return int(os.environ.get("WELDPROOF_ORACLE_SEED", time.strftime("%Y%j")))


def _bit(rng: random.Random, proof: bytes) -> bytes:
    at = rng.randrange(len(proof) * 8)
    return proof[: at // 8] + bytes([proof[at // 8] ^ 1 << at % 8]) + proof[at // 8 + 1 :]


def _swap(rng: random.Random, proof: bytes) -> bytes:
    first_name, second_name = rng.sample(sorted(POINTS) if rng.random() < 0.7 else LAYOUT, 2)
    return place_element(
        place_element(proof, first_name, element_of(proof, second_name)), second_name, element_of(proof, first_name)
    )


def _other_proof(rng: random.Random, point: bytes) -> bytes:
    """Return another element, one outside of the subgroup, one of small order, one that is not canonical, or noise."""
    point_here = curve.decode(point)
    other_points = [
        curve.encode(curve.add(point_here, curve.BASE)),
        curve.encode(curve.add(point_here, curve.multiply(rng.randrange(1, 8), SMALL[0]))),
        curve.encode(curve.multiply(rng.randrange(8), SMALL[0])),
        (curve.P + rng.randrange(19)).to_bytes(32, "little"),
        rng.randbytes(32),
    ]
    return rng.choice(other_points)


def _point(rng: random.Random, proof: bytes) -> bytes:
    name = rng.choice(sorted(POINTS))
    return place_element(proof, name, _other_proof(rng, element_of(proof, name)))


def _scalar(rng: random.Random, proof: bytes) -> bytes:
    name = rng.choice([one for one in LAYOUT if one not in POINTS])
    scalar_here = int.from_bytes(element_of(proof, name), "little")
    other_scalars = [
        scalar_here + curve.L,
        (scalar_here + 1) % curve.L,
        -scalar_here % curve.L,
        0,
        curve.L,
        rng.randrange(2**256),
    ]
    return place_element(proof, name, rng.choice(other_scalars).to_bytes(32, "little"))


def _length(rng: random.Random, proof: bytes) -> bytes:
    return proof[: rng.randrange(len(proof))] if rng.random() < 0.5 else proof + bytes(rng.randrange(1, 33))


ALTERATIONS: list[Alteration] = [_bit, _swap, _point, _scalar, _length]


def _commitment(rng: random.Random, payload: dict[str, Any]) -> dict[str, Any]:
    other_point = _other_proof(rng, base64.b64decode(payload["commitment_b64"]))
    return {**payload, "commitment_b64": base64.b64encode(other_point).decode()}


def _threshold(rng: random.Random, payload: dict[str, Any]) -> dict[str, Any]:
    return {**payload, "threshold_milliunits": (payload["threshold_milliunits"] + rng.randint(1, 1000)) % 1001}


def _payment(rng: random.Random, payload: dict[str, Any]) -> dict[str, Any]:
    return {**payload, rng.choice(("payment_id", "tx_id", "bench_issuer")): rng.randbytes(8).hex()}


RESTATEMENTS: list[Restatement] = [_commitment, _threshold, _payment]


def alter_proof(rng: random.Random, payload: dict[str, Any], proof: bytes) -> tuple[dict[str, Any], bytes]:
    """Return a statement and a proof of which one is another: the proof six times of seven."""
    if rng.randrange(7) == 0:
        return rng.choice(RESTATEMENTS)(rng, payload), proof
    return payload, rng.choices(ALTERATIONS, [3, 3, 3, 3, 1])[0](rng, proof)


def compare(rng: random.Random, proofs: int, alterations: int) -> Counter[str]:
    """Let both judge that many random proofs, by either maker, and altered ones; return how often each stage refused.

    An alteration that changed nothing, such as a swap of equal elements, is under the empty name.
    """
    outcomes: Counter[str] = Counter()
    for number in range(proofs):
        score = rng.randint(0, 1000)
        threshold = rng.choice([0, score, rng.randint(0, score)])
        payload, proof = by_the_suite(score, threshold, rng) if number % 4 == 0 else proven(score, threshold, rng)
        assert (refusal_of(payload, proof), find_refusal(payload, proof)) == (None, None), (score, threshold)
        share = alterations * (number + 1) // proofs - alterations * number // proofs
        for _ in range(share):
            statement, altered_proof = alter_proof(rng, payload, proof)
            mine, theirs = refusal_of(statement, altered_proof), find_refusal(statement, altered_proof)
            first_word = None if theirs is None else theirs.partition(" ")[0]
            assert (None if mine is None else mine.value) == first_word, (statement, altered_proof.hex())
            assert (first_word is None) == ((statement, altered_proof) == (payload, proof))
            outcomes[first_word or ""] += 1
    return outcomes


def by_the_suite(score: int, threshold: int, rng: random.Random) -> tuple[dict[str, Any], bytes]:
    """Return a payload and a proof that the suite made."""
    held_secret = secret(score, rng)
    payload = {**PAYMENT, "commitment_b64": commitment_text(held_secret), "threshold_milliunits": threshold}
    return payload, proof_of(payload, held_secret, rng)


def test_a_rotating_part_is_judged_alike() -> None:
    """Four proofs and forty altered ones of today's seed: the same verdict, the same stage."""
    assert compare(random.Random(seed_of_today()), 4, 40).total() == 40


@pytest.mark.oracle_long
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("part", range(PARTS))
def test_a_thousand_proofs_and_ten_thousand_altered_ones_are_judged_alike(part: int) -> None:
    """1,000 random proofs and 10,000 altered ones in all; every stage but that of a zero challenge."""
    rng = random.Random(f"{os.environ.get('WELDPROOF_ORACLE_SEED', '1')} {part}")
    outcomes = compare(rng, 1000 // PARTS, 10_000 // PARTS)
    counts = f"{1000 // PARTS} proofs, {outcomes.total()} altered, refused at {dict(outcomes)}"
    print(f"\npart {part + 1} of {PARTS}: {counts}")  # noqa: T201 - progress of a long run
    stages = {"length", "commitment", "point", "scalar", "polynomial", "inner_product"}
    assert set(outcomes) - {""} == stages


def test_generators_are_derived_alike() -> None:
    """All 130."""
    known_generators = generators()
    lefts, rights = vectors()
    assert [curve.encode(point) for point in lefts] == list(known_generators.left)
    assert [curve.encode(point) for point in rights] == list(known_generators.right)
    assert (curve.encode(generator("H")), curve.encode(generator("U"))) == (
        known_generators.blinding,
        known_generators.product,
    )


@pytest.mark.parametrize("forgery", Forgery)
def test_forgeries_are_refused_alike(forgery: Forgery) -> None:
    """By both, at the same stage."""
    rng = random.Random(f"{forgery}")
    held_secret = secret(912 if forgery in POINT_FORGERIES else 3, rng, forgery)
    payload = {**PAYMENT, "commitment_b64": commitment_text(held_secret), "threshold_milliunits": 700}
    proof = proof_of(payload, held_secret, rng, forgery)
    mine = refusal_of(payload, proof)
    assert mine is not None
    assert str(find_refusal(payload, proof)).partition(" ")[0] == mine.value


VOID: dict[str, dict[str, Any]] = {
    "point S": {"rho": 0, "left": [0] * 64, "right": [0] * 64, "tau_2": 5},
    "point T2": {"left": [0] * 64, "right": [0] * 64, "tau_2": 0},
    "commitment": {"blinding": 0},
}


@pytest.mark.parametrize("element_name", VOID)
def test_an_identity_is_all_that_is_wrong(element_name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A prover who draws zeros makes a proof whose equations hold; both refuse it for the identity in it."""
    nonces = replace(Nonces.of(random.Random(6).randbytes(NONCE_BYTES)), **VOID[element_name])
    commitment = base64.b64encode(commit(Opening(0, nonces.blinding))).decode()
    payload = {**PAYMENT, "commitment_b64": commitment, "threshold_milliunits": 0}
    proof = prove(Statement.of(payload), 0, nonces)
    mine = refusal_of(payload, proof)
    assert (None if mine is None else mine.value, find_refusal(payload, proof)) == (
        element_name.partition(" ")[0],
        element_name,
    )
    is_element = edwards_group.is_element
    monkeypatch.setattr(edwards_group, "is_element", lambda point: point == edwards_group.IDENTITY or is_element(point))
    assert find_refusal(payload, proof) is None


def test_a_reference_that_takes_too_much_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The control: without canonical scalars the two disagree."""
    monkeypatch.setattr(edwards_group, "scalar_of", lambda data: int.from_bytes(data, "little") % edwards_group.ORDER)
    monkeypatch.setattr(f"{__name__}.ALTERATIONS", [_scalar] * 5)
    with pytest.raises(AssertionError):
        compare(random.Random(3), 1, 30)


@pytest.mark.parametrize("change", [{"commitment_b64": "*"}, {"commitment_b64": "AAAA"}])
def test_a_payload_without_a_commitment_is_no_statement(change: dict[str, Any]) -> None:
    """Nothing is said about its proof."""
    payload, proof = proven(5, 5, random.Random(4))
    with pytest.raises(ValueError, match="commitment"):
        refusal_of({**payload, **change}, proof)


@pytest.mark.parametrize("name", sorted(set(LAYOUT) - POINTS))
def test_a_scalar_of_the_group_s_order_is_refused_as_one(name: str) -> None:
    """The order itself is the lowest number that is not reduced; one less is judged by the equations."""
    payload, proof = proven(5, 5, random.Random(4))
    order, below = (place_element(proof, name, number.to_bytes(32, "little")) for number in (curve.L, curve.L - 1))
    assert refusal_of(payload, order) is Refusal.SCALAR
    assert refusal_of(payload, below) in {Refusal.POLYNOMIAL, Refusal.INNER_PRODUCT}
