"""The vectors of ZK receipts: judged by the reference; of each element of a proof there is one where it is wrong."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from Crypto.Signature import eddsa

from conformance import vectors
from conformance.oracles.credentials import judging
from conformance.oracles.range_proof import curve, system, verifying
from conformance.oracles.range_proof.system import LAYOUT, POINTS
from conformance.oracles.range_proof.verifying import Refusal
from conformance.vectors.judges.zk_receipts import judge
from reference.addons.falcon_library import find_library
from reference.protocol.credentials import Question
from reference.protocol.issuer_key_documents import keys_of_trust_set
from reference.protocol.zk_receipts import judge_receipt
from tools.vectors_builder.family import BuildFault
from tools.vectors_builder.zk_receipts import FAMILY, bulletproof_verifier, making
from tools.vectors_builder.zk_receipts.second_opinion import complaints

FOLDER = Path(vectors.__file__).parent / FAMILY.name
ALL_VECTORS = [one for path in sorted(FOLDER.glob("*.json")) for one in json.loads(path.read_text("ascii"))["vectors"]]
DRAFTS = {draft.name: draft for draft in FAMILY.drafts()}
LIBRARY = find_library()


def payload_of(vector: Mapping[str, Any]) -> dict[str, Any]:
    """Return the payload of a vector's receipt, one that can be read."""
    stages: dict[str, Any] = json.loads(base64.urlsafe_b64decode(vector["input"]["receipt"] + "=="))["payload"]
    return stages


def of_kind(*prefixes: str) -> list[dict[str, Any]]:
    """Return the vectors whose id begins so, after the family's prefix."""
    return [vector for vector in ALL_VECTORS if vector["id"].removeprefix("zk/").startswith(prefixes)]


def test_the_reference_says_the_same() -> None:
    """Reason, stage of the proof's refusal and content hash: by libsodium, and no code of the suite's."""
    for vector in ALL_VECTORS:
        vector_input, expected_verdict = vector["input"], vector["expected"]
        question, keys = Question(vector_input["now"], 60), keys_of_trust_set(vector_input["keys"])
        stages = judge_receipt(vector_input["receipt"], question, keys, LIBRARY, own_keys=[])
        assert expected_verdict["stage"] == stages.judgement.reason, vector["id"]
        if stages.refusal is not None:
            assert expected_verdict["codes"] == [stages.refusal.stage.value], vector["id"]
        if stages.judgement.valid:
            assert expected_verdict["values"] == {"content_hash": stages.judgement.content_hash}, vector["id"]


def test_every_stage_of_a_proof_is_reached() -> None:
    """But for a challenge of zero, which cannot be made."""
    codes = {vector["expected"]["codes"][0] for vector in ALL_VECTORS if vector["expected"]["stage"] == "proof_invalid"}
    assert set(Refusal) - {Refusal.CHALLENGE} == codes


def list_altered_elements(vector: Mapping[str, Any]) -> list[str]:
    """Return which elements of a vector's proof are others than those of the usual one; none where lengths differ."""
    usual, proof = making.proof_bytes(making.proven()), making.proof_bytes(payload_of(vector))
    if len(proof) != len(usual):
        return []
    return [name for name in LAYOUT if making.element(proof, name) != making.element(usual, name)]


def test_each_of_the_21_elements_is_changed_alone() -> None:
    """Each as no encoding, and all scalars and nine of the points as another element, too."""
    stages: dict[str, set[str]] = {name: set() for name in LAYOUT}
    for vector in of_kind("proof_invalid/point_", "proof_invalid/scalar_", "proof_invalid/other_"):
        changed_elements = list_altered_elements(vector)
        assert len(changed_elements) == 1, vector["id"]
        assert changed_elements[0].lower() == vector["id"].rpartition("/")[2]
        stages[changed_elements[0]] |= set(vector["expected"]["codes"])
    assert {name for name in LAYOUT if name in POINTS} == {name for name, seen in stages.items() if "point" in seen}
    assert {name for name in LAYOUT if name not in POINTS} == {
        name for name, stages_seen in stages.items() if "scalar" in stages_seen
    }
    replaced_elements = {name for name, seen in stages.items() if seen & {"polynomial", "inner_product"}}
    assert {"A", "S", "T1", "T2", "tau_x", "mu", "t", "L_1", "L_3", "R_6", "a", "b"} == replaced_elements


def test_the_scores_at_the_edges_are_there() -> None:
    """What is proved is zero, one, and the widest distance."""
    thresholds = {payload_of(vector)["threshold_milliunits"] for vector in of_kind("valid/at_the_threshold")}
    assert thresholds == {0, 700, 1000}


# Broken verifiers: each takes what is there for it.


def list_accepted(*prefixes: str) -> set[str]:
    """Return which vectors of some kinds the judge, as it is patched now, takes for valid."""
    return {vector["id"].removeprefix("zk/") for vector in of_kind(*prefixes) if judge(vector["input"]).valid}


def list_forged(name: str) -> set[str]:
    return {vector["id"].removeprefix("zk/") for vector in of_kind(f"proof_invalid/forged_without_{name}/")}


FORGERIES = "proof_invalid/forged_"
MOVED_COMMITMENT = {"proof_invalid/forged_without_subgroup_check/commitment_moved"}
ORDER_TWO = {f"proof_invalid/forged_by_order_two/{name}" for name in ("t1_and_t2", "a_round")}


def test_no_forgery_is_taken_by_a_whole_verifier() -> None:
    """Fourteen of them, of each kind that the suite can make."""
    assert list_accepted(FORGERIES) == set()
    kinds = {vector["kind"] for vector in of_kind(FORGERIES)}
    assert len(of_kind(FORGERIES)) == 14
    assert len(kinds) == 5


@pytest.mark.parametrize(
    ("equation", "name"), [("_polynomial", "polynomial_equation"), ("_inner_product", "inner_product")]
)
def test_without_an_equation_its_forgeries_pass(equation: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who leaves the polynomial out takes that forgery; who leaves the inner product out, that and the one for w."""
    monkeypatch.setattr(verifying, equation, lambda *_: True)
    passing_forgeries = list_forged(name) | (list_forged("w") if name == "inner_product" else set())
    assert passing_forgeries == list_accepted(FORGERIES)
    assert len(list_forged(name)) == 3


def test_without_w_its_forgeries_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    """The argument on U itself."""
    holds = verifying._inner_product
    monkeypatch.setattr(
        verifying, "_inner_product", lambda points, scalars, drawn: holds(points, scalars, {**drawn, "w": 1})
    )
    assert list_forged("w") == list_accepted(FORGERIES)


def on_the_curve(data: bytes) -> curve.Point | None:
    """Return any point, of the subgroup or not."""
    try:
        return curve.decode(data)
    except curve.NoPoint:
        return None


def test_without_the_subgroup_check_its_forgeries_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    """A commitment and an S that have a part of order eight, points that have one of order two."""
    monkeypatch.setattr(verifying, "_element", on_the_curve)
    assert (list_forged("subgroup_check") - MOVED_COMMITMENT) | ORDER_TWO == list_accepted(FORGERIES)


def test_without_the_subgroup_check_on_the_other_side(monkeypatch: pytest.MonkeyPatch) -> None:
    """The commitment is multiplied by less z^2: the order eight of the other forged one vanishes."""
    vanishes = verifying._vanishes
    monkeypatch.setattr(verifying, "_element", on_the_curve)
    monkeypatch.setattr(verifying, "_vanishes", lambda terms: vanishes([(-scalar, point) for scalar, point in terms]))
    assert list_accepted(FORGERIES) == MOVED_COMMITMENT | ORDER_TWO


def test_an_old_libsodium_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before 2026 it took an element that the point of order two was added to (CVE-2025-69277)."""
    half = curve.decode((curve.P - 1).to_bytes(32, "little"))
    element = verifying._element

    def old(data: bytes) -> curve.Point | None:
        point = on_the_curve(data)
        whole = point is not None and element(curve.encode(curve.add(point, half))) is not None
        return point if whole else element(data)

    monkeypatch.setattr(verifying, "_element", old)
    assert list_accepted(FORGERIES) == ORDER_TWO


def test_a_verifier_that_reduces_scalars_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """The scalars a and b are in no transcript: with the order added to them they make a second proof."""

    def reduce(payload: Mapping[str, Any], proof: bytes) -> Refusal | None:
        ends = {name: int.from_bytes(making.element(proof, name), "little") % curve.L for name in ("a", "b")}
        reduced_ends = {name: value.to_bytes(32, "little") for name, value in ends.items()}
        return verifying.refusal_of(payload, making.place_elements(proof, **reduced_ends))

    monkeypatch.setattr(f"{judging.__name__}.refusal_of", reduce)
    scalars = "proof_invalid/scalar_"
    assert {f"{scalars}order_added/a", f"{scalars}order_added/b"} == list_accepted(scalars)


def test_a_verifier_with_a_transcript_of_its_own_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the payload every honest receipt is refused, and the proof that was made so is taken."""

    class Bare(system.Transcript):
        def __init__(self, payload: Mapping[str, Any]) -> None:
            del payload
            self._items = b""
            self.item("system", system.NAME.encode())

    monkeypatch.setattr(verifying, "Transcript", Bare)
    assert list_accepted("proof_invalid/transcript_") == {"proof_invalid/transcript_start/without_the_payload"}
    assert list_accepted("valid/above") == set()


def test_the_moved_commitment_lives_on_the_transcript_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the challenges of the statement that it was made for, both equations hold."""
    usual = making.proven()

    class Usual(system.Transcript):
        def __init__(self, payload: Mapping[str, Any]) -> None:
            del payload
            super().__init__(usual)

    monkeypatch.setattr(verifying, "Transcript", Usual)
    assert list_accepted("proof_invalid/commitment_of_another") == {
        "proof_invalid/commitment_of_another/moved_with_the_threshold"
    }
    assert {
        vector["id"].removeprefix("zk/") for vector in of_kind("proof_invalid/bound_to_another_payment")
    } == list_accepted("proof_invalid/bound_to_another_payment")


# The second verifier.


def test_the_second_verifier_has_the_same_generators() -> None:
    """H, U and some of the vectors', derived with PyCryptodome."""
    for name in ("H", "U", "G_1", "G_64", "H_1", "H_64"):
        point = bulletproof_verifier.generator(name)
        ours = curve.decode(curve.encode(system.generator(name)))
        assert (ours[0], ours[1]) == (int(point.x), int(point.y))
    assert bulletproof_verifier.NAMES == LAYOUT


def test_the_second_verifier_takes_nothing_of_order_two() -> None:
    """Neither the point of order two for the neutral one, nor a point that it was added to for an element."""
    half = curve.decode((curve.P - 1).to_bytes(32, "little"))
    assert bulletproof_verifier.element(curve.encode(curve.BASE)) is not None
    for point in (curve.NEUTRAL, half, curve.add(curve.BASE, half)):
        assert bulletproof_verifier.element(curve.encode(point)) is None
    base, mixed_point = (
        eddsa.import_public_key(curve.encode(vector)).pointQ for vector in (curve.BASE, curve.add(curve.BASE, half))
    )
    assert bulletproof_verifier.vanishes([(1, base), (-1, base)])
    assert not bulletproof_verifier.vanishes([(1, mixed_point), (-1, base)])


def test_the_second_opinion_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """It complains where a proof holds that should not, is refused elsewhere than meant, or does not hold."""
    good, bad = DRAFTS["valid/above/usual"], DRAFTS["proof_invalid/other_end/a"]
    assert list(complaints(good)) == list(complaints(bad)) == []
    wrong_draft = replace(good, stage="proof_invalid", codes=("polynomial",))
    assert list(complaints(wrong_draft)) == ["by the second verifier the proof holds"]
    for codes, stage in ((("polynomial",), "proof_invalid"), ((), "expired")):
        told = ["by the second verifier the proof is refused at inner_product"]
        assert list(complaints(replace(bad, stage=stage, codes=codes))) == told
    alone = replace(FAMILY, files={"x.json": (lambda: [bad],)}, differences={})
    monkeypatch.setattr(bulletproof_verifier, "_inner_product", lambda *_: [])
    monkeypatch.setattr("tools.vectors_builder.zk_receipts.second_opinion._refusal", lambda _: None)
    with pytest.raises(BuildFault, match="by the second verifier the proof holds"):
        alone.build()


def test_nothing_recorded_is_left_over() -> None:
    """Every key, signature and proof is some vector's."""
    assert len(DRAFTS) == len(ALL_VECTORS)
    recordings = (making.SIGNER.keys, making.SIGNER.signatures, making.PROOFS)
    assert [vector.unused_names() for vector in recordings] == [set()] * 3
