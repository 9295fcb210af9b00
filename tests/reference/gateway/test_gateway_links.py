"""POST /v1/payment-links: what a link says, and what is asked of a request (3.4, 1.3)."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any

import pytest

from reference.gateway.return_addresses import is_redirect
from tests.reference.gateway.gateway_stack import EVM, LINK, LINKS, URL, Gateway, Tenant, expect_refusal

LONGEST = "https://shop.example/" + "a" * (2048 - len("https://shop.example/"))


async def test_a_link_says_all_of_the_profile_and_nothing_else(shop: Gateway, seller: Tenant) -> None:
    """The members of 3.4, in their forms."""
    before = datetime.now(UTC).timestamp()
    link = await shop.make_link(seller, preferred_network="base_sepolia", label="Bücher 本", expires_in_seconds=60)
    assert set(link) == {
        *("id", "asset_id", "label", "token", "checkout_url", "amount_microunits", "chain"),
        *("expires_at", "created_at", "cancel_secret"),
    }
    assert re.fullmatch(r"[A-Za-z0-9_-]{22}", link["token"])
    assert re.fullmatch(r"[A-Za-z0-9_-]{43}", link["cancel_secret"])
    assert (link["checkout_url"], link["chain"]) == (f"{URL}/checkout/{link['token']}", "base-sepolia")
    assert (link["label"], link["asset_id"]) == ("Bücher 本", "0x036CbD53842c5426634e7929541eC2318f3dCF7e")
    creation_time, expires = (datetime.fromisoformat(link[name]).timestamp() for name in ("created_at", "expires_at"))
    assert int(before) <= creation_time <= before + 60
    assert expires - creation_time == 60


EXACT = [
    ("8.41", "USD", 8_410_000),
    ("1.005", "usdc", 1_005_000),
    ("0.30000000000000004", "USD", 300_000),
    ("1e-6", "USD", 1),
    ("0.0000005", "USD", 1),
    ("1000000000", "USD", 10**15),
    ("1.0e2", "USD", 10**8),
    ("10", "EUR", 10_800_000),
    ("0.1", "GBP", 127_000),
    ("123456789.123456789", "USD", 123_456_789_123_457),
]


async def test_money_is_read_from_the_text_of_the_number(shop: Gateway, seller: Tenant) -> None:
    """No float stands between the text and the micro-units (P-MN-02)."""
    headers = seller.headers(Content_Type="application/json")
    for literal, currency, microunits in EXACT:
        body = f'{{"amount":{literal},"currency":"{currency}","label":"x"}}'
        answer = await shop.http.post(LINKS, content=body, headers=headers)
        assert (201, microunits) == (answer.status_code, answer.json().get("amount_microunits")), (literal, answer.text)


TURNING = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
OUT_OF_FORM: dict[str, list[Any]] = {
    "amount": ["8.41", True, None, 0, 0.0, -1, 0.0000004, 1_000_000_000.01, [1]],
    "currency": [1, None, "US", "DOLLARSXX", "U$D", "USD "],
    "label": ["", "a" * 256, "two\nlines", "\x7f", 7, None, *(f"a{one}b" for one in TURNING)],
    "preferred_network": [5, ["base_sepolia"]],
    "redirect_url": [
        "http://shop.example/",
        "javascript:alert(1)",
        "https://",
        "https://shop.example:99999/",
        "https://shop.example/ a",
        "https://user@shop.example/",
        LONGEST + "a",
        7,
    ],
    "expires_in_seconds": [59, 86401, 60.5, True, "60"],
}


@pytest.mark.parametrize("member", OUT_OF_FORM)
async def test_a_member_out_of_its_form_is_422_and_named(shop: Gateway, seller: Tenant, member: str) -> None:
    """A schema fault names its place, and repeats no input (P-GW-02)."""
    for value in OUT_OF_FORM[member]:
        answer = await shop.link(seller, **{member: value})
        expect_refusal(answer, 422, "validation_error")
        (item, *_) = answer.json()["detail"]
        assert (item["loc"][:2], set(item)) == (["body", member], {"loc", "msg", "type"}), value


async def test_a_required_member_is_missed_by_name(shop: Gateway, seller: Tenant) -> None:
    """amount, currency and label are required."""
    for missing in LINK:
        body = {name: value for name, value in LINK.items() if name != missing}
        answer = await shop.http.post(LINKS, json=body, headers=seller.headers())
        expect_refusal(answer, 422, "validation_error")
        assert answer.json()["detail"][0]["loc"] == ["body", missing]


async def test_a_redirect_goes_to_https_or_in_test_mode_to_loopback(shop: Gateway, seller: Tenant) -> None:
    """Https of any host up to 2048 characters; http only on loopback."""
    for url in (LONGEST, "https://a.example?x=1#y", "http://localhost:3000/done", "http://127.0.0.1/", None):
        await shop.make_link(seller, redirect_url=url)


@pytest.mark.parametrize(
    "host",
    [
        *("localhost", "LOCALHOST", "a.localhost", "intranet", "printer.local", "x.internal", "127.0.0.1", "127.1"),
        *(
            "2130706433",
            "0x7f000001",
            "0177.0.0.1",
            "10.0.0.8",
            "192.168.1.1",
            "169.254.169.254",
            "172.16.0.1",
            "0.0.0.1",
        ),
        *("100.64.0.1", "1.2.3.4.5", "256.1.1.1"),
    ],
)
def test_a_live_redirect_goes_to_nobodys_home(host: str) -> None:
    """As events do not: no loopback and no private address, however it is written; in test mode they will do."""
    for rest in ("", "/done?a=b", ":8443/", "#x"):
        assert not is_redirect(f"https://{host}{rest}", loopback=False)
        assert is_redirect(f"https://{host}{rest}", loopback=True)
    assert not is_redirect(f"http://{host}/", loopback=False)


@pytest.mark.parametrize("host", ["shop.example", "8.8.8.8", "localhost.example", "1.a.example", "0x7f.example"])
def test_a_live_redirect_goes_to_any_public_host(host: str) -> None:
    """A name is what a payer's own resolver makes of it."""
    assert is_redirect(f"https://{host}/done", loopback=False)


async def test_the_default_network_is_the_first_of_the_tenant(shop: Gateway) -> None:
    """The order of the payout addresses counts; null means the default."""
    tenant = await shop.tenant("solana_devnet", "base_sepolia")
    for members in ({}, {"preferred_network": None}):
        assert (await shop.make_link(tenant, **members))["chain"] == "solana-devnet"


async def test_a_network_without_a_payout_address_is_not_offered(shop: Gateway) -> None:
    """Unknown, other spellings, without a node or without an address: one refusal (P-NW-01, P-NW-02)."""
    tenant = await shop.tenant("base_sepolia")
    for network in ("nowhere", "base", "base-sepolia", "eip155:84532", "stellar_testnet", "base_mainnet", ""):
        expect_refusal(await shop.link(tenant, preferred_network=network), 400, "unsupported_network", network=network)


async def test_a_tenant_without_networks_has_no_default(shop: Gateway) -> None:
    """There is nothing to choose from."""
    answer = await shop.internal("POST", "", {"name": "new"}, status=201)
    expect_refusal(
        await shop.link(Tenant(answer["tenant_id"], answer["api_key"])), 400, "unsupported_network", network=None
    )


async def test_a_currency_without_a_rate_is_refused(shop: Gateway, seller: Tenant) -> None:
    """The currency is looked up in capitals (P-MN-03)."""
    expect_refusal(await shop.link(seller, currency="chf"), 400, "unsupported_currency", currency="CHF")


async def test_unknown_members_are_ignored(shop: Gateway, seller: Tenant) -> None:
    """Clients of tomorrow are served today (P-CV-14)."""
    await shop.make_link(seller, colour="blue")


async def test_a_link_keeps_the_address_it_was_made_with(shop: Gateway, seller: Tenant) -> None:
    """A change of the payout address is for links to come."""
    link = await shop.make_link(seller, preferred_network="base_sepolia")
    await shop.internal("PUT", f"/{seller.id}/networks", {"base_sepolia": {"payout_address": "0x" + "2" * 40}})
    page = (await shop.http.get(f"/checkout/{link['token']}")).text
    assert EVM in page
    assert "0x" + "2" * 40 not in page
