"""The vectors of receipts: what they cover, what is sent where, and that a verifier with a flaw is found by them."""

from __future__ import annotations

import base64
import json
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from unittest.mock import ANY

import pytest

from conformance import vectors
from conformance.oracles import ed25519_keys, json_acceptance, receipt_kinds, receipts
from conformance.oracles.ed25519_keys import Ed25519Key
from conformance.oracles.forging import ORDER
from conformance.vectors.judges import receipts as verifier
from conformance.vectors.judges.receipts import STAGES, judge
from tools.vectors_builder.drafting import Draft
from tools.vectors_builder.receipts import FAMILY, material

FOLDER = Path(vectors.__file__).parent / "receipts"
DRAFTS = tuple(FAMILY.drafts())
NINE = {
    "MISSING_ENVELOPE",
    "INVALID_JWS_FORMAT",
    "UNSUPPORTED_ALG",
    "TAMPERED_SIGNATURE",
    "INVALID_PAYLOAD",
    "UNSUPPORTED_CANON_VERSION",
    "NON_CANONICAL_PAYLOAD",
    "MISSING_FIELD",
    "PAYMENT_HASH_MISMATCH",
}
BOUND_CLAIMS = {
    "request_hash_differs",
    "response_hash_differs",
    "settled_payment_ref_differs",
    "payment_reference_hash_differs",
    "payer_ref_differs",
}


def kinds_of(stage: str) -> set[str]:
    return {draft.fault_name for draft in DRAFTS if draft.stage == stage}


def load_documents() -> list[dict[str, Any]]:
    """Return the vectors as they stand in the files."""
    documents = [json.loads(path.read_text("ascii")) for path in sorted(FOLDER.glob("*.json"))]
    return [one for document in documents for one in document["vectors"]]


def test_there_are_enough_of_every_stage() -> None:
    """At least 200 in all, and at least three faults that are unlike each other at each stage that has so many."""
    assert len(DRAFTS) >= 200
    few = {stage: len(kinds_of(stage)) for stage in STAGES if len(kinds_of(stage)) < 3}
    assert few == {"envelope": 2}


def test_every_code_occurs() -> None:
    """The nine of specification 2.4, and one for each thing that a receipt binds."""
    assert {code for draft in DRAFTS for code in draft.expected_codes} == NINE | BOUND_CLAIMS


def test_every_kind_of_receipt_holds_and_is_refused() -> None:
    """Valid ones tell their kind; the faults of members bear it in their names."""
    kind_counts = Counter(draft.values["receipt_kind"] for draft in DRAFTS if draft.valid)
    assert set(kind_counts) == {"compliance", "payable", "settlement_attestation"}
    assert min(kind_counts.values()) >= 8
    for kind in material.KINDS:
        assert {"fields", "values"} <= {draft.stage for draft in DRAFTS if draft.fault_name.startswith(f"{kind}.")}


@pytest.mark.parametrize("kind", sorted(material.KINDS))
def test_every_demanded_member_is_absent_once_and_null_once(kind: str) -> None:
    """Save `kind` and `canon_version`, which earlier steps look at."""
    name = {"attestation": "settlement_attestation"}.get(kind, kind)
    demanded_members = {one for one in receipt_kinds.MEMBERS[name] if one not in ("kind", "canon_version")}  # type: ignore[index]
    verdict = {
        (draft.fault_name.partition(".")[2], draft.variant, draft.values["error_field"])
        for draft in DRAFTS
        if draft.stage == "fields" and draft.fault_name.startswith(f"{kind}.")
    }
    assert verdict == {(one, variant, one) for one in demanded_members for variant in ("absent", "null")}


def test_every_member_with_a_set_of_values_has_a_wrong_one() -> None:
    """Both results, and each hash reference of a payable receipt."""
    verdict = {draft.values["error_field"] for draft in DRAFTS if draft.stage == "values"}
    assert verdict == {"screen_result", "settlement_result", *receipt_kinds.HASHES}


def test_receipts_are_made_of_the_published_examples() -> None:
    """The profile prints these hashes; a reader who has it can follow every vector."""
    printed_claims = {
        "payer_ref": "a2f76a7619eca18971e66c7317a9a326ca1be7a023ece47709a865848ffd44ae",
        "request_hash": "21385cbf54ac22efc2a87002cdd4ee775d387ff38cbdd13f0bfa3381db5265ca",
        "response_hash": "c59feba9c4327ac83064fcccb8e584c5323d0c9febe0527e12aa66fe9fadd7ef",
        "settled_payment_ref": "545d69b8e1119527e01aa05a578de3d5b093e1a3f6829932ae56bd5d56051af0",
        "payment_reference_hash": "e91f88ed0b44d87fd2b10811279e1e626a94426c9cba076615d4727981eafa58",
    }
    claims = {**material.COMPLIANCE, **material.PAYABLE}
    assert {name: f"sha256:{digest}" for name, digest in printed_claims.items()} == {
        name: claims[name] for name in printed_claims
    }


def test_what_is_sent_to_a_host_fits_its_door() -> None:
    """A text or null as the receipt, a key set that is not null, nothing that only a desk knows, a body in bounds."""
    for draft in DRAFTS:
        if "hosted" not in draft.doors:
            assert draft.stage in ("valid", "envelope", "bindings"), draft.name
            continue
        assert set(draft.input) <= {"jws", "jwks", "expected_payment_hash"}, draft.name
        assert isinstance(draft.input.get("jws"), str | None), draft.name
        assert draft.input["jwks"] is not None, draft.name
        assert len(json.dumps(draft.input).encode("ascii")) < 65_536, draft.name


def test_the_order_of_steps_is_the_profiles_alone() -> None:
    """Stage and code are pinned for every refusal; the verdict wherever a clause is named, and there only."""
    for draft in DRAFTS:
        assert ("stage" in draft.pinned_members, "codes" in draft.pinned_members) == (not draft.valid,) * 2, draft.name
        assert ("valid" in draft.pinned_members) is bool(draft.pins), draft.name
        assert ("values" in draft.pinned_members) is bool(draft.values), draft.name


def test_structure_fails_nobody_who_reads_jws_alone() -> None:
    """From canon_version on the verdict rests on the profile; a signature's on it only for keys and who is selected."""
    for draft in DRAFTS:
        if not draft.valid and STAGES.index(draft.stage) >= STAGES.index("canon_version"):
            assert draft.pins, draft.name
    pinned_faults = {draft.fault_name for draft in DRAFTS if draft.stage == "signature" and draft.pins}
    assert pinned_faults == {
        *("key_of_small_order", "key_of_order_eight", "key_not_canonical"),
        *("kid_of_another", "kid_of_nobody", "no_kid", "kid_twice"),
    }


def test_the_judge_says_what_is_written_in_the_files() -> None:
    """Verdict, stage, codes and values, from the files themselves."""
    verdict = load_documents()
    assert len(DRAFTS) == len(verdict)
    for vector in verdict:
        verdict_given, expected_verdict = judge(vector["input"]), vector["expected"]
        assert (expected_verdict["valid"], expected_verdict["stage"]) == (verdict_given.valid, verdict_given.stage), (
            vector["id"]
        )
        assert expected_verdict["codes"] == list(verdict_given.codes), vector["id"]
        assert expected_verdict["values"] == {
            name: verdict_given.values[name] for name in expected_verdict["values"]
        }, vector["id"]


@pytest.mark.parametrize("vector_input", [{}, {"jws": 1}, {"jws": "a.b.c", "jwks": None}, {"jws": [], "jwks": []}])
def test_the_judge_raises_nothing(vector_input: Mapping[str, Any]) -> None:
    """What is no vector is refused like everything else."""
    assert not judge(vector_input).valid


# Flaws: one rule left out or read otherwise each, with the stages whose vectors must tell.


def lenient(text: str) -> bytes:
    """Read base64url with padding and any spare bits."""
    try:
        return base64.urlsafe_b64decode(text.rstrip("=") + "=" * (-len(text.rstrip("=")) % 4))
    except ValueError as fault:
        raise ed25519_keys.KeyFault("no base64url") from fault


def first_key(document: Any, kid: Any) -> Any:
    del kid
    return document["keys"][0]


def any_key(document: Any, kid: Any) -> Any:
    """Select the last key where no kid matches."""
    keys_named = [one for one in document["keys"] if one.get("kid") == kid]
    return (keys_named or document["keys"][::-1])[0]


def always(value: Any) -> Callable[..., Any]:
    """Return what answers everything with one value."""

    def answer(*_: Any) -> Any:
        return value

    return answer


def hold_reduced(key: Ed25519Key, message: bytes, signature: bytes) -> bool:
    scalar = int.from_bytes(signature[32:], "little") % ORDER
    return ed25519_keys.verify(key, message, signature[:32] + scalar.to_bytes(32, "little"))


FLAWS: dict[str, tuple[Any, str, Callable[..., Any] | Any, set[str]]] = {
    "no equation": (receipts, "verify", always(True), {"signature"}),
    "points of small order": (ed25519_keys, "is_sound_point", lambda raw: len(raw) == 32, {"signature"}),
    "S of any size": (receipts, "verify", hold_reduced, {"signature"}),
    "the first key always": (receipts, "_select_key", first_key, {"valid", "signature", "format"}),
    "the last key where none matches": (
        receipts,
        "_select_key",
        any_key,
        {"valid", "signature", "algorithm", "format"},
    ),
    "base64url as it comes": (receipts, "decode_base64url", lenient, {"format"}),
    "every algorithm": (receipts, "ALGORITHMS", ("EdDSA", "Ed25519", "none", "ES256"), {"algorithm"}),
    "only EdDSA": (receipts, "ALGORITHMS", ("EdDSA",), {"valid", "signature"}),
    "any length": (receipts, "LONGEST", 1 << 20, {"format"}),
    "a shorter length": (receipts, "LONGEST", 16_000, {"valid"}),
    "any depth": (json_acceptance, "DEEPEST", 1000, {"format", "payload"}),
    "any canonical form": (receipts, "CANON_VERSION", ANY, {"canon_version"}),
    "any writing": (receipts, "departure_from_jcs", always(None), {"canonical"}),
    "any members": (receipts, "missing_member", always(None), {"fields"}),
    "any values": (receipts, "member_outside_its_set", always(None), {"values"}),
    "payment_hash in every kind": (
        receipts,
        "payment_member",
        always("payment_hash"),
        {"valid", "payment_hash"},
    ),
    "nothing bound": (verifier, "faults", always([]), {"bindings"}),
}


@pytest.mark.parametrize("name", sorted(FLAWS))
def test_a_verifier_with_a_flaw_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """One rule left out or read otherwise, and vectors of exactly those stages that it bears on are judged wrongly."""
    module, member, instead, stages = FLAWS[name]
    monkeypatch.setattr(module, member, instead)
    verdict = Counter(draft.stage for draft in DRAFTS if wrongly(draft))
    assert stages == set(verdict), verdict


def wrongly(draft: Draft) -> bool:
    """Return whether the judge with a flaw disagrees with the draft; a flaw that raises does."""
    try:
        verdict = judge(draft.input)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError):
        return True
    return (draft.valid, draft.expected_codes) != (verdict.valid, verdict.codes)
