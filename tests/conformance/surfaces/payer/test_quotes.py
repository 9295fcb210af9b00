"""Quotes of the played rail keep the specification's forms, and its receipts verify by the suite's own oracle."""

from __future__ import annotations

import json
from base64 import b64decode
from typing import Any

import pytest

from conformance.oracles.challenge_schema import faults_of_challenge
from conformance.oracles.receipts import ReceiptFault, verify_receipt
from conformance.surfaces.payer.quotes import (
    JWKS,
    LIFETIME_SECONDS,
    PRICE,
    Quote,
    QuoteDesk,
    Terms,
    new_signer,
    to_header,
)
from conformance.vocabulary.lanes.registry import FACTS

NETWORK = next(iter(FACTS.values())).main
TERMS = Terms(NETWORK, NETWORK.caip2, NETWORK.asset_id, "the payee")
TX_ID = "A" * 52


@pytest.fixture
def desk() -> QuoteDesk:
    """Return a desk at a loopback address."""
    return QuoteDesk("http://127.0.0.1:8402", {"network": NETWORK.key})


def issue(desk: QuoteDesk) -> tuple[Quote, dict[str, Any]]:
    """Return a quote and its entry."""
    quote = desk.issue(TERMS)
    return quote, desk.entry(quote, {"binding": "note-binding", "name": "USDC"})


def test_a_quote_has_the_form_of_a_challenge(desk: QuoteDesk) -> None:
    """The body of the 402 fits the schema of x402 version 2 with the interface's names, and the header repeats it."""
    quote, entry = issue(desk)
    document = desk.document([entry])
    assert faults_of_challenge(document) == []
    assert json.loads(b64decode(to_header(document))) == document
    assert entry["extra"]["payment_reference"] == quote.token
    assert entry["maxAmountRequired"] == str(PRICE)


def test_an_old_quote_was_issued_then(desk: QuoteDesk) -> None:
    """The age shows in the token, from which payers read the issue time."""
    old, fresh = desk.issue(TERMS, age=LIFETIME_SECONDS), desk.issue(TERMS)
    assert fresh.issued_at - old.issued_at in range(LIFETIME_SECONDS - 1, LIFETIME_SECONDS + 2)
    assert old.token.startswith(f"{old.issued_at}:")


def test_a_receipt_verifies_unless_it_is_signed_by_another_key(desk: QuoteDesk) -> None:
    """With the key set that the rail publishes."""
    quote, _ = issue(desk)
    keys = desk.documents()[JWKS]
    honest = desk.answer(quote, TX_ID)["payable_receipt"]
    assert verify_receipt(honest, keys)["request_hash"] == desk.hash_request()
    forged = desk.answer(quote, TX_ID, signer=new_signer())["payable_receipt"]
    with pytest.raises(ReceiptFault):
        verify_receipt(forged, keys)


def test_a_changed_claim_is_signed(desk: QuoteDesk) -> None:
    """A receipt of another call verifies: only its content shows that it does not fit."""
    quote, _ = issue(desk)
    answer = desk.answer(quote, TX_ID, lambda claims: {**claims, "request_hash": desk.hash_request({"other": 1})})
    claims = verify_receipt(answer["payable_receipt"], desk.documents()[JWKS])
    assert claims["request_hash"] != desk.hash_request()
