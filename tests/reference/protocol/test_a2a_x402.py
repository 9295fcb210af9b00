"""The x402 extension's words: our codes by its names, secrets left out, numbers as they are (P-RA-08, P-RA-09)."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference.protocol import a2a_x402
from reference.protocol.a2a import Outcome, TaskState, advanced, text_part, whole_numbers
from reference.protocol.canonical_json import MAX_INTEGER, canonicalise
from reference.protocol.refusals import CODES_402

NAMES = {
    "INVALID_SIGNATURE": {"invalid_signature", "weld_mismatch"},
    "EXPIRED_PAYMENT": {"challenge_expired", "authorization_expired"},
    "DUPLICATE_NONCE": {"payment_already_spent", "authorization_used"},
    "NETWORK_MISMATCH": {"lane_mismatch"},
    "INVALID_AMOUNT": {"wrong_amount"},
    "INSUFFICIENT_FUNDS": {"insufficient_funds"},
}


@pytest.mark.parametrize("code", sorted(CODES_402 | {"payment_already_spent"}))
def test_each_code_has_its_name(code: str) -> None:
    """By the table of P-RA-09; all others are SETTLEMENT_FAILED."""
    wanted = next((name for name, codes in NAMES.items() if code in codes), "SETTLEMENT_FAILED")

    assert wanted == a2a_x402.error_of(code)


OUTCOMES = (
    a2a_x402.required("u", {}, {}),
    a2a_x402.refused("u", {}, {}, code="weld_mismatch", transaction="t", network="n"),
    a2a_x402.undecided("u", {}, code="tx_not_found", retry_after=2),
    a2a_x402.completed("u", {}, {}),
    a2a_x402.rejected("u"),
)


@pytest.mark.parametrize("outcome", OUTCOMES)
def test_no_outcome_keeps_a_payload(outcome: Outcome) -> None:
    """P-CV-12: the message is kept, its credential is not."""
    metadata = {a2a_x402.PAYLOAD: {"tx_id": "5ecret"}, a2a_x402.STATUS: "payment-submitted"}
    message = {"kind": "message", "role": "user", "parts": [], "messageId": "m", "metadata": metadata}
    task = advanced(None, message, outcome, at="t", fresh=("a", "b", "c", "d"))

    [kept] = task.history
    assert kept["metadata"] == {a2a_x402.STATUS: "payment-submitted"}
    assert b"5ecret" not in task.stored() + json.dumps(task.wire()).encode()


def test_only_what_must_be_paid_is_in_the_payment_required_state() -> None:
    """A payment that is not decided yet asks for no other."""
    states = [outcome.metadata.get("payment_state") for outcome in OUTCOMES]

    assert states == ["a2a-x402", "a2a-x402", None, None, None]
    assert [outcome.state for outcome in OUTCOMES] == [
        *([TaskState.INPUT_REQUIRED] * 3),
        TaskState.COMPLETED,
        TaskState.FAILED,
    ]
    assert all(outcome.extensions == ("u",) for outcome in OUTCOMES)
    assert text_part("Payment required.") in OUTCOMES[0].parts


_NUMBERS = st.integers(-MAX_INTEGER, MAX_INTEGER) | st.floats(allow_nan=False, allow_infinity=False)
_LEAVES = st.none() | st.booleans() | st.text(max_size=3) | _NUMBERS
_VALUES = st.recursive(_LEAVES, lambda one: st.lists(one, max_size=3) | st.dictionaries(st.text(max_size=3), one))


@given(_VALUES)
def test_whole_numbers_change_no_hash(value: Any) -> None:
    """The RFC 8785 form, and with it each hash, is the same; what is not whole stays."""
    assert canonicalise(value) == canonicalise(whole_numbers(value))


@given(st.integers(-MAX_INTEGER, MAX_INTEGER))
def test_floats_of_protobuf_become_integers(number: int) -> None:
    """However deep they are."""
    found = whole_numbers([{"a": [float(number)]}])[0]["a"][0]

    assert (number, int) == (found, type(found))
