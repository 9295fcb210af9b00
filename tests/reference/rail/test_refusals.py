"""Every row of the order of checks, reached with its code (5.7)."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable

import pytest

from tests.reference.rail.rail_answers import refused_402, refused_otherwise, refused_payment
from tests.reference.rail.rail_stack import (
    COMPLIANCE,
    COMPLIANCE_BODY,
    RECEIPT,
    RECEIPT_BODY,
    Payer,
    Rail,
    header,
    proof_of,
)

ALGORAND_TX = "A" * 52
SOLANA_TX = "1" * 64
AUTHORIZED = {
    "authorization": {
        "from": "0x" + "11" * 20,
        "to": "0x" + "22" * 20,
        "value": "50000",
        "validAfter": "0",
        "validBefore": "99999999999",
        "nonce": "0x" + "33" * 32,
    },
    "signature": "0x" + "44" * 65,
}


# Steps 1 and 2.


def test_an_unknown_path_is_404(rail: Rail) -> None:
    """Step 1: with or without a proof."""
    for headers in ({}, {"X-PAYMENT": header({})}):
        answer = rail.http.post("/pay/v1/nothing", json={}, headers=headers)
        assert (answer.status_code, answer.json()) == (404, {"detail": "Not Found"})


def test_a_disabled_service_is_503(own_rail: Callable[..., Rail]) -> None:
    """Step 1: the others go on."""
    rail = own_rail(WP_RAIL_DISABLED_SERVICES="compliance-receipt")
    refused_otherwise(rail.http.post(COMPLIANCE, json=COMPLIANCE_BODY), 503, "service_disabled")
    assert rail.http.post(RECEIPT, json=RECEIPT_BODY).status_code == 402


def test_a_large_body_is_413(rail: Rail) -> None:
    """Step 2: one byte over the limit, with a length or without one; at the limit it is read."""
    body = json.dumps({"jws": "x" * 70_000}).encode()
    headers = {"content-type": "application/json", "X-PAYMENT": header({})}
    refused_otherwise(rail.http.post(RECEIPT, content=body[:65_537], headers=headers), 413, "payload_too_large")
    refused_otherwise(rail.http.post(RECEIPT, content=iter([body]), headers=headers), 413, "payload_too_large")
    assert rail.http.post(RECEIPT, content=body[:65_536], headers=headers).status_code == 402


def test_too_many_calls_are_429(own_rail: Callable[..., Rail]) -> None:
    """Step 2, P-RL-05: 60 at once, then 429; calls with a proof are counted apart; the clock refills."""
    rail = own_rail(WP_RATE_LIMITS="on")
    first = [rail.http.post(COMPLIANCE, json=COMPLIANCE_BODY) for _ in range(60)]
    assert {402} == {answer.status_code for answer in first}
    assert first[0].headers["X-RateLimit-Limit"] == "60"
    assert int(first[0].headers["X-RateLimit-Remaining"]) == 59
    answer = rail.http.post(COMPLIANCE, json=COMPLIANCE_BODY)
    while answer.status_code == 402:  # what trickled in while 60 calls ran
        answer = rail.http.post(COMPLIANCE, json=COMPLIANCE_BODY)
    refused_otherwise(answer, 429, "rate_limited")
    assert int(answer.headers["Retry-After"]) >= 1
    refused_402(rail.present("%%%"), "invalid_payment_header")
    rail.set_clock(60)
    assert rail.http.post(COMPLIANCE, json=COMPLIANCE_BODY).status_code == 402


# Steps 3 and 4.


def test_without_a_proof_it_is_402(rail: Rail) -> None:
    """Step 3; nothing was judged, so nothing is said about a payment."""
    answer = rail.http.post(COMPLIANCE, json=COMPLIANCE_BODY)
    refused_402(answer, "payment_required")
    assert "PAYMENT-RESPONSE" not in answer.headers


def test_a_stock_client_is_not_welded(rail: Rail) -> None:
    """Step 3, P-XP-02: PAYMENT-SIGNATURE alone is answered as x402 says; with X-PAYMENT it is ignored."""
    stock = {"PAYMENT-SIGNATURE": base64.b64encode(b'{"x402Version":2}').decode()}
    for method in ("POST", "GET"):
        answer = rail.http.request(method, COMPLIANCE, json=COMPLIANCE_BODY, headers=stock)
        refused_payment(answer, "payment_not_welded")
    refused_payment(rail.present("%%%", headers=stock), "invalid_payment_header")
    refused_payment(rail.present({"x402Version": 2, "accepted": {"network": "eip155:1"}}), "payment_not_welded")
    refused_payment(rail.present({"x402Version": 1, "network": "base"}), "payment_not_welded")
    refused_payment(rail.http.get(COMPLIANCE, headers={"X-PAYMENT": "e30="}), "method_not_payable")


@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "PATCH", "DELETE", "BREW"])
def test_another_method_is_not_payable(rail: Rail, method: str) -> None:
    """Step 3: with a proof; without one it is an ordinary 402 (P-CH-11)."""
    with_proof = rail.http.request(method, COMPLIANCE, headers={"X-PAYMENT": header({})})
    without = rail.http.request(method, COMPLIANCE)
    assert (with_proof.status_code, without.status_code) == (402, 402)
    if method != "HEAD":
        assert (with_proof.json()["error"], without.json()["error"]) == ("method_not_payable", "payment_required")


@pytest.mark.parametrize("value", ["", "%%%", base64.b64encode(b"{}").decode(), base64.b64encode(b"[").decode()])
def test_a_malformed_header_is_402(rail: Rail, value: str) -> None:
    """Step 4."""
    refused_402(rail.present(value), "invalid_payment_header")


def test_two_headers_are_402(rail: Rail) -> None:
    """Step 4: exactly one counts."""
    value = header({"tx_id": ALGORAND_TX, "payment_reference": "R"})
    answer = rail.http.post(COMPLIANCE, json=COMPLIANCE_BODY, headers=[("X-PAYMENT", value), ("X-PAYMENT", value)])
    refused_402(answer, "invalid_payment_header")


def test_an_ordinary_payload_in_x_payment_is_not_welded(rail: Rail) -> None:
    """Step 4, P-XP-03."""
    refused_402(rail.present({"x402Version": 2, "payload": {}}), "payment_not_welded")


# Steps 5 and 6.


def test_a_forged_token_is_unknown(rail: Rail) -> None:
    """Step 5: garbage, and a real token with another half A."""
    token = rail.quote()["extra"]["payment_reference"]
    forged = token[:28] + ("0" if token[28] != "0" else "1") + token[29:]
    for text in ("garbage", forged):
        refused_402(rail.present({"tx_id": ALGORAND_TX, "payment_reference": text}), "unknown_challenge")


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"tx_id": SOLANA_TX}, "lane_mismatch"),
        ({"network": "eip155:8453"}, "lane_mismatch"),
        ({"tx_id": "A" * 51 + "B"}, "invalid_payment_header"),
        ({"tx_id": "a" * 52}, "invalid_payment_header"),
        ({"tx_id": " " + "A" * 52}, "invalid_payment_header"),
    ],
)
def test_a_proof_must_fit_its_lane(rail: Rail, changes: dict[str, str], code: str) -> None:
    """Step 6: an id of another lane or another network; an id that is canonical nowhere."""
    entry = rail.quote()
    refused_payment(rail.present(proof_of(ALGORAND_TX, entry) | changes), code)


def test_an_authorization_for_an_algorand_token_is_a_mismatch(rail: Rail) -> None:
    """Step 6: the shape is another lane's."""
    token = rail.quote()["extra"]["payment_reference"]
    refused_payment(rail.present(AUTHORIZED | {"challenge_token": token}), "lane_mismatch")


# Steps 7 and 8.


@pytest.mark.parametrize("media", ["text/plain", "application/json; charset=latin-1", "application/jsonx", ""])
def test_another_media_type_is_415(rail: Rail, media: str) -> None:
    """Step 7: the payment stays usable."""
    proof = header(proof_of(ALGORAND_TX, rail.quote()))
    body = json.dumps(COMPLIANCE_BODY).encode()
    answer = rail.http.post(COMPLIANCE, content=body, headers={"X-PAYMENT": proof, "content-type": media})
    refused_otherwise(answer, 415, "unsupported_media_type")


BAD_BODIES: dict[str, bytes] = {
    "empty": b"",
    "not JSON": b"{",
    "byte order mark": b"\xef\xbb\xbf{}",
    "not UTF-8": b'{"recipient_address":"\xff\xff\xff\xff","network":"algorand_mainnet"}',
    "duplicate member": b'{"network":"algorand_mainnet","network":"base_mainnet","recipient_address":"screen-allow"}',
    "NaN": b'{"recipient_address":"screen-allow","network":"algorand_mainnet","amount_microunits":NaN}',
    "too deep": b"[" * 33 + b"]" * 33,
    "array": b"[]",
    "missing member": b'{"network":"algorand_mainnet"}',
    "unknown member": b'{"recipient_address":"screen-allow","network":"algorand_mainnet","more":1}',
    "wrong type": b'{"recipient_address":7,"network":"algorand_mainnet"}',
    "boolean for a number": b'{"recipient_address":"abcd","network":"algorand_mainnet","amount_microunits":true}',
    "unknown network": b'{"recipient_address":"screen-allow","network":"dogecoin"}',
    "too large a number": b'{"recipient_address":"abcd","network":"algorand_mainnet","amount_microunits":1e400}',
    "unsafe integer": b'{"recipient_address":"abcd","network":"algorand_mainnet","amount_microunits":9007199254740993}',
    "lone surrogate": b'{"recipient_address":"abc\\ud800","network":"algorand_mainnet"}',
}


@pytest.mark.parametrize("body", BAD_BODIES.values(), ids=BAD_BODIES.keys())
def test_a_bad_body_is_422(rail: Rail, body: bytes) -> None:
    """Step 8: `detail` with loc, msg and type, never the input; unpaid it is 402 for the example (P-CH-11)."""
    kind = {"content-type": "application/json"}
    proof = header(proof_of(ALGORAND_TX, rail.quote()))
    answer = rail.http.post(COMPLIANCE, content=body, headers=kind | {"X-PAYMENT": proof})
    assert answer.status_code == 422, answer.text
    assert set(answer.json()) == {"detail"}
    for item in answer.json()["detail"]:
        assert set(item) == {"loc", "msg", "type"}
        assert item["loc"][0] == "body"
    unpaid = rail.http.post(COMPLIANCE, content=body, headers=kind)
    example = rail.quote()["extra"]["request_hash"]
    assert refused_402(unpaid, "payment_required")["accepts"][0]["extra"]["request_hash"] == example


# Steps 9 to 11.


def test_a_spent_payment_buys_nothing_else(rail: Rail, payer: Payer) -> None:
    """Step 9: another request, another token, another payment for the token: 409 each."""
    entry, second_entry = rail.quote(), rail.quote()
    proof = proof_of(payer.pay(entry), entry)
    assert rail.present(proof).status_code == 200
    second = payer.pay(entry)
    body = {**COMPLIANCE_BODY, "recipient_address": "screen-block"}
    refused_otherwise(rail.present(proof, body=body), 409, "payment_already_spent")
    refused_otherwise(rail.present(proof_of(proof["tx_id"], second_entry)), 409, "payment_already_spent")
    refused_otherwise(rail.present(proof_of(second, entry)), 409, "payment_already_spent")


def test_another_request_is_a_mismatch(rail: Rail, payer: Payer) -> None:
    """Step 10: other body, other service; then the right one is served, for nothing was lost."""
    entry = rail.quote()
    proof = proof_of(payer.pay(entry), entry)
    other_request = {**COMPLIANCE_BODY, "recipient_address": "screen-block"}
    refused_payment(rail.present(proof, body=other_request), "request_mismatch", proof["tx_id"])
    refused_payment(rail.present(proof, RECEIPT, RECEIPT_BODY), "request_mismatch", proof["tx_id"])
    assert rail.present(proof).status_code == 200


def test_an_expired_challenge_buys_nothing(own_rail: Callable[..., Rail], payer: Payer) -> None:
    """Step 11: towards the end of its lifetime it is redeemed, after it it is not."""
    rail = own_rail(WP_CHALLENGE_TTL="1000")
    in_time, late = rail.quote(), rail.quote()
    assert in_time["maxTimeoutSeconds"] == 1000
    proofs = [proof_of(payer.pay(entry), entry) for entry in (in_time, late)]
    rail.set_clock(600)
    assert rail.present(proofs[0]).status_code == 200
    rail.set_clock(1300)
    refused_payment(rail.present(proofs[1]), "challenge_expired", proofs[1]["tx_id"])
