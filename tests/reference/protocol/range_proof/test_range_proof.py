"""What the range proof shows, and to what it is bound (8.4)."""

from __future__ import annotations

import base64
import hashlib
import random
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from nacl import bindings

from reference.protocol.range_proof import (
    NONCE_BYTES,
    PROOF_BYTES,
    Nonces,
    Opening,
    ProofInvalid,
    Stage,
    Statement,
    commit,
    edwards_group,
    prove,
    transcript,
)
from reference.protocol.range_proof.generators import generators
from reference.protocol.range_proof.proof import ELEMENTS, RangeProof
from tests.reference.protocol.range_proof.receipts import PAYMENT, find_refusal, place_element, proven

EDGES = [(0, 0), (1000, 0), (1000, 1000), (1, 1), (1, 0), (999, 999), (500, 499), (2**63, 0), (2**64 - 1, 0)]


@pytest.fixture(scope="module")
def payload_and_proof() -> tuple[dict[str, Any], bytes]:
    """A payload and its proof."""
    return proven(731, 500, random.Random(1))


@pytest.mark.parametrize(("score", "threshold"), EDGES)
def test_a_score_that_reaches_the_threshold_is_proven(score: int, threshold: int) -> None:
    """Equal to it, at both ends of the scores and of the range."""
    payload, proof = proven(score, threshold, random.Random(score))
    assert len(proof) == PROOF_BYTES == 672
    assert find_refusal(payload, proof) is None
    assert RangeProof.from_bytes(proof).to_bytes() == proof


def test_random_scores_are_proven() -> None:
    """Any score, any threshold up to it."""
    rng = random.Random(2)
    for _ in range(8):
        score = rng.randint(0, 1000)
        assert find_refusal(*proven(score, rng.randint(0, score), rng)) is None


@pytest.mark.parametrize(("score", "threshold"), [(0, 1), (999, 1000), (0, 1000), (2**64, 0)])
def test_what_is_outside_the_range_cannot_be_proven(score: int, threshold: int) -> None:
    """One below the threshold, and one above the range."""
    with pytest.raises(ValueError, match="not in the range"):
        proven(score, threshold, random.Random(3))


def test_a_commitment_to_another_score_is_not_proven() -> None:
    """The prover makes no proof that would not hold."""
    nonces = Nonces.of(random.Random(4).randbytes(NONCE_BYTES))
    commitment = base64.b64encode(commit(Opening(700, nonces.blinding))).decode()
    statement = Statement.of({**PAYMENT, "commitment_b64": commitment, "threshold_milliunits": 500})
    with pytest.raises(ValueError, match="not to this score"):
        prove(statement, 701, nonces)


def test_a_proof_is_bound_to_its_payload(payload_and_proof: tuple[dict[str, Any], bytes]) -> None:
    """Another payment, issuer, threshold or commitment, a member more or less: the proof does not hold."""
    payload, proof = payload_and_proof
    other, _ = proven(731, 500, random.Random(5))
    changes: list[dict[str, Any]] = [
        {"payment_id": "pay_2"},
        {"chain": "base_mainnet"},
        {"amount_microusd": 50_001},
        {"recipient": "0x" + "ab" * 20},
        {"tx_id": "B" * 52},
        {"settled_at": "2026-06-01T12:00:01Z"},
        {"bench_issuer": "did:web:other.example"},
        {"threshold_milliunits": 499},
        {"threshold_milliunits": 501},
        {"commitment_b64": other["commitment_b64"]},
        {"extra": None},
    ]
    for change in changes:
        assert find_refusal({**payload, **change}, proof) == "polynomial", change
    assert find_refusal({name: value for name, value in payload.items() if name != "tx_id"}, proof) == "polynomial"
    assert find_refusal({**payload, "proof_b64": "whatever"}, proof) is None


@pytest.mark.parametrize("label", ["system", "payload", *ELEMENTS[:-2], "challenge"])
def test_a_proof_is_bound_to_every_label(
    payload_and_proof: tuple[dict[str, Any], bytes], monkeypatch: pytest.MonkeyPatch, label: str
) -> None:
    """An item under another label makes other challenges."""
    add = transcript.Transcript.add
    monkeypatch.setattr(
        transcript.Transcript,
        "add",
        lambda self, one, value: add(self, one + "'" if one == label else one, value),
    )
    assert find_refusal(*payload_and_proof) in {"polynomial", "inner_product"}


@pytest.mark.parametrize("name", ["y", "z", "x", "w", *(f"u_{n}" for n in range(1, 7))])
def test_a_proof_is_bound_to_every_challenges_name(
    payload_and_proof: tuple[dict[str, Any], bytes], monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """A challenge that is drawn under another name is another."""
    challenge = transcript.Transcript.challenge
    monkeypatch.setattr(
        transcript.Transcript, "challenge", lambda self, one: challenge(self, one + "'" if one == name else one)
    )
    assert find_refusal(*payload_and_proof) in {"polynomial", "inner_product"}


def test_a_transcript_is_what_its_docstring_says() -> None:
    """Labels and values after their lengths; a challenge is the hash so far, modulo the order."""

    def item(label: bytes, value: bytes) -> bytes:
        return b"".join(len(part).to_bytes(4, "little") + part for part in (label, value))

    told = transcript.Transcript(b"{}")
    told.add("A", b"\x01\x02")
    items = item(b"system", b"bulletproofs-ed25519/1") + item(b"payload", b"{}") + item(b"A", b"\x01\x02")
    for name in ("y", "z"):
        items += item(b"challenge", name.encode())
        expected = int.from_bytes(hashlib.sha512(items).digest(), "little") % edwards_group.ORDER
        assert told.challenge(name) == expected


@pytest.mark.parametrize("name", ["y", "z", "x", "w", "u_1", "u_6"])
def test_a_challenge_of_zero_is_refused(
    payload_and_proof: tuple[dict[str, Any], bytes], monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Whichever it is."""
    names = iter(["y", "z", "x", "w", *(f"u_{n}" for n in range(1, 7))])
    monkeypatch.setattr(edwards_group, "reduce_to_scalar", lambda _: 0 if next(names) == name else 7)
    assert find_refusal(*payload_and_proof) == f"challenge {name}"


def test_generators_are_independent_elements() -> None:
    """130 of them beside the base point, no two alike, none the identity."""
    known = generators()
    points = [edwards_group.BASE, known.blinding, known.product, *known.left, *known.right]
    assert len(set(points)) == len(points) == 131
    assert all(edwards_group.is_element(point) for point in points)


def test_a_proof_of_another_length_is_refused(payload_and_proof: tuple[dict[str, Any], bytes]) -> None:
    """A byte less, a byte more, nothing."""
    payload, proof = payload_and_proof
    assert {find_refusal(payload, one) for one in (proof[:-1], proof + b"\0", b"", proof * 2)} == {Stage.LENGTH}


def test_a_commitment_that_is_no_element_is_refused(payload_and_proof: tuple[dict[str, Any], bytes]) -> None:
    """The identity, a point of small order, none at all."""
    payload, proof = payload_and_proof
    for point in (edwards_group.IDENTITY, bytes(32), b"\xff" * 32):
        other = {**payload, "commitment_b64": base64.b64encode(point).decode()}
        assert find_refusal(other, proof) == Stage.COMMITMENT


def test_encodings_come_before_equations(payload_and_proof: tuple[dict[str, Any], bytes]) -> None:
    """Points, then scalars, then what they say."""
    payload, proof = payload_and_proof
    wrong = place_element(place_element(proof, "t", b"\xff" * 32), "tau_x", bytes(32))
    assert find_refusal(payload, wrong) == "scalar t"
    assert find_refusal(payload, place_element(wrong, "R_6", bytes(32))) == "point R_6"
    assert find_refusal({**payload, "threshold_milliunits": 1}, wrong) == "scalar t"


def test_the_work_does_not_tell_the_score(monkeypatch: pytest.MonkeyPatch) -> None:
    """As many group operations of each kind, whatever the score, its distance from the threshold, and their bits."""
    calls: Counter[str] = Counter()

    def count_calls(name: str, operation: Callable[..., bytes]) -> Callable[..., bytes]:
        def count_call(*arguments: bytes) -> bytes:
            calls[name] += 1
            return operation(*arguments)

        return count_call

    for name in dir(bindings):
        if name.startswith(("crypto_core_ed25519_", "crypto_scalarmult_ed25519")) and callable(getattr(bindings, name)):
            monkeypatch.setattr(bindings, name, count_calls(name, getattr(bindings, name)))
    generators()
    works = []
    for score, threshold in [(0, 0), (1, 0), (1, 1), (2, 0), (512, 0), (700, 700), (767, 256), (1000, 0), (1000, 999)]:
        calls.clear()
        proven(score, threshold, random.Random(score))
        works.append(dict(calls))
    assert sum(works[0].values()) > 1000
    assert works == [works[0]] * len(works)


def test_nonces_are_the_callers() -> None:
    """The same bytes make the same proof; a zero scalar and another number of bytes are refused."""
    assert proven(731, 500, random.Random(6)) == proven(731, 500, random.Random(6))
    assert proven(731, 500, random.Random(6))[1] != proven(731, 500, random.Random(7))[1]
    for data in (bytes(NONCE_BYTES), b"\1" * (NONCE_BYTES - 1), b"\1" * (NONCE_BYTES - 64) + bytes(64)):
        with pytest.raises(ValueError, match="nonce"):
            Nonces.of(data)
    assert "731" not in repr(Opening(731, 5)) + repr(Nonces.of(b"\1" * NONCE_BYTES))


@pytest.mark.parametrize(
    "change",
    [
        *({"commitment_b64": text} for text in (None, "", "*", "AAAA", "é", base64.b64encode(bytes(33)).decode())),
        *({"threshold_milliunits": value} for value in (None, -1, True, 1.0, "1")),
        {"commitment_b64": base64.b64encode(bytes(32)).decode()[:-2] + "B="},
    ],
)
def test_what_is_no_statement(payload_and_proof: tuple[dict[str, Any], bytes], change: dict[str, Any]) -> None:
    """A commitment is 32 bytes in one spelling, a threshold a whole number."""
    with pytest.raises(ValueError, match=r".") as fault:
        Statement.of({**payload_and_proof[0], **change})
    assert not isinstance(fault.value, ProofInvalid)
