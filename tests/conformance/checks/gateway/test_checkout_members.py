"""What the check of a checkout's page finds wrong, at a gateway in memory."""

from __future__ import annotations

import html
import io
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

import pytest
import segno
from multidict import CIMultiDict, CIMultiDictProxy

from conformance.lanes.checkout_request import USDC
from conformance.outcome import Verdict
from tests.conformance.checks.gateway.scripted_checkout import BASE, PAYOUT, PROFILE
from tests.conformance.checks.trial import run_one_check

TOKEN = "AAECAwQFBgcICQoLDA0ODw"
CREATED, EXPIRES = "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"
POLICY = (
    "default-src 'none'; img-src 'self'; style-src 'self'; script-src 'self'; connect-src 'self'; "
    "frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
)
HEADERS = {"Content-Type": "text/html", "Content-Security-Policy": POLICY}
HEADERS |= {"Cache-Control": "no-store", "Referrer-Policy": "no-referrer"}
Change = Callable[[str], str]


class Shop:
    """Answers as a transport: one link, its page, its QR code and its status.

    `changes` alter the text of an answer, by the last part of its path; `headers` replace those of the page.
    """

    def __init__(self, changes: Mapping[str, Change] | None = None, headers: Mapping[str, str] | None = None) -> None:
        self.changes = dict(changes or {})
        self.headers = {**HEADERS, **(headers or {})}
        self.state = "active"
        self.link: dict[str, Any] = {}

    async def send(
        self, method: str, url: str, headers: Sequence[tuple[str, str]], body: bytes | None
    ) -> tuple[int, CIMultiDictProxy[str], bytes]:
        """Answer one request."""
        del method, headers
        name = urlsplit(url).path.rpartition("/")[2]
        fields, content = self._answer(name, json.loads(body or b"{}"))
        if name in self.changes:
            content = self.changes[name](content.decode()).encode()
        return 201 if name == "payment-links" else 200, CIMultiDictProxy(CIMultiDict(fields)), content

    def _answer(self, name: str, body: dict[str, Any]) -> tuple[dict[str, str], bytes]:
        plain = {"Content-Type": "application/json"}
        if name == "payment-links":
            self.state = "active"
            rate = 1.08 if body["currency"] == "EUR" else 1
            self.link = {**body, "amount_microunits": round(body["amount"] * rate * 10**6)}
            members = {"token": TOKEN, "checkout_url": f"{BASE}/checkout/{TOKEN}", "cancel_secret": "s" * 43}
            members |= {"created_at": CREATED, "expires_at": EXPIRES, "asset_id": USDC["algorand_testnet"]}
            return plain, json.dumps({**self.link, **members}).encode()
        if name == "cancel":
            self.state = "cancelled"
        if name in {"cancel", "status"}:
            return plain, self._status(self.state)
        if name == "qr":
            buffer = io.BytesIO()
            segno.make(self._payload(), micro=False).save(buffer, kind="png", scale=4)
            return {"Content-Type": "image/png"}, buffer.getvalue()
        return self.headers, self._page().encode()

    def _status(self, state: str) -> bytes:
        return json.dumps({"status": state, "redirect_url": None, "tx_id": None}).encode()

    def _payload(self) -> str:
        asset, amount = USDC["algorand_testnet"], self.link["amount_microunits"]
        return f"algorand://{PAYOUT}?amount={amount}&asset={asset}&xnote=weldproof%3A{TOKEN}"

    def _page(self) -> str:
        label = html.escape(self.link["label"])
        if self.state != "active":
            return f'<body><h1>{label}</h1><div id="state" data-state="cancelled">Cancelled</div></body>'
        amount, payload = self.link["amount_microunits"], html.escape(self._payload())
        ordered = (
            f'<p id="ordered">EUR {self.link["amount"]:.2f}, 1 EUR = 1.08 USDC, <time datetime="{CREATED}"></time></p>'
            if self.link["currency"] == "EUR"
            else ""
        )
        return (
            f'<body><h1>{label}</h1><div id="state" data-state="active">Waiting</div><div id="addr">{PAYOUT}</div>'
            f'<div id="amount" data-microunits="{amount}">{amount / 10**6:.6f} USDC</div>{ordered}'
            f'<div id="memo">weldproof:{TOKEN}</div><div id="expires"><time datetime="{EXPIRES}">soon</time></div>'
            f'<img id="qr" src="/checkout/{TOKEN}/qr" data-payload="{payload}"><a href="{payload}">Open</a></body>'
        )


async def judge(name: str, shop: Shop, monkeypatch: pytest.MonkeyPatch) -> Verdict:
    """Return what a check makes of a shop whose profile claims the specification."""
    monkeypatch.setenv("WP_TEST_TENANT_KEY", "weld_key")
    claims = 'specification = "1"\n[tenants.first]'
    text = PROFILE.format(defaults="reference", payout=PAYOUT).replace("[tenants.first]\n", f"{claims}\n", 1)
    (row,) = (await run_one_check(name, shop, text)).values()
    return row


PAGE = "the_page_has_its_members"


async def test_the_page_of_the_specification_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every element, payload and field is there."""
    assert await judge(PAGE, Shop(), monkeypatch) is Verdict.PASS


def replace(old: str, new: str) -> Change:
    """Return a change of one text, which has to occur where it is looked for at all."""
    return lambda text: text.replace(old, new)


@pytest.mark.parametrize(
    ("name", "part", "change"),
    [
        (PAGE, TOKEN, replace(PAYOUT, "ELSEWHERE")),
        (PAGE, TOKEN, replace('id="memo">weldproof:', 'id="memo">')),
        (PAGE, TOKEN, replace('data-microunits="', 'data-microunits="1')),
        (PAGE, TOKEN, replace(EXPIRES, CREATED)),
        (PAGE, TOKEN, replace("1 EUR = 1.08", "1 EUR = 1.00")),
        (PAGE, TOKEN, replace('<p id="ordered">', "<p>")),
        (PAGE, TOKEN, html.unescape),
        (PAGE, TOKEN, replace("weldproof%3A", "weldproof:")),
        (PAGE, TOKEN, replace("<a href=", '<a href="solana:else">x</a><a href=')),
        (PAGE, TOKEN, replace("<h1>", '<script src="https://cdn.example/x.js"></script><h1>')),
    ],
)
async def test_each_part_counts(name: str, part: str, change: Change, monkeypatch: pytest.MonkeyPatch) -> None:
    """A part that is absent, or has another value, fails the row."""
    assert await judge(name, Shop({part: change}), monkeypatch) is Verdict.FAIL


@pytest.mark.parametrize("name", ["Content-Security-Policy", "Cache-Control", "Referrer-Policy"])
async def test_each_header_field_of_the_page_counts(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of the three fields has its value."""
    assert await judge(PAGE, Shop(headers={name: "public"}), monkeypatch) is Verdict.FAIL
