"""The rules for members of a rail's challenges and settlement responses."""

from __future__ import annotations

import base64
import copy
import json
from collections.abc import Iterator
from typing import Any

import pytest

from conformance.oracles.challenge_tokens import eip3009_nonce, solana_reference
from conformance.oracles.rail_members import (
    QuotedRequest,
    derive_fee_payer,
    find_challenge_faults,
    find_failure_faults,
    find_required_header_faults,
    find_settlement_faults,
)

URL, HASH = "https://rail.example/pay/v1/verify/receipt", "sha256:" + "ab" * 32
REQUEST = QuotedRequest(URL, "receipt-verify", [HASH], "exact", 1800, "weldproof")
TOKEN = "1767225600:0011223344556677:810b7a167fcae78f8f725677312b195896cc6782690363a2edebdc2642bf33b5"
BASE = "eip155:8453"


def make_entry(network: str, **extra: Any) -> dict[str, Any]:
    """Return an entry as the specification has it."""
    return {
        "scheme": "exact",
        "network": network,
        "amount": "10000",
        "maxAmountRequired": "10000",
        "asset": "asset",
        "payTo": "payee",
        "maxTimeoutSeconds": 1800,
        "extra": {
            "payment_reference": TOKEN,
            "request_hash": HASH,
            "service_id": "receipt-verify",
            "decimals": 6,
            "name": "USDC",
            **extra,
        },
    }


HONEST: dict[str, Any] = {
    "x402Version": 2,
    "error": "payment_required",
    "resource": {"url": URL, "description": "Verifies.", "mimeType": "application/json"},
    "accepts": [
        make_entry("algorand:main", binding="note-binding"),
        make_entry(
            BASE,
            binding="eip3009-authorization",
            name="USD Coin",
            version="2",
            authorization_nonce=eip3009_nonce(TOKEN),
        ),
        make_entry(
            "solana:main",
            binding="solana-reference",
            svm_reference_pubkey=solana_reference(TOKEN, "weldproof"),
            feePayer=derive_fee_payer("weldproof"),
        ),
    ],
    "extensions": {
        "bazaar": {
            "info": {
                "input": {"type": "http", "method": "POST", "bodyType": "json", "body": {"jws": "e30.e30.AA"}},
                "output": {"type": "json", "example": {"verified": False}},
            },
            "schema": {"type": "object", "required": ["input", "output"]},
        }
    },
}


def find_faults(body: Any) -> list[str]:
    """Return the faults of an unpaid 402."""
    return find_challenge_faults(body, REQUEST, error="payment_required", is_refusal=False, has_detail=False)


def list_places(value: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the place of every member of objects that have rules."""
    if isinstance(value, dict):
        for name, member in value.items():
            yield (*place, name)
            # The example's members and the schema's words are the service's.
            if name not in {"body", "example", "schema"}:
                yield from list_places(member, (*place, name))
    elif isinstance(value, list):
        for number, member in enumerate(value):
            yield from list_places(member, (*place, number))


PLACES = list(list_places(HONEST))


def change(place: tuple[Any, ...], edit: Any) -> dict[str, Any]:
    """Return the honest challenge after an edit of the object that has the member at a place."""
    changed_document = copy.deepcopy(HONEST)
    holder: Any = changed_document
    for step in place[:-1]:
        holder = holder[step]
    edit(holder, place[-1])
    return changed_document


def test_an_honest_challenge_has_no_fault() -> None:
    """The example's form, on three lanes."""
    assert find_faults(HONEST) == []


@pytest.mark.parametrize("place", PLACES, ids=lambda place: ".".join(map(str, place)))
def test_no_member_may_be_absent_or_null_or_renamed(place: tuple[Any, ...]) -> None:
    """Each member has a rule, and each object is closed."""

    def rename(holder: Any, name: str) -> None:
        holder[f"{name}_"] = holder.pop(name)

    assert find_faults(change(place, lambda holder, name: holder.pop(name)))
    assert find_faults(change(place, lambda holder, name: holder.update({name: None})))
    assert find_faults(change(place, lambda holder, _: holder.update({"further": 1})))
    assert find_faults(change(place, rename))


def test_a_challenge_of_another_code_or_with_a_detail_is_a_fault() -> None:
    """A refusal has its code and no extensions; a detail is only for a refused body."""
    refusal = {name: value for name, value in HONEST.items() if name != "extensions"} | {"error": "wrong_amount"}
    faults = find_challenge_faults(refusal, REQUEST, error="wrong_amount", is_refusal=True, has_detail=False)
    assert faults == []
    assert find_challenge_faults(refusal, REQUEST, error="wrong_asset", is_refusal=True, has_detail=False)
    detail = {**HONEST, "error_detail": [{"loc": ["body"], "msg": "no", "type": "json"}]}
    assert find_faults(detail)
    assert not find_challenge_faults(detail, REQUEST, error="payment_required", is_refusal=False, has_detail=True)


def encode(value: Any) -> str:
    """Return base64 of a JSON value."""
    return base64.b64encode(json.dumps(value).encode()).decode()


def test_the_header_repeats_the_body_without_its_detail() -> None:
    """And nothing else."""
    assert find_required_header_faults(encode(HONEST), {**HONEST, "error_detail": []}) == []
    assert find_required_header_faults(encode({**HONEST, "error": "x"}), HONEST)
    assert find_required_header_faults(None, HONEST)
    assert find_required_header_faults("please", HONEST)


@pytest.mark.parametrize("change_of", [{"success": True}, {"errorReason": "x"}, {"transaction": "y"}, {"network": ""}])
def test_a_failure_names_its_reason_transaction_and_network(change_of: dict[str, Any]) -> None:
    """Each member is judged."""
    honest = {"success": False, "errorReason": "wrong_amount", "transaction": "tx", "network": BASE}
    assert find_failure_faults(encode(honest), "wrong_amount", {BASE}, {"tx"}) == []
    assert find_failure_faults(encode({**honest, **change_of}), "wrong_amount", {BASE}, {"tx"})


def test_a_settlement_names_its_payer_in_any_case_on_an_evm_chain() -> None:
    """And exactly elsewhere."""
    honest = {"success": True, "transaction": "tx", "network": BASE, "payer": "0xAB", "amount": "1"}
    expected_settlement = {"network": BASE, "payer": "0xab", "amount": "1", "transaction": "tx"}
    assert find_settlement_faults(encode(honest), expected_settlement) == []
    other_settlement = {**honest, "network": "solana:main"}
    assert find_settlement_faults(encode(other_settlement), {**expected_settlement, "network": "solana:main"})
