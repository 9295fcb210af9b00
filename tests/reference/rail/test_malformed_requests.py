"""An invalid order is quoted over the example, and the challenge says so before the payment (P-CH-11, P-RA-05)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.reference.rail.rail_answers import refused_402
from tests.reference.rail.rail_stack import COMPLIANCE, COMPLIANCE_BODY, RECEIPT, Payer, Rail, header, proof_of
from tests.reference.rail.test_refusals import BAD_BODIES

JSON = {"content-type": "application/json"}


@pytest.mark.parametrize("body", [body for body in BAD_BODIES.values() if body])
def test_a_refused_body_is_told_in_the_challenge(rail: Rail, body: bytes) -> None:
    """The same faults that a payment would meet as 422, at the same places; the example is what is quoted."""
    quote = refused_402(rail.http.post(COMPLIANCE, content=body, headers=JSON), "payment_required")
    second_entry = rail.http.post(
        COMPLIANCE, content=body, headers=JSON | {"X-PAYMENT": header(proof_of("A" * 52, rail.quote()))}
    )
    assert quote["error_detail"] == second_entry.json()["detail"][:3]
    assert quote["accepts"][0]["extra"]["request_hash"] == rail.quote()["extra"]["request_hash"]


def test_a_misspelt_member_is_named(rail: Rail) -> None:
    """By its place, so that the payer finds it."""
    answer = rail.http.post(COMPLIANCE, json={**COMPLIANCE_BODY, "amount_microunit": 5})
    report = refused_402(answer, "payment_required")["error_detail"]
    assert [(one["loc"], one["type"]) for one in report] == [(["body", "amount_microunit"], "extra_forbidden")]


def test_another_media_type_is_told(rail: Rail) -> None:
    """What would be 415 with a payment."""
    answer = rail.http.post(COMPLIANCE, content=json.dumps(COMPLIANCE_BODY), headers={"content-type": "text/plain"})
    report = refused_402(answer, "payment_required")["error_detail"]
    assert [(one["loc"], one["type"]) for one in report] == [(["header", "content-type"], "unsupported_media_type")]


@pytest.mark.parametrize("method", ["POST", "GET", "PUT"])
def test_nothing_was_refused_where_nothing_was_sent(rail: Rail, method: str) -> None:
    """A client that asks for the price alone, without a body or by another method, gets it."""
    assert "error_detail" not in refused_402(rail.http.request(method, COMPLIANCE), "payment_required")


def test_a_good_order_is_quoted_without_a_word(rail: Rail) -> None:
    """What is quoted is what was sent."""
    assert "error_detail" not in refused_402(rail.http.post(COMPLIANCE, json=COMPLIANCE_BODY), "payment_required")


def test_a_refused_payment_of_a_refused_order_is_told_of_both(rail: Rail) -> None:
    """The proof is judged first; the new challenge says that it is over the example again."""
    answer = rail.present({"tx_id": "A" * 52, "payment_reference": "garbage"}, body={"recipient_address": 7})
    places = [one["loc"][1] for one in refused_402(answer, "unknown_challenge")["error_detail"]]
    assert places == ["recipient_address", "network"]


def test_what_is_told_of_a_large_order_stays_short(rail: Rail) -> None:
    """The challenge goes into a header, too: a few faults, with their names cut (P-CH-02)."""
    body: dict[str, Any] = {"x" * 5_000 + str(number): 1 for number in range(10)}
    answer = rail.http.post(RECEIPT, json=body)
    report = refused_402(answer, "payment_required")["error_detail"]
    assert len(report) == 3
    assert len(json.dumps(report)) < 600


def test_a_whole_number_is_an_integer_however_it_is_written(rail: Rail, payer: Payer) -> None:
    """JSON Schema, and A2A, know no difference: one order, one hash, and it is what a payment buys."""
    order = {**COMPLIANCE_BODY, "amount_microunits": 154593}
    texts = [
        json.dumps(order),
        json.dumps(order).replace("154593", "154593.0"),
        json.dumps(order).replace("154593", "1.54593e5"),
    ]
    quotes = [rail.http.post(COMPLIANCE, content=text, headers=JSON).json() for text in texts]
    assert [quote.get("error_detail") for quote in quotes] == [None] * 3
    entries = [quote["accepts"][0] for quote in quotes]
    assert len({entry["extra"]["request_hash"] for entry in entries}) == 1
    proof = header(proof_of(payer.pay(entries[1]), entries[1]))
    answers = [rail.http.post(COMPLIANCE, content=text, headers=JSON | {"X-PAYMENT": proof}) for text in texts]
    assert [answer.status_code for answer in answers] == [200] * 3
    assert len({answer.content for answer in answers}) == 1


@pytest.mark.parametrize("text", ["0.5", "true", '"5"', "1e400"])
def test_what_is_no_whole_number_is_refused(rail: Rail, text: str) -> None:
    """And the challenge says so."""
    body = json.dumps({**COMPLIANCE_BODY, "amount_microunits": 5}).replace("5", text)
    answer = rail.http.post(COMPLIANCE, content=body, headers=JSON)
    assert refused_402(answer, "payment_required")["error_detail"]
