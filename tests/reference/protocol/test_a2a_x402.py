"""The x402 extension's words: codes by its names, no secrets, refused orders reported (P-RA-05, P-RA-08, P-RA-09)."""

from __future__ import annotations

import json

import pytest

from reference.protocol import a2a_x402
from reference.protocol.a2a import Outcome, TaskState, advance, text_part
from reference.protocol.refusals import CODES_402

NAMES = {
    "INVALID_SIGNATURE": {"invalid_signature", "weld_mismatch"},
    "EXPIRED_PAYMENT": {"challenge_expired", "authorization_expired"},
    "DUPLICATE_NONCE": {"payment_already_spent", "payment_refunded", "authorization_used"},
    "NETWORK_MISMATCH": {"lane_mismatch"},
    "INVALID_AMOUNT": {"wrong_amount"},
    "INSUFFICIENT_FUNDS": {"insufficient_funds"},
}


@pytest.mark.parametrize("code", sorted(CODES_402 | {"payment_already_spent", "payment_refunded"}))
def test_each_code_has_its_name(code: str) -> None:
    """By the table of P-RA-09; all others are SETTLEMENT_FAILED."""
    error_name = next((name for name, codes in NAMES.items() if code in codes), "SETTLEMENT_FAILED")

    assert error_name == a2a_x402.error_of(code)


OUTCOMES = (
    a2a_x402.require_payment("u", {}, {}),
    a2a_x402.refuse_payment("u", {}, {}, a2a_x402.Refusal("weld_mismatch", "t", "n")),
    a2a_x402.keep_undecided("u", {}, code="tx_not_found", retry_after=2),
    a2a_x402.complete_payment("u", {}, {}),
    a2a_x402.record_rejection("u"),
)


@pytest.mark.parametrize("outcome", OUTCOMES)
def test_no_outcome_keeps_a_payload(outcome: Outcome) -> None:
    """P-CV-12: the message is kept, its credential is not."""
    metadata = {a2a_x402.PAYLOAD: {"tx_id": "5ecret"}, a2a_x402.STATUS: "payment-submitted"}
    message = {"kind": "message", "role": "user", "parts": [], "messageId": "m", "metadata": metadata}
    task = advance(None, message, outcome, at="t", fresh=("a", "b", "c", "d"))

    [kept_message] = task.history
    assert kept_message["metadata"] == {a2a_x402.STATUS: "payment-submitted"}
    assert b"5ecret" not in task.to_bytes() + json.dumps(task.wire()).encode()


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


def test_a_refused_order_is_told_with_its_place() -> None:
    """P-RA-05: what a payment would buy, and where the order is wrong, as a JSON pointer."""
    fault = {"loc": ["request", "a/b", 0], "msg": "no", "type": "t"}
    payment = a2a_x402.Refusal("weld_mismatch", "t", "n")

    for outcome in (
        a2a_x402.require_payment("u", {}, {}, [fault]),
        a2a_x402.refuse_payment("u", {}, {}, payment, [fault]),
    ):
        [part] = outcome.parts
        assert "(/request/a~1b/0: no)" in part["text"]
        assert "published example" in part["text"]
        assert [fault] == outcome.message_metadata["error_detail"]
