"""`weldproof pay` on a checkout page: it pays what the page says once, and nothing when the page contradicts itself."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from conformance import target
from conformance.engine.session import Session
from conformance.http.client import Client, Counter, Names, Unreachable
from conformance.lanes.checkout_request import CheckoutRequest
from conformance.log.events import EventLog
from conformance.outcome import Inconclusive
from conformance.pages.page_loader import PageReader
from conformance.surfaces.gateway.checkout_payment import Demand, PaymentRefused, read_demand, token_in, wait_for_paid
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


async def pay_page(
    checkout: Checkout, url: str = f"{BASE}/checkout/{LINK.token}", lane: str | None = None
) -> tuple[Demand, float | None]:
    """Pay a page; return what it asked for and how long Paid took, None where it did not come."""
    profile = target.parse(PROFILE.format(defaults="reference", payout=PAYOUT) + "")
    profile = profile.model_copy(update={"budgets": target.Budgets(paid=0.1, confirmation=0.1)})
    client = Client(checkout, EventLog(), "pay", Names(), Counter())
    session = Session(profile, client, Names(), 1)
    try:
        demand = await read_demand(session, client, url, lane, lambda *_: None, _nothing)
        await Payer(checkout).settle(demand.bill)
        return demand, await wait_for_paid(session, client, url, demand.paid_lines, 0.1)
    finally:
        await session.close()


async def _nothing(*_: object) -> None:
    pass


def one_link(**members: Any) -> Checkout:
    return Checkout(links={LINK.token: Link(LINK.token, LINK.microunits)}, **members)


async def test_link_is_paid_as_its_page_says() -> None:
    """One transfer of the exact amount to the address, with the memo; then the page shows Paid."""
    checkout = one_link()
    demand, seconds = await pay_page(checkout)
    assert honest(LINK, checkout.transfers[0])
    assert len(checkout.transfers) == 1
    assert seconds is not None
    assert (demand.microunits, demand.network) == (12_345, NETWORK)
    assert (demand.bill.address, demand.bill.memo) == (PAYOUT, LINK.memo)


def change_link(edit: Callable[[str], str]) -> Callable[[Link], str]:
    return lambda link: edit(plain_page(link))


CONTRADICTIONS: dict[str, dict[str, Any]] = {
    "another address": {"scanned": lambda link: payload(link, ELSEWHERE)},
    "another amount": {"scanned": lambda link: payload(Link(link.token, link.microunits + 1))},
    "another memo": {"scanned": lambda link: payload(Link("someone", link.microunits))},
    "another asset": {"scanned": lambda link: payload(link).replace("10458941", "31566704")},
    "another address as text": {"page": change_link(lambda page: page.replace(PAYOUT, ELSEWHERE))},
    "another amount as text": {"page": change_link(lambda page: page.replace("0.012345", "0.012344"))},
    "no memo": {"page": change_link(lambda page: page.replace(LINK.memo, ""))},
    "no address": {"page": change_link(lambda page: page.replace(PAYOUT, ""))},
    "paid already": {"page": change_link(lambda page: page.replace("Waiting", "Paid"))},
}


@pytest.mark.parametrize("member", CONTRADICTIONS)
async def test_page_that_contradicts_itself_is_not_paid(member: str) -> None:
    """Nothing leaves the account when page and QR code differ, or the page lacks what a payer needs."""
    checkout = one_link(**CONTRADICTIONS[member])
    with pytest.raises(PaymentRefused, match="Nothing was paid"):
        await pay_page(checkout)
    assert checkout.transfers == []


async def test_page_that_never_shows_paid_ends_the_wait() -> None:
    """The payment is made, and the wait is over in its time."""
    checkout = one_link(rule=lambda *_: False)
    assert (await pay_page(checkout))[1] is None
    assert len(checkout.transfers) == 1


async def test_a_page_that_fails_after_the_payment_is_looked_at_again() -> None:
    """No answer of the page's host is no reason to forget a payment."""
    checkout = one_link()
    demand, _ = await pay_page(checkout)
    answers = [Unreachable("gone"), Inconclusive("no browser")]

    class Pages:
        async def look(self, client: Client, url: str) -> Any:
            if answers:
                raise answers.pop()
            return await PageReader(None, 1, whole=True).look(client, url)

    session: Any = SimpleNamespace(pages=Pages())
    client = Client(checkout, EventLog(), "pay", Names(), Counter())
    url = f"{BASE}/checkout/{LINK.token}"
    assert await wait_for_paid(session, client, url, demand.paid_lines, 60) is not None
    assert answers == []


def test_a_node_of_another_chain_than_the_code_names_is_not_paid_on() -> None:
    """A QR code that names a chain is held against the node before anything is signed."""
    demand = Demand("base", "base_mainnet", 1, CheckoutRequest("a", "b", 1, "m"), frozenset({"eip155:8453"}))
    demand.check_chain("eip155:8453")
    with pytest.raises(PaymentRefused, match=r"paid on eip155:8453, the node is eip155:84532\. Nothing was paid"):
        demand.check_chain("eip155:84532")


async def test_page_that_is_not_there_is_not_paid() -> None:
    """An error answer is no page."""
    with pytest.raises(PaymentRefused, match="404"):
        await pay_page(Checkout())


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
