"""The vectors of challenge tokens: their files, and the judges they were made with."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from conformance import vectors
from conformance.ledger import load
from conformance.oracles import challenge_tokens
from conformance.vectors.judges.challenges import judge
from tools.vectors_builder.challenges import FAMILY, second_opinion
from tools.vectors_builder.drafting import Draft
from tools.vectors_builder.family import BuildFault

FOLDER = Path(vectors.__file__).parent
DRAFTS = {draft.name: draft for draft in FAMILY.drafts()}


def schema() -> Any:
    path = FOLDER / "schemas" / "inputs" / "challenges.schema.json"
    return jsonschema_rs.validator_for(json.loads(path.read_text("ascii")))


def test_files_are_what_the_builder_writes() -> None:
    """Byte for byte, and no file more."""
    built_files = FAMILY.build()
    assert {path.name: path.read_bytes() for path in (FOLDER / "challenges").iterdir()} == built_files


def test_inputs_keep_their_schema() -> None:
    """Every input has the members that the family names, and no others."""
    validator = schema()
    for draft in DRAFTS.values():
        assert [str(fault) for fault in validator.iter_errors(draft.input)] == []
        assert set(draft.input) <= set(FAMILY.input)
    assert not validator.is_valid({**DRAFTS["valid/example/base"].input, "request_hash": "sha256:" + "0" * 64})


def test_no_more_than_three_are_of_one_kind() -> None:
    """Forty of a kind would be one vector."""
    assert [kind for kind, count in Counter(draft.kind for draft in DRAFTS.values()).items() if count > 3] == []


def test_every_draft_stands_under_known_requirements_and_stages() -> None:
    """Rows are the ledger's, stages the family's, and every stage is met."""
    rows = {row.id for row in load()}
    assert all(set(draft.requirements) <= rows for draft in DRAFTS.values())
    assert {draft.stage for draft in DRAFTS.values()} == {"valid", *FAMILY.stages}


@pytest.mark.parametrize(
    ("name", "token", "carried_terms"),
    [
        (
            "valid/example/base",
            "1767225600:0011223344556677:810b7a167fcae78f8f725677312b195896cc6782690363a2edebdc2642bf33b5",
            ("eip3009_nonce", "0x0da67b5b616aab08a9a9492d4435ff24d6b06f22afac2b779811d58359e3f54b"),
        ),
        (
            "valid/example/solana",
            "1767225600:0011223344556677:a09b8bbc7b366385e78e577f66a953775dce4472ed6f732572ad6ab56172b995",
            ("solana_reference", "FsFR6sRtNSjtXvNCBdTRaDaoWd4jVBysLeRHVHi57ZBs"),
        ),
    ],
)
def test_the_examples_are_the_profiles(name: str, token: str, carried_terms: tuple[str, str]) -> None:
    """Token, and what a payment for it must carry, as the profile's worked example has them."""
    draft = DRAFTS[name]
    assert draft.input["token"] == token
    assert draft.values[carried_terms[0]] == carried_terms[1]


def test_the_examples_hashes_are_the_profiles() -> None:
    """Request and payment reference, as the profile's worked example has them."""
    values = DRAFTS["valid/example/base"].values
    assert values["request_hash"] == "sha256:21385cbf54ac22efc2a87002cdd4ee775d387ff38cbdd13f0bfa3381db5265ca"
    assert values["payment_reference_hash"] == (
        "sha256:e91f88ed0b44d87fd2b10811279e1e626a94426c9cba076615d4727981eafa58"
    )


def _with_token(draft: Draft, token: str) -> Draft:
    return replace(draft, input={**draft.input, "token": token})


@pytest.mark.parametrize(("place", "stage"), [(30, "origin"), (-1, "request")])
def test_the_second_opinion_sees_a_mac_that_does_not_fit(place: int, stage: str) -> None:
    """One digit of either half is enough: for the judge, and for the libraries beside it."""
    draft = DRAFTS["valid/example/base"]
    text = draft.input["token"]
    digit = "0" if text[place] != "0" else "1"
    spoilt = text[:place] + digit + (text[place + 1 :] if place != -1 else "")
    assert judge({**draft.input, "token": spoilt}).stage == stage
    assert list(second_opinion.complaints(_with_token(draft, spoilt))) != []


def test_the_second_opinion_sees_a_wrong_value() -> None:
    """A nonce that is no keccak256 of the token stops the build."""
    draft = DRAFTS["valid/example/base"]
    wrong = replace(draft, values={**draft.values, "eip3009_nonce": "0x" + "0" * 64})
    assert len(list(second_opinion.complaints(wrong))) == 1
    with pytest.raises(BuildFault, match="eip3009_nonce"):
        FAMILY.vector(wrong, set())


def test_a_draft_that_means_something_else_stops_the_build() -> None:
    """A verdict that the suite does not share is never written."""
    draft = replace(DRAFTS["valid/example/base"], stage="time", codes=("challenge_expired",))
    with pytest.raises(BuildFault, match="meant"):
        FAMILY.vector(draft, set())


def test_a_token_that_was_issued_is_read_back() -> None:
    """Its parts are those it was made of."""
    issuer = challenge_tokens.Issuer(b"k" * 32, "Acme")
    lane = {"caip2": "eip155:1", "asset": "0xa", "amount": "1", "pay_to": "0xb"}
    text = issuer.issue("1767225600", "0" * 16, lane, "s", "sha256:" + "0" * 64)
    token = challenge_tokens.Token.read(text)
    assert token is not None
    assert (token.issued_at, token.nonce, token.first) == (
        1_767_225_600,
        "0" * 16,
        issuer.first_half("1767225600", "0" * 16, lane),
    )
