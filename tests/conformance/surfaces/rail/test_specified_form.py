"""A first profile claims the specification only for a rail whose answers have every part that it says."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from multidict import CIMultiDict, CIMultiDictProxy

from conformance.http.client import Answer
from conformance.surfaces.rail.probing import has_specified_form, has_specified_refusal

EXTRA = {
    "payment_reference": "t",
    "request_hash": "sha256:0",
    "service_id": "receipt-verify",
    "binding": "note-binding",
    "name": "USDC",
    "decimals": 6,
}
ENTRY = {
    "scheme": "exact",
    "network": "algorand:x",
    "amount": "1",
    "maxAmountRequired": "1",
    "asset": "31566704",
    "payTo": "A",
    "maxTimeoutSeconds": 1800,
    "extra": EXTRA,
}
CHALLENGE = {
    "x402Version": 2,
    "error": "payment_required",
    "resource": {},
    "accepts": [ENTRY],
    "extensions": {},
}
REFUSAL = {name: value for name, value in CHALLENGE.items() if name != "extensions"} | {
    "error": "invalid_payment_header"
}
RESPONSE = {"success": False, "errorReason": "invalid_payment_header", "transaction": "", "network": "algorand:x"}


def base64_of(value: Any) -> str:
    """Return the base64 of a value's JSON."""
    return base64.b64encode(json.dumps(value).encode()).decode()


def answer(body: dict[str, Any], status: int = 402, **headers: str) -> Answer:
    """Return an answer with the fields of a rail that follows the specification, except those that are given."""
    fields = {
        "Cache-Control": "no-store",
        "Access-Control-Allow-Origin": "*",
        "PAYMENT-REQUIRED": base64_of(body),
        "PAYMENT-RESPONSE": base64_of(RESPONSE),
    }
    fields |= {name.replace("_", "-"): value for name, value in headers.items()}
    return Answer(1, status, CIMultiDictProxy(CIMultiDict(fields)), json.dumps(body).encode())


def test_the_form_of_the_specification_is_recognised() -> None:
    """Of an unpaid call and of an unreadable payment, and neither for the other."""
    assert has_specified_form(answer(CHALLENGE))
    assert has_specified_refusal(answer(REFUSAL))
    assert not has_specified_form(answer(REFUSAL))
    assert not has_specified_refusal(answer(CHALLENGE))


@pytest.mark.parametrize(
    "other_answer",
    [
        answer({**CHALLENGE, "error": "Payment required"}),
        answer({**CHALLENGE, "provider": "x"}),
        answer({**CHALLENGE, "accepts": [{name: ENTRY[name] for name in ENTRY if name != "amount"}]}),
        answer({**CHALLENGE, "accepts": [{**ENTRY, "extra": {"payment_reference": "t"}}]}),
        answer(CHALLENGE, PAYMENT_REQUIRED=""),
        answer(CHALLENGE, PAYMENT_REQUIRED=base64_of(REFUSAL)),
        answer(CHALLENGE, Cache_Control="private"),
        answer(CHALLENGE, Access_Control_Allow_Origin="https://rail.example"),
        answer(CHALLENGE, status=200),
    ],
)
def test_a_challenge_that_lacks_a_part_is_not_taken_for_one(other_answer: Answer) -> None:
    """Each is right by the interface."""
    assert not has_specified_form(other_answer)


@pytest.mark.parametrize(
    "other_answer",
    [
        answer({**REFUSAL, "extensions": {}}),
        answer({**REFUSAL, "error": "payment_required"}),
        answer(REFUSAL, PAYMENT_RESPONSE=""),
        answer(REFUSAL, PAYMENT_RESPONSE=base64_of({**RESPONSE, "errorReason": "invalid"})),
        answer(REFUSAL, status=400),
    ],
)
def test_a_refusal_that_lacks_a_part_is_not_taken_for_one(other_answer: Answer) -> None:
    """Each but the last is right by the interface."""
    assert not has_specified_refusal(other_answer)
