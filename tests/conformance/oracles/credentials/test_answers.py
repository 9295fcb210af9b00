"""The members of an answer about a credential, as the suite computes them."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.oracles.credentials.answers import differing_members, expected_members, status_of
from conformance.oracles.credentials.envelope import open_envelope
from conformance.oracles.credentials.judging import Question, judge_credential
from conformance.vectors import Vector, of_family

CREDENTIALS = [one for one in of_family("falcon_envelopes") if one.input["expect"] == "credential"]


def compute_members(vector: Vector) -> dict[str, Any]:
    """Return the expected members of the answer to a vector."""
    question = vector.input
    limits = question.get("expected_issuer"), question.get("min_score")
    return expected_members(
        judge_credential(question["envelope"], Question(question["keys"], question["now"], *limits))
    )


@pytest.mark.parametrize("vector", CREDENTIALS, ids=lambda one: one.id)
def test_each_vector_has_its_verdict_and_shows_only_what_was_signed(vector: Vector) -> None:
    """The reason is the vector's stage, and the payload is repeated only if its signature holds."""
    members = compute_members(vector)
    stage = vector.expected.stage
    assert (members["valid"], members["reason"]) == (vector.expected.valid, stage)
    assert (members["status"] == "active") is members["valid"]
    if stage in {None, "expired", "score_too_low", "not_passed"}:
        assert members["payload"] == open_envelope(vector.input["envelope"]).payload
    else:
        assert members["payload"] is None
    assert (members["content_hash"] is None) <= (stage in {"envelope_decode", "envelope_shape"})
    if stage == "envelope_decode":
        assert (members["kid"], members["issuer"], members["type"]) == (None, None, None)


@pytest.mark.parametrize(
    ("reason", "status"),
    [
        (None, "active"),
        ("no_public_key", "unverifiable"),
        ("no_trust_set", "unverifiable"),
        ("unknown_proof_system", "unverifiable"),
        ("expired", "expired"),
        ("kid_mismatch", "invalid"),
        ("score_too_low", "invalid"),
    ],
)
def test_a_reason_has_its_status(reason: str | None, status: str) -> None:
    """The table of 8.2."""
    assert status_of(reason) == status


@pytest.mark.parametrize(
    ("body", "differing"),
    [
        ({"a": 1, "b": None}, []),
        ({"a": 1.0, "b": None, "c": 2}, []),
        ({"a": True, "b": None}, ["a"]),
        ({"a": 1}, ["b"]),
        ({"a": float("inf"), "b": 0}, ["a", "b"]),
    ],
)
def test_members_are_compared_as_json(body: dict[str, Any], differing: list[str]) -> None:
    """A missing member is not null, true is not 1, and 1.0 is 1."""
    assert differing_members(body, {"a": 1, "b": None}) == differing
