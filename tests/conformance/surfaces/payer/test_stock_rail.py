"""The played rail of stock clients speaks plain x402 version 2, as the x402 package reads and writes it."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from typing import Any

import pytest
from x402.http.utils import (
    decode_payment_required_header,
    decode_payment_response_header,
    encode_payment_signature_header,
)
from x402.schemas import PaymentPayload, PaymentRequired

from conformance.lanes.tested_payer_accounts import StockHost
from conformance.oracles.welds.refusal_stages import RECIPIENT, PaymentRefusal
from conformance.surfaces.payer.played_rail import Script, hang_up
from conformance.surfaces.payer.quotes import PATH, PRICE, QuoteDesk, Terms
from conformance.surfaces.payer.stock_rail import StockRail
from conformance.vocabulary.lanes.registry import FACTS
from conformance.webhook_receiver.raw_receiver import HANG_UP, Arrival, Receiver, Reply

NETWORK = FACTS["base"].main
PAYEE = "0x" + "1" * 40
BODY = {"recipient_address": "screen-allow"}


class Host(StockHost):
    """A chain that takes every payload to the payee, and records the offers."""

    def __init__(self) -> None:
        self.offers: list[Mapping[str, Any]] = []

    async def describe_stock_offer(self, asset: str) -> Mapping[str, Any]:
        """Return the domain of USDC."""
        assert asset == NETWORK.asset_id
        return {"name": "USD Coin", "version": "2"}

    async def accept_stock(self, offer: Mapping[str, Any], payload: Mapping[str, Any]) -> str:
        """Take a payload to the payee."""
        self.offers.append(offer)
        if payload["authorization"]["to"] != offer["pay_to"]:
            raise PaymentRefusal(RECIPIENT, "wrong_recipient", "it pays another account")
        return "0x" + "2" * 64


def make_rail(script: Script | None = None) -> StockRail:
    """Return a rail that sells the call for USDC."""
    desk = QuoteDesk("http://127.0.0.1:1", BODY)
    terms = Terms(NETWORK, NETWORK.caip2, NETWORK.asset_id, PAYEE)
    # The methods of welded payments are never called.
    host = Host()  # type: ignore[abstract]
    return StockRail(desk, host, terms, script or Script(), Receiver(), "http://127.0.0.1:2")


async def call(rail: StockRail, *headers: tuple[str, str]) -> Reply:
    """Return the answer to the call."""
    body = json.dumps(BODY).encode()
    return await rail.answer(Arrival(1, 0.0, 0.0, "POST", PATH, "127.0.0.1:3", headers, body))


def read_offer(reply: Reply) -> PaymentRequired:
    """Return the challenge as a stock client reads it."""
    assert reply.status == 402
    offer = decode_payment_required_header(dict(reply.headers)["PAYMENT-REQUIRED"])
    assert isinstance(offer, PaymentRequired)
    return offer


def make_proof(offer: PaymentRequired, payee: str = PAYEE, signature: str = "0xsigned") -> tuple[str, str]:
    """Return the header field in which a stock client presents its payment."""
    payload = {"authorization": {"to": payee}, "signature": signature}
    proof = PaymentPayload(x402_version=2, payload=payload, accepted=offer.accepts[0], resource=offer.resource)
    return "PAYMENT-SIGNATURE", encode_payment_signature_header(proof)


async def test_the_challenge_has_no_weld() -> None:
    """The x402 package reads every member, the body says nothing, and no member is of a weld."""
    reply = await call(make_rail())
    assert reply.body == b"{}"
    (entry,) = read_offer(reply).accepts
    assert (entry.scheme, entry.network, entry.amount, entry.asset, entry.pay_to) == (
        *("exact", NETWORK.caip2, str(PRICE)),
        *(NETWORK.asset_id, PAYEE),
    )
    assert entry.extra == {"name": "USD Coin", "version": "2"}


async def test_a_payment_of_the_offer_is_served() -> None:
    """With the settlement in PAYMENT-RESPONSE, which the x402 package reads."""
    rail = make_rail()
    reply = await call(rail, make_proof(read_offer(await call(rail))))
    assert reply.status == 200
    assert decode_payment_response_header(dict(reply.headers)["PAYMENT-RESPONSE"]).success
    (presentation,) = rail.presentations
    assert presentation.payment == '"0xsigned"'
    assert rail.tokens == ("0xsigned",)


async def test_the_answer_follows_the_script() -> None:
    """A rail that loses the answer has the payment all the same."""
    rail = make_rail(Script(steps=(hang_up,)))
    assert await call(rail, make_proof(read_offer(await call(rail)))) is HANG_UP
    assert rail.presentations[0].tx_id is not None


async def test_a_payment_to_another_payee_is_refused() -> None:
    """By the chain's side, and the payer gets a new challenge."""
    rail = make_rail()
    proof = make_proof(read_offer(await call(rail)), payee="0x" + "3" * 40)
    read_offer(await call(rail, proof))
    assert "wrong_recipient" in str(rail.presentations[0].fault)


@pytest.mark.parametrize(
    ("header", "value"),
    [
        ("PAYMENT-SIGNATURE", "not base64"),
        ("PAYMENT-SIGNATURE", base64.b64encode(b'{"accepted": {"amount": "1"}}').decode()),
        ("PAYMENT-SIGNATURE", base64.b64encode(b'{"accepted": "all"}').decode()),
    ],
)
async def test_a_proof_of_no_offer_of_the_rail_is_refused(header: str, value: str) -> None:
    """And is counted as a presentation, so that no scene takes it for a refusal to pay."""
    rail = make_rail()
    await call(rail)
    read_offer(await call(rail, (header, value)))
    assert len(rail.presentations) == 1
    assert rail.presentations[0].fault is not None


async def test_a_welded_proof_is_no_payment() -> None:
    """`X-PAYMENT` is the header of version 1 and of welded rails."""
    rail = make_rail()
    read_offer(await call(rail, ("X-PAYMENT", "e30=")))
    assert rail.presentations == []
