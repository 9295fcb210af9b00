"""A chaos run judges what payers got: each kind of violation is reported, and honest answers cause no violation."""

from __future__ import annotations

import base64
import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from reference.protocol.jws import sign_compact
from reference.protocol.keys import SigningKey, jwks
from tests.chaos.judging import Purchase, judge
from tests.chaos.schedule import WEIGHTS, plan_events
from tests.conformance.served import Served, serve

KEY = SigningKey.from_seed(bytes(range(32)))
OTHER_KEY = SigningKey.from_seed(bytes(32))
PRICE = 50_000


class Rail:
    """A rail that answers each proof as it stored it, and refuses another call by it."""

    def __init__(self) -> None:
        self.answers: dict[str, dict[str, Any]] = {}
        self.sells_twice = False
        self.forgets = False

    def answer(self, method: str, target: str, headers: Any, body: bytes) -> tuple[int, Any]:
        """Answer one call."""
        del method
        if target.endswith("jwks.json"):
            return 200, jwks([KEY.public])
        is_other = json.loads(body)["recipient_address"] != "screen-allow"
        if self.forgets or (is_other and not self.sells_twice):
            return 402, {"error": "payment_already_used"}
        return 200, self.answers[headers["X-PAYMENT"]]


@pytest.fixture
def rail() -> Rail:
    """A rail without answers."""
    return Rail()


@pytest.fixture
def server(rail: Rail) -> Iterator[Served]:
    """The rail on a port."""
    with serve(rail.answer) as served:
        yield served


def make_answer(payment: str, key: SigningKey = KEY) -> dict[str, Any]:
    """Return the answer of a paid call with its receipt."""
    return {"payable_receipt": sign_compact({"settled_payment_ref": payment}, key)}


def buy(rail: Rail, server: Served, number: int, answer: dict[str, Any] | None) -> Purchase:
    """Return a purchase that got an answer, or none."""
    proof = base64.b64encode(str(number).encode()).decode()
    body = {"recipient_address": "screen-allow"}
    purchase = Purchase(number, "algorand", {"X-PAYMENT": proof}, body, PRICE, last="503 busy")
    if answer is not None:
        rail.answers[proof] = answer
        headers = {"X-PAYMENT": proof}
        url = f"{server.url}/pay/v1/compliance/receipt"
        purchase.answer = httpx.post(url, json=body, headers=headers, trust_env=False)
    return purchase


def test_honest_answers_are_no_violation(rail: Rail, server: Served) -> None:
    """Two payments, two receipts, two prices."""
    purchases = [buy(rail, server, number, make_answer(f"sha256:{number}")) for number in range(2)]
    assert judge(purchases, 2 * PRICE, [server.url, server.url]) == []


def test_a_payer_without_an_answer_is_reported(rail: Rail, server: Served) -> None:
    """The last answer is shown, and the money that arrived is for nothing."""
    violations = judge([buy(rail, server, 7, None)], PRICE, [server.url])
    assert violations == [
        "purchase 7 (algorand) got no final answer; the last was 503 busy",
        f"{PRICE} atomic units arrived, and answers are for 0",
    ]


def test_money_that_does_not_match_is_reported(rail: Rail, server: Served) -> None:
    """An answer without a payment is one for nothing."""
    purchases = [buy(rail, server, 1, make_answer("sha256:1"))]
    assert judge(purchases, 0, [server.url]) == [f"0 atomic units arrived, and answers are for {PRICE}"]


def test_a_receipt_for_two_purchases_is_reported(rail: Rail, server: Served) -> None:
    """One receipt, and so one payment, for two answers."""
    purchases = [buy(rail, server, number, make_answer("sha256:1")) for number in range(2)]
    assert judge(purchases, 2 * PRICE, [server.url]) == ["2 answers have one receipt", "2 receipts name one payment"]


def test_a_receipt_of_another_key_is_reported(rail: Rail, server: Served) -> None:
    """The key set of the rail decides."""
    violations = judge([buy(rail, server, 1, make_answer("sha256:1", OTHER_KEY))], PRICE, [server.url])
    assert len(violations) == 1
    assert "does not verify" in violations[0]


def test_a_proof_that_buys_again_is_reported(rail: Rail, server: Served) -> None:
    """A second call for one payment."""
    purchases = [buy(rail, server, 1, make_answer("sha256:1"))]
    rail.sells_twice = True
    assert judge(purchases, PRICE, [server.url]) == ["the proof of purchase 1 bought a second call"]


def test_a_forgotten_answer_is_reported(rail: Rail, server: Served) -> None:
    """A worker that refuses the proof has lost the payment."""
    purchases = [buy(rail, server, 1, make_answer("sha256:1"))]
    rail.forgets = True
    (violation,) = judge(purchases, PRICE, [server.url])
    assert violation == f"the proof of purchase 1 got another answer at {server.url}: 402"


def test_the_seed_decides_the_events() -> None:
    """A longer run begins as a shorter one, and each kind of event happens."""
    short, long = ([*plan_events(7, seconds, workers=2, nodes=2)] for seconds in (60.0, 3600.0))
    assert long[: len(short)] == short
    assert [*plan_events(8, 60.0, workers=2, nodes=2)] != short
    assert Counter(event.kind for event in long).keys() == WEIGHTS.keys()
    assert {event.place for event in long} == {0, 1}
