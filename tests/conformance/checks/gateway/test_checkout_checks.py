"""Each check of the checkout is held to honest pages of several shapes, and to pages and rules with one flaw each."""

from __future__ import annotations

import base64
import io
import json
import re
import sys
import time
from collections import Counter as Counting
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import segno

from conformance.checks.gateway import another_asset, checkout_paid
from conformance.engine.session import Session
from conformance.http.client import Client, Counter, Names
from conformance.lanes.checkout_request import USDC
from conformance.log.events import EventLog
from conformance.outcome import Inconclusive, Verdict
from conformance.pages.browser import Browser, RenderedPage
from conformance.pages.page import Page
from conformance.surfaces.gateway import orders
from conformance.target import parse
from conformance.target.clock_file import offset_of
from tests.conformance.checks.gateway.scripted_checkout import (
    ANOTHERS,
    ELSEWHERE,
    NETWORK,
    PAYOUT,
    PROFILE,
    Checkout,
    Link,
    Rule,
    Transfer,
    code,
    data_image,
    honest,
    payload,
    plain_page,
    run_check,
)
from tests.conformance.checks.trial import find_broken_rows

PAGE = "page_of_an_unpaid_link"
PAGE_ROWS = {"GW-CHK-01", "GW-CHK-02", "GW-CHK-03", "GW-CHK-04", "GW-CHK-05", "GW-CHK-06", "GW-CHK-08", "GW-CHK-18"}
ALL_CHECKS = (
    PAGE,
    "memos_of_several_links",
    "unknown_checkout_token",
    "right_payment_is_paid",
    "payment_in_another_shape_is_paid",
    "algorand_payment_is_paid_soon",
    "payment_without_the_memo",
    "payment_with_another_links_memo",
    "failed_payment",
    "payment_of_too_little",
    "payment_in_another_asset",
    "payment_to_somebody_else",
)


@pytest.fixture(autouse=True)
def quick_service(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WP_TEST_TENANT_KEY", "weld_0123456789abcdef")
    monkeypatch.setattr(orders, "_LOOK_SECONDS", 0.01)


def table_page(link: Link) -> str:
    """A page that has nothing of the profile's: groups of four letters, a comma, an embedded code, other words."""
    if link.state == "paid":
        return "<main><h2>Thank you! Your invoice has been paid.</h2></main>"
    grouped_address = " ".join(PAYOUT[place : place + 4] for place in range(0, len(PAYOUT), 4))
    amount = f"{link.microunits / 10**6:.6f}".replace(".", ",")
    return (
        "<html><head><title>Pay</title></head><body><p>This invoice has not been paid yet.</p><table>"
        f"<tr><th>Send</th><td>{amount}&nbsp;USDC</td></tr><tr><th>To</th><td><code>{grouped_address}</code></td></tr>"
        f"<tr><th>Note:</th><td>{link.memo}</td></tr></table><img alt='' src='{data_image(link)}'>"
        "<p>The page turns to Paid as soon as the payment is seen.</p></body></html>"
    )


def form_page(link: Link) -> str:
    """A page whose values stand in fields, with the amount in micro-units and a state in one word."""
    state = "PAID" if link.state == "paid" else "OPEN"
    return (
        f"<body><b>{state}</b><form><label>Address<input readonly value='{PAYOUT}'></label>"
        f"<label>Amount<input readonly value='{link.microunits}'></label><label>Memo<textarea>{link.memo}</textarea>"
        f"</label></form><div hidden>Paid</div><img src='/checkout/{link.token}/qr'></body>"
    )


@pytest.mark.parametrize("name", ALL_CHECKS)
@pytest.mark.parametrize(
    ("page", "defaults"), [(plain_page, "reference"), (plain_page, "none"), (table_page, "none"), (form_page, "none")]
)
async def test_honest_checkout_passes(name: str, page: Callable[[Link], str], defaults: str) -> None:
    """A checkout that keeps the rules breaks no row, whatever its page looks like and whatever is bound."""
    verdicts = await run_check(name, Checkout(page=page), defaults=defaults)
    # Reports of payments, and a status, are not claimed here.
    for row in ("WH-DELIV-03", "GW-CHK-19"):
        verdicts.pop(row, None)
    assert set(verdicts.values()) == {Verdict.PASS}, verdicts


@pytest.mark.parametrize(
    ("shape", "verdict"), [("after a budget", Verdict.FAIL), ("in a group", Verdict.WARN), ("never", Verdict.PASS)]
)
async def test_a_shape_that_is_not_paid_is_named(shape: str, verdict: Verdict) -> None:
    """A page that stays unpaid breaches; where the interface leaves the shape open, the suite warns."""
    log = EventLog()
    checkout = Checkout(rule=lambda link, seen: honest(link, seen) and seen.shape != shape)
    assert await run_check("payment_in_another_shape_is_paid", checkout, log=log) == {"GW-CHK-09": verdict}
    verdict_by_shape = {one["where"]["payment"]: one["verdict"] for one in log.events if one["event"] == "judgement"}
    assert verdict_by_shape.pop(shape, "pass") == verdict.value
    assert set(verdict_by_shape.values()) == {"pass"}
    assert [one["text"].partition(":")[0] for one in log.events if one["event"] == "note"] == [
        "by a program that is not there"
    ]


@pytest.mark.parametrize(
    ("watched", "verified", "options", "verdict"),
    [
        (True, True, '"gateway.checkout"', Verdict.PASS),
        (False, False, '"gateway.checkout"', Verdict.PASS),
        (False, True, '"gateway.checkout"', Verdict.FAIL),
        (False, True, "", Verdict.PASS),
    ],
)
async def test_a_way_that_only_verify_accepts_is_caught(
    watched: bool, verified: bool, options: str, verdict: Verdict, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A target may refuse a further way to carry a memo, but one that it accepts needs no manual step."""
    monkeypatch.setattr(checkout_paid, "MEMO_WAYS", {"algorand": ("note", "lease")})
    checkout = Checkout(
        rule=lambda link, seen: honest(link, seen) and (watched or seen.shape != "lease"),
        door=lambda link, seen: honest(link, seen) and (verified or seen.shape != "lease"),
    )
    verdicts = await run_check("payment_in_another_shape_is_paid", checkout, options=options)
    assert verdicts == {"GW-CHK-09": verdict}
    paid_shapes = [seen.shape for seen in checkout.transfers]
    assert ("lease" in paid_shapes) is bool(options)


def edit_page(edit: Callable[[str, Link], str]) -> Callable[[Link], str]:
    return lambda link: edit(plain_page(link), link)


FLAWED_PAGES: dict[str, tuple[Callable[[Link], str], set[str]]] = {
    "no code": (edit_page(lambda page, _: page.split("<img")[0]), {"GW-CHK-02"}),
    "no address": (edit_page(lambda page, _: page.replace(PAYOUT, "to us")), {"GW-CHK-03", "GW-CHK-06"}),
    "another address": (edit_page(lambda page, _: page.replace(PAYOUT, ELSEWHERE)), {"GW-CHK-06", "GW-CHK-18"}),
    "amount rounded": (
        edit_page(lambda page, link: page.replace(f"{link.microunits / 10**6:.6f}", "0.01")),
        {"GW-CHK-04"},
    ),
    "thousands without a fraction": (
        edit_page(
            lambda page, link: page.replace(
                f"{link.microunits / 10**6:.6f}",
                f"{link.microunits // 10**6:,}" if link.microunits > 10**9 else f"{link.microunits / 10**6:.6f}",
            )
        ),
        {"GW-CHK-04"},
    ),
    "no memo": (edit_page(lambda page, link: page.replace(link.memo, "")), {"GW-CHK-05"}),
    "paid at once": (edit_page(lambda page, _: page.replace("Waiting", "Paid")), {"GW-CHK-08"}),
    "no page": (lambda _: "OK", {"GW-CHK-01"}),
}


@pytest.mark.parametrize("flaw", FLAWED_PAGES)
async def test_flawed_page_is_caught(flaw: str) -> None:
    """Each thing that a page must show is missed when it is not there."""
    page, rows = FLAWED_PAGES[flaw]
    assert find_broken_rows(await run_check(PAGE, Checkout(page=page))) == rows


@pytest.mark.parametrize("flaw", FLAWED_PAGES)
async def test_flawed_page_is_caught_where_nothing_is_bound(flaw: str) -> None:
    """Without selectors the same is missed in the page's text, except for a memo, which has no visible form."""
    page, rows = FLAWED_PAGES[flaw]
    verdicts = await run_check(PAGE, Checkout(page=page), defaults="none")
    assert find_broken_rows(verdicts) == rows - {"GW-CHK-05"}
    if flaw == "no memo":
        assert verdicts["GW-CHK-05"] is Verdict.INCONCLUSIVE


async def test_code_of_another_address_is_caught() -> None:
    """A QR code that pays a different account than the text says breaks the row about the code, and no other."""
    flawed_checkout = Checkout(scanned=lambda link: payload(link, ELSEWHERE))
    assert find_broken_rows(await run_check(PAGE, flawed_checkout)) == {"GW-CHK-18"}


async def test_one_memo_for_all_links_is_caught() -> None:
    """Links that share a memo are detected."""
    flawed_checkout = Checkout(page=edit_page(lambda page, link: page.replace(link.memo, "svc:same")))
    assert find_broken_rows(await run_check("memos_of_several_links", flawed_checkout)) == {"GW-CHK-07"}


async def test_page_or_code_of_an_equal_order_is_caught() -> None:
    """A page, or a code alone, that is stored for all links of one amount is detected."""
    first: dict[int, Link] = {}

    def keep_first(link: Link) -> Link:
        return first.setdefault(link.microunits, link)

    pages = Checkout(page=lambda link: plain_page(keep_first(link)))
    assert find_broken_rows(await run_check("memos_of_several_links", pages)) == {"GW-CHK-07"}
    first.clear()
    codes = Checkout(scanned=lambda link: payload(keep_first(link)))
    assert find_broken_rows(await run_check("memos_of_several_links", codes)) == {"GW-CHK-07"}


async def test_page_for_any_token_is_caught() -> None:
    """A 200 for a token that no link has is detected."""
    assert find_broken_rows(await run_check("unknown_checkout_token", Checkout(unknown_status=200))) == {"GW-CHK-17"}


def ignore_members(**members: Any) -> Rule:
    """The honest rule, for which a member of the transfer is always right."""
    return lambda link, seen: honest(link, replace(seen, **{name: give(link, seen) for name, give in members.items()}))


RULES: dict[str, tuple[str, Rule, set[str]]] = {
    "memo ignored": ("payment_without_the_memo", ignore_members(memo=lambda link, _: link.memo), {"GW-CHK-10"}),
    "memo cut": (
        "payment_without_the_memo",
        lambda link, seen: (
            honest(link, replace(seen, memo=link.memo)) and link.memo.startswith(seen.memo) and seen.memo != ""
        ),
        {"GW-CHK-10"},
    ),
    "memo inside": (
        "payment_without_the_memo",
        lambda link, seen: honest(link, replace(seen, memo=link.memo)) and link.memo in seen.memo,
        {"GW-CHK-10"},
    ),
    "memo in any case": (
        "payment_without_the_memo",
        lambda link, seen: honest(link, replace(seen, memo=link.memo)) and link.memo.lower() == seen.memo.lower(),
        {"GW-CHK-10"},
    ),
    "any link's memo": (
        "payment_with_another_links_memo",
        lambda link, seen: honest(link, replace(seen, memo=link.memo)) and seen.memo.startswith("svc:"),
        {"GW-CHK-11"},
    ),
    "two memos of one transfer": (
        "payment_with_another_links_memo",
        lambda link, seen: honest(link, replace(seen, memo=link.memo)) and link.memo in seen.memo.split("\n"),
        {"GW-CHK-11"},
    ),
    "failed counts": ("failed_payment", ignore_members(failed=lambda *_: False), {"GW-CHK-12"}),
    "less counts": ("payment_of_too_little", ignore_members(amount=lambda link, _: link.microunits), {"GW-CHK-13"}),
    "any recipient": ("payment_to_somebody_else", ignore_members(address=lambda *_: PAYOUT), {"GW-LINK-24"}),
    "any asset": ("payment_in_another_asset", ignore_members(asset=lambda *_: "10458941"), {"GW-CHK-14"}),
}


@pytest.mark.parametrize("flaw", RULES)
async def test_flawed_rule_is_caught(flaw: str) -> None:
    """Each wrong payment is reported when it turns its page to Paid."""
    name, rule, rows = RULES[flaw]
    assert find_broken_rows(await run_check(name, Checkout(rule=rule))) == rows


SECOND = f"""
[tenants.second]
id = "22222222-2222-4222-8222-222222222222"
key = {{ env = "WP_TEST_TENANT_KEY" }}
[tenants.second.payout]
algorand_testnet = "{ANOTHERS}"
"""


async def test_a_payment_to_another_tenant_is_caught() -> None:
    """A link's memo does not make a payment to a different payout address the link's, even to a known address."""
    flawed_checkout = Checkout(
        rule=lambda link, seen: honest(link, replace(seen, address=seen.address.replace(ANOTHERS, PAYOUT)))
    )
    assert find_broken_rows(await run_check("payment_to_somebody_else", flawed_checkout, profile=SECOND)) == {
        "GW-LINK-24"
    }
    verdicts = await run_check("payment_to_somebody_else", Checkout(), profile=SECOND)
    assert verdicts["GW-LINK-24"] is Verdict.PASS


async def test_a_payment_on_another_network_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """A link is not paid by its very words on another chain, whose money is that chain's own."""
    monkeypatch.setattr(another_asset, "open_checkout_payer", lambda payer: payer)
    other_network, own = "algorand_mainnet", USDC[NETWORK]
    flawed_checkout = Checkout(
        rule=lambda link, seen: honest(
            link, seen if seen.network != other_network else replace(seen, network=NETWORK, asset=own)
        )
    )
    name, option = "payment_in_another_asset", '"gateway.checkout"'
    assert find_broken_rows(await run_check(name, flawed_checkout, other_network=other_network, options=option)) == {
        "GW-CHK-14"
    }
    assert find_broken_rows(await run_check(name, flawed_checkout, other_network=other_network)) == set()
    assert find_broken_rows(await run_check(name, flawed_checkout, options=option)) == set()
    verdicts = await run_check(name, Checkout(), other_network=other_network, options=option)
    assert verdicts["GW-CHK-14"] is Verdict.PASS


async def test_a_second_payment_that_pays_another_link_is_caught() -> None:
    """Who pays a link twice has not paid the next one like it."""
    flawed_checkout = Checkout()

    def pays(link: Link, seen: Transfer) -> bool:
        following = next(
            (one for one in flawed_checkout.links.values() if one.state != "paid" and one.memo != seen.memo), None
        )
        return honest(link, seen) or (flawed_checkout.transfers.count(seen) > 1 and link is following)

    flawed_checkout.rule = pays
    assert find_broken_rows(await run_check("payment_with_another_links_memo", flawed_checkout)) == {"GW-CHK-11"}


async def test_a_payment_that_is_taken_for_a_duplicate_is_caught() -> None:
    """As much from the same payer, under another memo, pays another link."""
    flawed_checkout = Checkout()
    flawed_checkout.rule = lambda link, seen: (
        honest(link, seen) and all(one is link or one.microunits != link.microunits for one in paid_in(flawed_checkout))
    )
    assert find_broken_rows(await run_check("payment_with_another_links_memo", flawed_checkout)) == {"GW-CHK-09"}


def paid_in(checkout: Checkout) -> list[Link]:
    return [one for one in checkout.links.values() if one.state == "paid"]


async def test_a_second_payment_that_takes_the_place_of_the_first_is_caught() -> None:
    """The status of a paid link names the transaction that paid it, whatever comes after."""
    name, options = "payment_with_another_links_memo", '"gateway.checkout"'

    def of(checkout: Checkout, place: int) -> Checkout:
        def status(link: Link) -> Mapping[str, Any]:
            payments = [number for number, one in enumerate(checkout.transfers) if one.memo == link.memo]
            return {"status": link.state, "tx_id": f"tx{payments[place]}"}

        checkout.status = status
        return checkout

    assert find_broken_rows(await run_check(name, of(Checkout(), -1), options=options)) == {"GW-CHK-19"}
    verdicts = await run_check(name, of(Checkout(), 0), options=options)
    assert verdicts["GW-CHK-19"] is Verdict.PASS


@pytest.mark.parametrize(
    ("looks", "attested", "held"), [(0, False, True), (0, True, True), (9, True, True), (9, False, False)]
)
async def test_a_status_that_runs_ahead_of_its_page_is_caught(looks: int, attested: bool, held: bool) -> None:
    """A link that is paid by its status has an attestation or a page that says so, the moment it is read."""
    checkout, log = Checkout(), EventLog()
    read_counts: Counting[str] = Counting()

    def pays(link: Link, paid: Transfer) -> bool:
        read_counts[link.token] += honest(link, paid)
        return read_counts[link.token] > looks and honest(link, paid)

    def status(link: Link) -> Mapping[str, Any]:
        read_counts[link.token] = 0
        told = {"settled": "tx1"}
        words = [
            base64.urlsafe_b64encode(json.dumps(one).encode()).decode().rstrip("=") for one in ({"alg": "x"}, told)
        ]
        members = {"settlement_attestation": told, "settlement_attestation_jws": ".".join([*words, "eA"])}
        is_paid = any(honest(link, one) for one in checkout.transfers)
        return {"status": "paid" if is_paid else "active", **(members if is_paid and attested else {})}

    checkout.rule, checkout.status = pays, status
    await run_check("the_status_tells_of_the_payment", checkout, options='"gateway.checkout"', log=log)
    first = [one for one in log.of("judgement") if "status" in one["where"]]
    assert [Verdict.PASS if held else Verdict.FAIL] == [Verdict(one["verdict"]) for one in first]


DOORS = ["memo ignored", "memo cut", "any link's memo", "failed counts", "any asset"]


@pytest.mark.parametrize("flaw", DOORS)
async def test_flawed_rule_of_the_door_alone_is_caught(flaw: str) -> None:
    """The chain watcher keeps the rules, but a client that names a wrong payment gets the link paid: detected."""
    name, rule, rows = RULES[flaw]
    assert find_broken_rows(await run_check(name, Checkout(door=rule))) == rows


@pytest.mark.parametrize("name", [one for one in ALL_CHECKS if one.startswith(("payment_", "failed_"))])
async def test_a_door_that_keeps_the_rules_passes(name: str) -> None:
    """A wrong payment that is named and refused breaks nothing."""
    verdicts = await run_check(name, Checkout(door=honest))
    for row in ("WH-DELIV-03", "GW-CHK-19"):
        verdicts.pop(row, None)
    assert set(verdicts.values()) == {Verdict.PASS}, verdicts


@pytest.mark.parametrize("flaw", ["memo inside", "memo in any case", "two memos of one transfer"])
async def test_open_readings_of_a_memo_are_not_judged(flaw: str) -> None:
    """If it is not bound how a memo is carried, one with more around it, or in another case, may be the memo."""
    name, rule, _ = RULES[flaw]
    assert find_broken_rows(await run_check(name, Checkout(rule=rule), defaults="none")) == set()


@pytest.mark.parametrize("name", ["payment_without_the_memo", "payment_with_another_links_memo"])
@pytest.mark.parametrize(("defaults", "parts"), [("none", 1), ("reference", 0)])
async def test_what_is_not_tried_of_an_unbound_memo_is_told(name: str, defaults: str, parts: int) -> None:
    """A reader of a pass learns that it was tried in part, and which key has all of it tried."""
    log = EventLog()
    await run_check(name, Checkout(), defaults=defaults, log=log)
    events = list(log.of("check.shortened"))
    assert len(events) == parts
    assert all("[gateway.memo] algorand" in one["what"] and one["tried"] < one["of"] for one in events)


@pytest.mark.parametrize("flaw", ["memo ignored", "memo cut", "any link's memo", "failed counts", "any asset"])
async def test_flawed_rule_is_caught_where_nothing_is_bound(flaw: str) -> None:
    """What the interface says of memos holds without any binding, on a page of any shape."""
    name, rule, rows = RULES[flaw]
    assert find_broken_rows(await run_check(name, Checkout(page=table_page, rule=rule), defaults="none")) == rows


@pytest.mark.parametrize("name", [one for one in ALL_CHECKS if one.startswith(("payment_", "failed_"))])
async def test_checkout_that_pays_nobody_proves_nothing(name: str) -> None:
    """A page that never turns to Paid gets no pass for what it does not do: the honest payment does not show either."""
    verdicts = await run_check(name, Checkout(rule=lambda *_: False))
    assert set(verdicts.values()) == {Verdict.INCONCLUSIVE}


async def test_payment_that_is_taken_for_another_links_is_caught() -> None:
    """A service that goes by the amount alone may pay the other link instead: that is reported, not skipped."""
    flawed_checkout = Checkout()
    flawed_checkout.rule = lambda link, seen: (
        honest(link, replace(seen, memo=link.memo)) and link is _first_of(flawed_checkout, seen.amount)
    )
    assert find_broken_rows(await run_check("payment_with_another_links_memo", flawed_checkout)) == {"GW-CHK-11"}


def _first_of(checkout: Checkout, amount: int) -> Link:
    return next(one for one in checkout.links.values() if one.microunits == amount)


async def test_payment_that_is_never_seen_is_caught() -> None:
    """An honest payment that does not turn its page to Paid is reported, on Algorand for being late, too."""
    assert find_broken_rows(await run_check("right_payment_is_paid", Checkout(rule=lambda *_: False))) == {"GW-CHK-09"}
    verdicts = await run_check("algorand_payment_is_paid_soon", Checkout(rule=lambda *_: False))
    assert find_broken_rows(verdicts) == {"GW-CHK-15"}


async def test_page_that_forgets_is_caught() -> None:
    """A page that turns back from Paid is detected."""
    assert find_broken_rows(await run_check("right_payment_is_paid", Checkout(forgets=True))) == {"GW-CHK-16"}


@dataclass
class Timed(Checkout):
    """A checkout whose links last two minutes of its test clock."""

    clock: Path = Path("clock")
    ends_paid: bool = False
    ends: dict[str, float] = field(default_factory=dict)

    def _create(self, body: Mapping[str, Any]) -> Mapping[str, Any]:
        link = super()._create(body)
        self.ends[str(link["token"])] = ends = time.time() + float(body["expires_in_seconds"])
        return {**link, "expires_at": datetime.fromtimestamp(ends, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")}

    def _settle(self, link: Link) -> None:
        super()._settle(link)
        if time.time() + offset_of(self.clock) > self.ends[link.token] and self.ends_paid:
            link.state = "expired"


@pytest.mark.parametrize(("ends_paid", "rows"), [(False, set()), (True, {"GW-CHK-16"})])
async def test_a_page_whose_time_ends_after_payment_is_caught(ends_paid: bool, rows: set[str], tmp_path: Path) -> None:
    """What was paid stays so when the time of the link is over."""
    checkout, clock = (
        Timed(clock=tmp_path / "clock", ends_paid=ends_paid),
        f"[clock]\noffset_file = '{tmp_path}/clock'\n",
    )
    verdicts = await run_check("a_paid_link_outlives_its_time", checkout, profile=clock)
    assert find_broken_rows(verdicts) == rows
    assert "GW-CHK-16" in verdicts


async def test_a_paid_link_is_not_judged_where_no_time_can_pass() -> None:
    """Without a test clock the check does not wait, and what was shown of the row is already decided."""
    assert await run_check("a_paid_link_outlives_its_time", Checkout()) == {"GW-CHK-16": Verdict.DOCUMENTED}


async def test_no_link_is_paid_late_where_no_time_can_pass() -> None:
    """Who has no test clock is judged by the row's other check alone."""
    verdicts = await run_check("a_late_payment_leaves_a_link_expired", Checkout())
    assert verdicts == {"GW-CHK-20": Verdict.DOCUMENTED, "GW-PAY-01": Verdict.DOCUMENTED}


async def test_share_of_the_service_is_caught() -> None:
    """A payment of which another account receives a share is detected."""
    assert find_broken_rows(await run_check("right_payment_is_paid", Checkout(), skims=7)) == {"GW-LINK-24"}


async def test_address_of_the_service_is_caught() -> None:
    """A page that has payers pay the service, which then calls it paid, is detected by the money's way."""
    flawed_checkout = Checkout(
        page=edit_page(lambda page, _: page.replace(PAYOUT, ELSEWHERE)), rule=ignore_members(address=lambda *_: PAYOUT)
    )
    assert find_broken_rows(await run_check("right_payment_is_paid", flawed_checkout)) == {"GW-LINK-24"}


async def test_page_of_scripts_is_inconclusive_without_a_browser(monkeypatch: pytest.MonkeyPatch) -> None:
    """No target fails for what was not examined: what only scripts show is inconclusive, with what to install."""

    async def start_nothing(*_: object) -> None:
        raise Inconclusive("the page shows nothing without its scripts: pip install 'weldproof[browser]'")

    monkeypatch.setattr(Browser, "render", start_nothing)
    flawed_checkout = Checkout(page=lambda _: "<body><div id='root'></div><script src='/app.js'></script></body>")
    verdicts = await run_check(PAGE, flawed_checkout, defaults="none")
    assert find_broken_rows(verdicts) == set()
    assert verdicts["GW-CHK-01"] is Verdict.PASS
    for row in PAGE_ROWS - {"GW-CHK-01", "GW-CHK-08"}:
        assert verdicts[row] is Verdict.INCONCLUSIVE, row


def drawn_page(link: Link, drawing: str | None = None) -> str:
    """Return a page that is complete without scripts, and whose code is a drawing; its script counts the time down."""
    file = io.BytesIO()
    segno.make(payload(link), micro=False).save(file, kind="svg", xmldecl=False)
    page = plain_page(link).split("<img")[0] + (drawing or file.getvalue().decode())
    return page + "<script src='/countdown.js'></script></body>"


def drawn_image(link: Link) -> str:
    """Return a page whose code is an image that is a drawing, in its address."""
    file = io.BytesIO()
    segno.make(payload(link), micro=False).save(file, kind="svg")
    source = f"data:image/svg+xml;base64,{base64.b64encode(file.getvalue()).decode()}"
    return plain_page(link).split("<img")[0] + f"<img src='{source}'></body>"


@pytest.mark.parametrize("page", [drawn_page, drawn_image])
async def test_a_page_that_is_complete_without_its_scripts_needs_no_browser(
    page: Callable[[Link], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A code that is a drawing is decoded as any other."""
    monkeypatch.setitem(sys.modules, "playwright.async_api", None)
    verdicts = await run_check(PAGE, Checkout(page=page), defaults="none", profile=SELECTORS)
    assert {row: verdicts[row] for row in PAGE_ROWS} == dict.fromkeys(PAGE_ROWS, Verdict.PASS)


async def test_what_was_not_drawn_is_the_reason_that_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a page that shows all else it is not said that it shows nothing."""
    monkeypatch.setitem(sys.modules, "playwright.async_api", None)
    log = EventLog()
    curved_drawing = "<svg viewBox='0 0 9 9'><path d='M0 0C1 1 2 2 3 3z'/></svg>"
    checkout = Checkout(page=lambda link: drawn_page(link, curved_drawing))
    verdicts = await run_check(PAGE, checkout, defaults="none", profile=SELECTORS, log=log)
    assert find_broken_rows(verdicts) == set()
    assert verdicts["GW-CHK-02"] is verdicts["GW-CHK-18"] is Verdict.INCONCLUSIVE
    (reason,) = {event["expected"] for event in log.of("judgement") if event["row"] == "GW-CHK-02"}
    assert "the page runs scripts, which were not run; the page has drawings, which were not drawn" in reason
    assert "that takes a browser: pip install" in reason
    assert "shows nothing" not in reason


async def test_an_image_that_is_a_drawing_of_another_kind_fails_no_page(monkeypatch: pytest.MonkeyPatch) -> None:
    """It was not drawn, so that it decides nothing."""
    monkeypatch.setitem(sys.modules, "playwright.async_api", None)
    image = (
        "<img src='data:image/svg+xml,%3Csvg viewBox=%220 0 9 9%22%3E%3Cpath d=%22M0 0C1 1 2 2 3 3z%22/%3E%3C/svg%3E'>"
    )
    checkout = Checkout(page=edit_page(lambda page, _: page.split("<img")[0] + image + "</body>"))
    verdicts = await run_check(PAGE, checkout, defaults="none", profile=SELECTORS)
    assert verdicts["GW-CHK-02"] is Verdict.INCONCLUSIVE


SELECTORS = """
[gateway.checkout_selectors]
address = "#addr"
memo = "#memo"
amount = "#amount"
state = "#state"
"""


def scripted_page(bound: tuple[str, ...]) -> Callable[[Link], str]:
    """Return a page whose script fills in the elements that are named."""

    def page(link: Link) -> str:
        text = plain_page(link)
        for name in bound:
            text = re.sub(rf'(<div id="{name}")[^>]*>[^<]*<', r"\1><", text)
        return text.replace("</body>", "<script src='/app.js'></script></body>")

    return page


def render_script(checkout: Checkout) -> Callable[..., Any]:
    """Return a browser that runs the script of `scripted_page`."""

    async def render(_: object, url: str) -> RenderedPage:
        link = checkout.links[url.rpartition("/")[2]]
        html = plain_page(link)
        return RenderedPage(html, Page(html).text, code(payload(link)))

    return render


@pytest.mark.parametrize("bound", [("memo",), ("state",), ("memo", "state")])
@pytest.mark.parametrize("name", ["memos_of_several_links", "right_payment_is_paid"])
async def test_bound_names_are_read_on_the_page_and_not_in_the_bare_document(
    name: str, bound: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What scripts fill in is looked for where a payer sees it, also once the profile binds it."""
    checkout = Checkout(page=scripted_page(bound))
    monkeypatch.setattr(Browser, "render", render_script(checkout))
    verdicts = await run_check(name, checkout, defaults="none", profile=SELECTORS)
    verdicts.pop("WH-DELIV-03", None)
    assert set(verdicts.values()) == {Verdict.PASS}, verdicts


async def test_a_state_that_only_a_browser_shows_is_not_held_against_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a browser the row stays open."""

    async def start_nothing(*_: object) -> None:
        raise Inconclusive("no browser")

    monkeypatch.setattr(Browser, "render", start_nothing)
    verdicts = await run_check(
        "right_payment_is_paid", Checkout(page=scripted_page(("state",))), defaults="none", profile=SELECTORS
    )
    assert verdicts["GW-CHK-09"] is Verdict.INCONCLUSIVE


@pytest.mark.parametrize("name", [PAGE, "memos_of_several_links", "right_payment_is_paid"])
async def test_a_network_under_another_name_can_be_paid(name: str) -> None:
    """The target's own key goes into links and payouts, and [networks.KEY] says which network that is."""
    network_table = '[networks.algo_test]\nnetwork = "algorand_testnet"\n'
    checkout = Checkout(network="algo_test")
    verdicts = await run_check(name, checkout, defaults="none", profile=network_table, payout_on="algo_test")
    verdicts.pop("WH-DELIV-03", None)
    assert set(verdicts.values()) == {Verdict.PASS}, verdicts
    verdicts = await run_check(name, checkout, defaults="none", payout_on="algo_test")
    assert set(verdicts.values()) == {Verdict.INCONCLUSIVE}


def _nobodys_client() -> Client:
    return Client(Checkout(), EventLog(), "none", Names(), Counter())


def test_a_missing_payout_address_names_the_keys_that_may_settle_it() -> None:
    """The payout itself, another key for the network, or another node: an operator reads which ones there are."""
    session = Session(parse(PROFILE.format(defaults="none", payout=PAYOUT)), _nobodys_client(), Names(), 1)
    with pytest.raises(Inconclusive) as told:
        session.tenants.find_first_on("base_sepolia")
    for key in ("[tenants.NAME.payout]", '[networks.KEY] network = "base_sepolia"', "[gateway.chains.base]"):
        assert key in str(told.value)
