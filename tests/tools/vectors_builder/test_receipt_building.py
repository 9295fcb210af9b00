"""Building the vectors of receipts: files byte for byte, and every judge and record that can stop the build."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from conformance import vectors
from conformance.oracles import forging
from tools.vectors_builder.drafting import Draft
from tools.vectors_builder.family import BuildFault
from tools.vectors_builder.receipts import FAMILY, bad_algorithms, recording_command, second_opinion
from tools.vectors_builder.receipts.known_differences import DIFFERENCES

FOLDER = Path(vectors.__file__).parent / "receipts"
DRAFTS = {draft.name: draft for draft in FAMILY.drafts()}
LIBRARIES = {"PyCryptodome", "libsodium", "PyJWT", "joserfc", "orjson", "rfc8785"}


def test_files_are_what_the_builder_writes() -> None:
    """Byte for byte, and no file more."""
    assert {path.name: path.read_bytes() for path in FOLDER.iterdir()} == FAMILY.build()


@pytest.mark.parametrize("name", sorted(DIFFERENCES))
def test_exactly_the_libraries_that_are_named_differ(name: str) -> None:
    """A reason begins with names; no other library hides behind it."""
    libraries = DIFFERENCES[name].partition(":")[0].split(", ")
    assert set(libraries) <= LIBRARIES
    assert [one.partition(":")[0] for one in second_opinion.complaints(DRAFTS[name])] == libraries


def forge_draft(draft: Draft, change: Callable[[str], str]) -> Draft:
    return replace(draft, input={**draft.input, "jws": change(draft.input["jws"])})


def flip_signature(token: str) -> str:
    signature = bytearray(forging.without_its_signature(token)[1])
    signature[5] ^= 1
    return forging.with_signature(token, bytes(signature))


@pytest.mark.parametrize("name", ["valid/compliance/allow", "canonical/order/payable", "payment_hash/payable/other"])
def test_a_changed_signature_stops_the_build(name: str) -> None:
    """The suite's judge says so before any other."""
    with pytest.raises(BuildFault, match="TAMPERED_SIGNATURE"):
        FAMILY.vector(forge_draft(DRAFTS[name], flip_signature), set())


def test_another_expectation_stops_the_build() -> None:
    """Verdict, stage, code and value are each compared."""
    right = DRAFTS["fields/compliance.payer_ref/absent"]
    FAMILY.vector(right, set())
    for wrong in (
        replace(right, stage="values"),
        replace(right, codes=("INVALID_PAYLOAD",)),
        replace(right, stage="valid", codes=()),
        replace(right, values={"error_field": "screen_result"}),
    ):
        with pytest.raises(BuildFault, match=re.escape("meant")):
            FAMILY.vector(wrong, set())


def test_a_difference_without_a_reason_stops_the_build() -> None:
    """And a reason without a difference."""
    name = "format/padding/header"
    with pytest.raises(BuildFault, match="PyJWT"):
        replace(FAMILY, differences={}).vector(DRAFTS[name], set())
    name = "valid/compliance/allow"
    with pytest.raises(BuildFault, match=name):
        replace(FAMILY, files={"x.json": (lambda: [DRAFTS[name]],)}, differences={name: "PyJWT: no reason"}).build()


MISTAKEN: dict[str, tuple[str, Callable[[Draft], Draft], set[str]]] = {
    "a signature that does not hold": (
        "valid/compliance/allow",
        lambda draft: forge_draft(draft, flip_signature),
        {"PyCryptodome", "libsodium", "PyJWT", "joserfc"},
    ),
    "a signature that holds": (
        "valid/compliance/allow",
        lambda draft: replace(draft, stage="signature", fault_name="x"),
        {"PyCryptodome", "libsodium", "PyJWT", "joserfc"},
    ),
    "a fault of form beside a wrong signature": (
        "format/crit_unknown/urn",
        lambda draft: forge_draft(draft, flip_signature),
        {"PyCryptodome", "libsodium"},
    ),
    "an algorithm beside a wrong signature": (
        "algorithm/spelling/upper_case",
        lambda draft: forge_draft(draft, flip_signature),
        {"PyCryptodome"},
    ),
    "a wrong MAC": (
        "algorithm/mac_with_key_text/pem",
        lambda draft: forge_draft(draft, flip_signature),
        {"PyCryptodome"},
    ),
    "a wrong RSA signature": (
        "algorithm/another/ps256",
        lambda draft: forge_draft(draft, flip_signature),
        {"PyCryptodome"},
    ),
    "a wrong ECDSA signature": (
        "algorithm/another/es256",
        lambda draft: forge_draft(draft, flip_signature),
        {"PyCryptodome"},
    ),
    "an object for none": (
        "valid/compliance/allow",
        lambda draft: replace(draft, stage="payload", fault_name="x"),
        {"orjson"},
    ),
    "no object for one": (
        "payload/no_object/array",
        lambda draft: replace(draft, stage="fields", fault_name="x"),
        {"orjson"},
    ),
    "canonical for not": (
        "valid/payable/as_the_rail_emits_it",
        lambda draft: replace(draft, stage="canonical", fault_name="x"),
        {"rfc8785"},
    ),
    "not canonical for canonical": (
        "canonical/white_space/payable",
        lambda draft: replace(draft, stage="fields", fault_name="x"),
        {"rfc8785"},
    ),
    "another request": (
        "valid/bound_request/plain",
        lambda draft: replace(draft, input={**draft.input, "request": {**draft.input["request"], "query": "a"}}),
        {"rfc8785"},
    ),
    "another payment": (
        "valid/bound_settlement/solana",
        lambda draft: replace(draft, input={**draft.input, "settlement": DRAFTS[_BASE].input["settlement"]}),
        {"rfc8785"},
    ),
    "a binding that holds": (
        "valid/bound_payer/algorand",
        lambda draft: replace(draft, stage="bindings", fault_name="x", codes=("payer_ref_differs",)),
        {"rfc8785"},
    ),
}
_BASE = "valid/bound_settlement/base"


@pytest.mark.parametrize("name", sorted(MISTAKEN))
def test_each_library_can_say_no(name: str) -> None:
    """A draft that is mistaken in one thing, and exactly the libraries that can know complain."""
    of, change, libraries = MISTAKEN[name]
    assert list(second_opinion.complaints(DRAFTS[of])) == []
    complaining_libraries = {one.partition(":")[0] for one in second_opinion.complaints(change(DRAFTS[of]))}
    assert complaining_libraries == libraries


# Recorded tokens.


def test_recording_again_gives_the_same_tokens() -> None:
    """Keys and nonces are drawn from seeds; the elliptic ones are quick enough to try."""
    recorded_tokens = json.loads(recording_command.RECORDED_FILE.read_text("ascii"))
    assert set(recorded_tokens) == set(recording_command.TOKENS)
    sign, jwk = recording_command.elliptic()
    for name, (_, sign_token) in recording_command.TOKENS.items():
        if sign_token == "ES256":
            text, signature = forging.without_its_signature(recorded_tokens[name]["token"])
            assert (recorded_tokens[name]["jwk"], signature) == (jwk, sign(text.encode()))


@pytest.mark.parametrize("name", sorted(recording_command.TOKENS))
def test_a_recorded_signature_is_verified(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """One bit changed, or another header, and the build stops."""
    recorded_tokens: dict[str, Any] = json.loads(recording_command.RECORDED_FILE.read_text("ascii"))
    right = recorded_tokens[name]["token"]
    for wrong, complaint in (
        (flip_signature(right), "does not hold"),
        ("e30" + right[right.index(".") :], "says something else"),
    ):
        tampered_tokens = {**recorded_tokens, name: {**recorded_tokens[name], "token": wrong}}
        monkeypatch.setattr(bad_algorithms, "_tokens", lambda tampered_tokens=tampered_tokens: tampered_tokens)
        with pytest.raises(BuildFault, match=complaint):
            list(bad_algorithms.drafts())
