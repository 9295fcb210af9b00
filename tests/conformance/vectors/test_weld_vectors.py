"""The vectors of welds: their files, and the judges they were made with."""

from __future__ import annotations

import base64
import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from conformance import vectors
from conformance.ledger import load
from conformance.oracles.welds.refusal_stages import STAGES
from conformance.vectors.judges.welds import judge
from tools.vectors_builder.drafting import Draft
from tools.vectors_builder.family import BuildFault, Family
from tools.vectors_builder.welds import FAMILY
from tools.vectors_builder.welds.known_differences import DIFFERENCES

FOLDER = Path(vectors.__file__).parent
DRAFTS = {draft.name: draft for draft in FAMILY.drafts()}
LANES = ("algorand", "base", "solana")


def test_files_are_what_the_builder_writes() -> None:
    """Byte for byte, and no file more: every signature is one that the same key makes again."""
    built_files = FAMILY.build()
    assert {path.name: path.read_bytes() for path in (FOLDER / "welds").iterdir()} == built_files


def test_inputs_keep_their_schema() -> None:
    """Every input has the members of its lane, and the family names each of them."""
    path = FOLDER / "schemas" / "inputs" / "welds.schema.json"
    validator: Any = jsonschema_rs.validator_for(json.loads(path.read_text("ascii")))
    for draft in DRAFTS.values():
        assert [draft.name, *(str(fault) for fault in validator.iter_errors(draft.input))] == [draft.name]
        assert set(draft.input) <= set(FAMILY.input)
    exact = DRAFTS["valid/base-plain/exact"].input
    assert not validator.is_valid({**exact, "lane": "solana"})


def test_no_more_than_three_are_of_one_kind() -> None:
    """Forty of a kind would be one vector."""
    assert [kind for kind, count in Counter(draft.kind for draft in DRAFTS.values()).items() if count > 3] == []


@pytest.mark.parametrize("lane", LANES)
def test_each_lane_has_its_share(lane: str) -> None:
    """Forty and more a lane, some of which hold; every fault names its lane."""
    own = [draft for draft in DRAFTS.values() if draft.input["lane"] == lane]
    assert len(own) >= 40
    assert len([draft for draft in own if draft.valid]) >= 10
    assert all(draft.fault_name.startswith(f"{lane}-") for draft in own)


def test_every_draft_stands_under_known_requirements_and_stages() -> None:
    """Rows are the ledger's, stages the family's, and every stage is met."""
    rows = {row.id for row in load()}
    assert all(draft.requirements and set(draft.requirements) <= rows for draft in DRAFTS.values())
    assert {draft.stage for draft in DRAFTS.values()} == {"valid", *STAGES}


def test_what_only_the_profile_decides_says_so() -> None:
    """A verifier that may judge differently learns the clause; stage and code are ours only."""
    for draft in DRAFTS.values():
        assert draft.valid or {"stage", "codes"} <= set(draft.pinned_members)
        assert bool(draft.pins) is ("valid" in draft.pinned_members)
        assert len(draft.pins) == len(set(draft.pins))


def _complains(draft: Draft, **changes: Any) -> bool:
    changed_draft = replace(draft, input={**draft.input, **changes})
    return list(FAMILY.second(changed_draft)) != []


def _flip(text: str, place: int) -> str:
    raw = bytearray(base64.b64decode(text))
    raw[place] ^= 1
    return base64.b64encode(raw).decode("ascii")


@pytest.mark.parametrize(
    ("name", "member"),
    [("valid/algorand-plain/exact", "signed_transaction_b64"), ("valid/solana-plain/checked", "transaction_b64")],
)
def test_a_flipped_bit_is_seen_by_judge_and_second_opinion(name: str, member: str) -> None:
    """Neither relies on the other for the signature."""
    draft = DRAFTS[name]
    spoilt = _flip(draft.input[member], 40)
    assert judge({**draft.input, member: spoilt}).stage == "transaction"
    assert _complains(draft, **{member: spoilt})


def test_a_flipped_bit_of_an_authorization_is_seen_by_both() -> None:
    """Neither relies on the other for the signature."""
    draft = DRAFTS["valid/base-plain/exact"]
    text = draft.input["signature"]
    spoilt = text[:20] + ("0" if text[20] != "0" else "1") + text[21:]
    assert judge({**draft.input, "signature": spoilt}).stage == "signature"
    assert _complains(draft, signature=spoilt)


@pytest.mark.parametrize("lane", LANES)
def test_a_wrong_id_is_seen_by_the_second_opinion(lane: str) -> None:
    """What a verifier is to tell of a payment is worked out by two libraries."""
    name = {
        "algorand": "valid/algorand-plain/exact",
        "base": "valid/base-settled-transaction/split",
        "solana": "valid/solana-plain/checked",
    }[lane]
    draft = DRAFTS[name]
    wrong = replace(draft, values={**draft.values, "tx_id": "0x00"})
    assert list(FAMILY.second(wrong)) != []


def test_a_nonce_that_is_no_hash_of_the_token_is_seen_by_the_second_opinion() -> None:
    """keccak256 comes from two implementations."""
    draft = DRAFTS["valid/base-plain/exact"]
    other_authorization = {**draft.input["authorization"], "nonce": "0x" + "1" * 64}
    assert _complains(draft, authorization=other_authorization)


def test_differences_are_known_by_name_and_needed() -> None:
    """An entry that no library needs stops the build, as does a difference without one."""
    named_draft = DRAFTS["signature/base-high-s/other-v"]
    with pytest.raises(BuildFault, match="payer has signed"):
        replace(FAMILY, differences={}).vector(named_draft, set())
    assert DIFFERENCES.keys() <= DRAFTS.keys()
    with pytest.raises(BuildFault, match="do not differ"):
        Family(
            name="welds",
            prefix="welds",
            title="welds",
            input={},
            stages=STAGES,
            files={},
            judge=judge,
            differences={"valid/base-plain/exact": "none"},
        ).build()


def test_one_payment_pays_no_other_lane() -> None:
    """Each lane's evidence, held against its own challenge with another token, welds nothing."""
    for name in ("valid/algorand-plain/exact", "valid/base-plain/exact", "valid/solana-plain/checked"):
        evidence = DRAFTS[name].input
        other_challenge = {**evidence["challenge"], "token": evidence["challenge"]["token"][:-1] + "x"}
        verdict = judge({**evidence, "challenge": other_challenge})
        assert (verdict.stage, verdict.codes) == ("weld", ("weld_mismatch",))
