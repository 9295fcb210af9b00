"""The payer that is there to be broken reads a checkout page, its QR code and its status (10.6)."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from reference.variants.payer import link as payer_link
from reference.variants.payer.http_call import Answer
from reference.variants.payer.link import RULES, Link
from reference.variants.payer.settings import Settings

PAYEE = "0x" + "1" * 40
ASSET = "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"
CODE = {"address": PAYEE, "amount": "50000", "asset": ASSET, "chain": "8453"}
URL, KEY = "http://127.0.0.1:1/checkout/t", "0x" + "1" * 64
SETTINGS = Settings(URL, "GET", b"", "base", "eip155:8453", ASSET, "", "", KEY, 50_000, 1.0, Path())
HONEST = Link(SETTINGS, "active", "active", PAYEE, "50000", "weldproof:t", CODE)


def broken_rules(link: Link) -> list[str]:
    """Return the names of the rules that a link breaks."""
    return [rule.__name__ for rule in RULES if not rule(link)]


def test_an_honest_link_keeps_every_rule() -> None:
    """Also without a status, and with a memo in its code."""
    assert broken_rules(HONEST) == []
    assert broken_rules(replace(HONEST, status="", code={**CODE, "memo": "weldproof:t"})) == []


@pytest.mark.parametrize(
    ("members", "rule"),
    [
        ({"state": "paid"}, "is_active"),
        ({"state": ""}, "is_active"),
        ({"status": "expired"}, "has_active_status"),
        ({"memo": ""}, "shows_all"),
        ({"code": {**CODE, "address": "0x" + "2" * 40}}, "codes_address"),
        ({"code": {**CODE, "amount": "50001"}}, "codes_amount"),
        ({"code": {**CODE, "memo": "weldproof:u"}}, "codes_memo"),
        ({"code": {**CODE, "asset": "0x" + "2" * 40}}, "codes_asset"),
        ({"code": {**CODE, "chain": "1"}}, "codes_asset"),
        ({"amount": "50001", "code": {**CODE, "amount": "50001"}}, "is_within_limit"),
    ],
)
def test_one_change_breaks_one_rule(members: dict[str, Any], rule: str) -> None:
    """No rule covers for another one."""
    assert broken_rules(replace(HONEST, **members)) == [rule]


@pytest.mark.parametrize(
    ("lane", "payload", "expected"),
    [
        (
            "algorand",
            "algorand://ADDRESS?amount=50000&asset=31566704&xnote=weldproof%3At",
            {"address": "ADDRESS", "amount": "50000", "asset": "31566704", "memo": "weldproof:t"},
        ),
        (
            "solana",
            "solana:address?amount=0.05&spl-token=mint&memo=weldproof%3At",
            {"address": "address", "amount": "50000", "asset": "mint", "memo": "weldproof:t"},
        ),
        ("base", f"http://shop/checkout/t#ethereum:{ASSET}@8453/transfer?address={PAYEE}&uint256=50000", CODE),
        ("base", "algorand://ADDRESS?amount=50000", {}),
    ],
)
def test_codes_are_read(lane: str, payload: str, expected: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Each lane has its form; the code of another lane says nothing."""
    page = f'<img id="qr" data-payload="{payload.replace("&", "&amp;")}"><div id="state" data-state="active">x</div>'
    answers = {SETTINGS.url: Answer(200, {}, page.encode()), SETTINGS.url + "/status": Answer(404, {}, b"")}
    monkeypatch.setattr(payer_link, "send_request", lambda _, url: answers[url])
    link = payer_link.read_link(replace(SETTINGS, lane=lane))
    assert link.code == expected
    assert (link.state, link.status) == ("active", "")
