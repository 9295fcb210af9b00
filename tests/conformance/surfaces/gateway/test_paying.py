"""`weldproof pay` on a checkout page: it pays what the page says once, and nothing when the page contradicts itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from conformance import target
from conformance.engine.session import Session
from conformance.http.client import Client, Counter, Names
from conformance.log.events import EventLog
from conformance.surfaces.gateway.paying import PaymentRefused, pay_checkout, token_in
from tests.conformance.checks.gateway.scripted_checkout import (
    BASE,
    ELSEWHERE,
    NETWORK,
    PAYOUT,
    PROFILE,
    Checkout,
    Link,
    Payer,
    honest,
    payload,
    plain_page,
)

LINK = Link("tokenNumber000001", 12_345)


async def paid(checkout: Checkout, url: str = f"{BASE}/checkout/{LINK.token}", lane: str | None = None) -> Any:
    """Pay a page, and return what the command prints."""
    profile = target.parse(PROFILE.format(defaults="reference", payout=PAYOUT) + "")
    profile = profile.model_copy(update={"budgets": target.Budgets(paid=0.1, confirmation=0.1)})
    client = Client(checkout, EventLog(), "pay", Names(), Counter())
    session = Session(profile, client, Names(), 1)
    below: Any = type("Below", (), {"caip2": "algorand:x", "lane": "algorand", "close": _nothing})()
    session._payers["gateway algorand"] = below
    session._checkout_payers["algorand"] = Payer(checkout)
    try:
        return await pay_checkout(session, client, url, lane, lambda *_: None, _nothing)
    finally:
        await session.close()


async def _nothing(*_: object) -> None:
    pass


def one_link(**members: Any) -> Checkout:
    return Checkout(links={LINK.token: Link(LINK.token, LINK.microunits)}, **members)


async def test_link_is_paid_as_its_page_says() -> None:
    """One transfer of the exact amount to the address, with the memo; then the page shows Paid."""
    checkout = one_link()
    result = await paid(checkout)
    assert honest(LINK, checkout.transfers[0])
    assert len(checkout.transfers) == 1
    assert (result["status"], result["amount_microunits"], result["network"]) == ("paid", 12_345, NETWORK)
    assert (result["address"], result["memo"], result["tx_id"]) == (PAYOUT, LINK.memo, "tx1")


def other(edit: Callable[[str], str]) -> Callable[[Link], str]:
    return lambda link: edit(plain_page(link))


CONTRADICTIONS: dict[str, dict[str, Any]] = {
    "another address": {"scanned": lambda link: payload(link, ELSEWHERE)},
    "another amount": {"scanned": lambda link: payload(Link(link.token, link.microunits + 1))},
    "another memo": {"scanned": lambda link: payload(Link("someone", link.microunits))},
    "another asset": {"scanned": lambda link: payload(link).replace("10458941", "31566704")},
    "another address as text": {"page": other(lambda page: page.replace(PAYOUT, ELSEWHERE))},
    "another amount as text": {"page": other(lambda page: page.replace("0.012345", "0.012344"))},
    "no memo": {"page": other(lambda page: page.replace(LINK.memo, ""))},
    "no address": {"page": other(lambda page: page.replace(PAYOUT, ""))},
    "paid already": {"page": other(lambda page: page.replace("Waiting", "Paid"))},
}


@pytest.mark.parametrize("what", CONTRADICTIONS)
async def test_page_that_contradicts_itself_is_not_paid(what: str) -> None:
    """Nothing leaves the account when page and QR code differ, or the page lacks what a payer needs."""
    checkout = one_link(**CONTRADICTIONS[what])
    with pytest.raises(PaymentRefused, match="Nothing was paid"):
        await paid(checkout)
    assert checkout.transfers == []


async def test_page_that_never_shows_paid_is_told_with_the_transaction() -> None:
    """Whoever has paid is told by which transaction."""
    with pytest.raises(PaymentRefused, match="paid by tx1"):
        await paid(one_link(rule=lambda *_: False))


async def test_page_that_is_not_there_is_not_paid() -> None:
    """An error answer is no page."""
    with pytest.raises(PaymentRefused, match="404"):
        await paid(Checkout())


@pytest.mark.parametrize(
    ("url", "token"),
    [
        ("http://x/checkout/abc", "abc"),
        ("https://x/base/checkout/a-_Z/", "a-_Z"),
        ("http://x/pay/v1/verify/receipt", None),
        ("http://x/checkout/", None),
        ("http://x/checkout/a/b", None),
    ],
)
def test_checkout_addresses_are_told_from_others(url: str, token: str | None) -> None:
    """The path shape of the interface is /checkout/<token>."""
    assert token_in(url) == token
