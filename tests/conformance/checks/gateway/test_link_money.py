"""Amounts, currencies and networks of links: the check on the arithmetic of the reference and on broken ones."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any
from urllib.parse import urlsplit

import pytest
from multidict import CIMultiDict, CIMultiDictProxy

from conformance.outcome import Verdict
from reference.protocol.money import amount_pretty, microunits_of
from tests.conformance.checks.trial import run_one_check

RATES = {"USD": "1", "USDC": "1", "EUR": "1.08", "GBP": "1.27"}
PROFILE = """
[target]
defaults = "reference"
[surfaces.gateway]
url = "http://gateway.test"
[claims]
surfaces = ["gateway"]
lanes = ["algorand"]
specification = "1"
[tenants.first]
id = "tenant"
key.env = "MONEY_TEST_KEY"
networks = ["algorand_testnet"]
[pace]
requests_per_second = 0.0
"""

Convert = Callable[[str, Decimal], int]


class Gateway:
    """Creates links in memory, with the arithmetic of the reference unless a test gives another."""

    def __init__(self, convert: Convert = microunits_of, pretty: Callable[[int, str], str] = amount_pretty) -> None:
        self._convert = convert
        self._pretty = pretty
        self._links: list[int] = []

    async def send(
        self, method: str, url: str, headers: Sequence[tuple[str, str]], body: bytes | None
    ) -> tuple[int, CIMultiDictProxy[str], bytes]:
        """Answer one request."""
        del headers
        path = urlsplit(url).path
        if method == "GET":
            text = self._pretty(self._links[int(path.rpartition("/")[2].strip("t"))], "USDC")
            return 200, CIMultiDictProxy(CIMultiDict()), f'<div id="amount" data-microunits="1">{text}</div>'.encode()
        status, document = self._create(json.loads(body or b"{}", parse_float=str, parse_int=str))
        return status, CIMultiDictProxy(CIMultiDict()), json.dumps(document).encode()

    def _create(self, order: dict[str, Any]) -> tuple[int, Any]:
        rate = RATES.get(str(order.get("currency", "USD")).upper())
        if rate is None:
            return 400, {"error": "unsupported_currency", "message": "no rate"}
        if order.get("preferred_network") not in {"algorand_testnet", "algorand_mainnet"}:
            return 400, {"error": "unsupported_network", "message": "not offered"}
        try:
            microunits = self._convert(str(order["amount"]), Decimal(rate))
        except ValueError:
            return 422, {"error": "validation_error", "message": "out of range"}
        self._links.append(microunits)
        token = f"t{len(self._links) - 1}"
        return 201, {
            "token": token,
            "amount_microunits": microunits,
            "checkout_url": f"http://gateway.test/checkout/{token}",
        }


async def judge(gateway: Gateway, monkeypatch: pytest.MonkeyPatch) -> Verdict:
    """Return the verdict of the check."""
    monkeypatch.setenv("MONEY_TEST_KEY", "key")
    return (await run_one_check("money_of_links", gateway, PROFILE))["GW-MONEY-01"]


async def test_the_arithmetic_of_the_reference_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bounds, rounding, rates, codes and the amount for people are as 1.3 says."""
    assert await judge(Gateway(), monkeypatch) is Verdict.PASS


@pytest.mark.parametrize(
    "convert",
    [
        lambda literal, rate: max(1, microunits_of(literal, rate)) if Decimal(literal) > Decimal("0.000001") else 1,
        lambda literal, rate: microunits_of(literal) if rate != 1 else microunits_of(literal, rate),
        lambda literal, rate: int(Decimal(literal) * rate * 1_000_000),
    ],
)
async def test_another_arithmetic_fails(convert: Convert, monkeypatch: pytest.MonkeyPatch) -> None:
    """A least amount of one, a rate that is not applied, and an amount that is cut off are each noticed."""
    assert await judge(Gateway(convert), monkeypatch) is Verdict.FAIL


async def test_another_amount_for_people_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """Zeros at the end of a fraction are noticed."""
    gateway = Gateway(pretty=lambda amount, label: f"{amount / 1_000_000:.6f} {label}")
    assert await judge(gateway, monkeypatch) is Verdict.FAIL
