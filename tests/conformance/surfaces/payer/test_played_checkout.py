"""The page of a played link is one that the suite itself can read, and its parts agree unless a script changes one."""

from __future__ import annotations

import json
from typing import Any, cast

import pytest

from conformance.lanes.tested_payer_accounts import PayerHost
from conformance.pages import qr
from conformance.pages.page import Page
from conformance.surfaces.payer.played_checkout import LinkScript, PlayedCheckout
from conformance.surfaces.payer.played_rail import Script
from conformance.surfaces.payer.quotes import PRICE, QuoteDesk, Terms
from conformance.vocabulary.lanes.registry import FACTS
from conformance.webhook_receiver.raw_receiver import Arrival, Receiver, Reply

PAYEES = {
    "algorand": "7777777777777777777777777777777777777777777777777774MSJUVU",
    "base": "0x" + "1" * 40,
    "solana": "4vJ9JU1bJJE96FWSJKvHsmmFADCg4gpZQff4P3bkLKi",
}


class Host:
    """The chain side of a checkout: what has reached the payee."""

    def __init__(self) -> None:
        self.units = 0

    async def read_units(self, address: str, asset: str) -> int:
        """Return the units."""
        del address, asset
        return self.units


def open_checkout(lane: str, link: LinkScript) -> tuple[PlayedCheckout, Host]:
    """Return the page of a link, and its chain."""
    network, host = FACTS[lane].main, Host()
    terms = Terms(network, network.caip2, network.asset_id, PAYEES[lane])
    desk = QuoteDesk("http://127.0.0.1:8402", {})
    rail = PlayedCheckout(desk, cast("PayerHost", host), terms, Script(), Receiver(), "http://127.0.0.1:1", link=link)
    return rail, host


async def read(checkout: PlayedCheckout, place: str = "") -> Reply:
    """Return the answer to a call below the page."""
    arrival = Arrival(1, 0.0, 0.0, "GET", checkout.path + place, "127.0.0.1:2", (), b"")
    return await checkout.answer(arrival)


async def read_code(checkout: PlayedCheckout) -> qr.Payload:
    """Return what the QR code says, once its image and the attribute are the same text."""
    page = Page((await read(checkout)).body.decode())
    image, element = await read(checkout, "/qr"), page.find("#qr")
    assert element is not None
    (text,) = qr.decode(image.body)
    assert text == element.attributes["data-payload"]
    return qr.read_payload(text)


@pytest.mark.parametrize("lane", PAYEES)
async def test_an_honest_page_agrees_with_its_code_and_its_status(lane: str) -> None:
    """Address, amount, asset and memo; then Paid once the amount has arrived."""
    checkout, host = open_checkout(lane, LinkScript())
    code = await read_code(checkout)
    page = Page((await read(checkout)).body.decode())
    assert code.holds(PAYEES[lane])
    assert code.microunits == PRICE
    assert str(code.asset).lower() == checkout.terms.asset.lower()
    assert code.memo in {None, checkout.memo}
    shown = {name: page.find(f"#{name}") for name in ("addr", "memo", "amount", "state")}
    assert {name: one.text for name, one in shown.items() if one is not None} == {
        "addr": PAYEES[lane],
        "memo": checkout.memo,
        "amount": "0.05 USDC",
        "state": "Waiting for the payment",
    }
    host.units = PRICE - 1
    assert json.loads((await read(checkout, "/status")).body)["status"] == "active"
    host.units = PRICE
    assert json.loads((await read(checkout, "/status")).body)["status"] == "paid"
    assert b'data-state="paid">Paid<' in (await read(checkout)).body


async def test_a_script_changes_one_part() -> None:
    """The code asks for more than the page, or the page shows another state than the status."""
    more: Any = lambda said: {**said, "amount": PRICE + 1}  # noqa: E731 - a change
    checkout, _ = open_checkout("algorand", LinkScript(code=more))
    assert (await read_code(checkout)).microunits == PRICE + 1
    assert b'data-microunits="50000"' in (await read(checkout)).body
    ended, _ = open_checkout("algorand", LinkScript(state="expired", status="active"))
    assert b"Expired" in (await read(ended)).body
    assert json.loads((await read(ended, "/status")).body)["status"] == "active"


async def test_a_late_page_shows_paid_to_a_resumed_payer_only() -> None:
    """Whatever has arrived."""
    checkout, host = open_checkout("solana", LinkScript(is_late=True))
    host.units = PRICE
    assert b'data-state="active"' in (await read(checkout)).body
    checkout.is_resumed = True
    assert b'data-state="paid"' in (await read(checkout)).body
