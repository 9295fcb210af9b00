"""`weldproof check` and a server that none of us wrote: PyPI's `x402` with Flask, unchanged, and broken copies of it.

The copies answer with the stock server's own terms but for one member, so that what fails is that member. PyPI's client
says of each whether it could pay; where it cannot, the look must have failed it.
"""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import httpx
import pytest
from pydantic import ValidationError
from x402.http.utils import decode_payment_required_header

from tests import prepared
from tests.conformance.wrong_targets import answer_all, serve_connections

SERVER = Path(__file__).parent / "x402" / "stock_server.py"
PATIENT = ("--seconds", "300", "--timeout", "60")
Terms = dict[str, Any]


@pytest.fixture(scope="module")
def shop() -> Iterator[str]:
    """The address of what the stock server sells."""
    with subprocess.Popen([sys.executable, str(SERVER)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip() + "/weather"
        finally:
            process.kill()


def run_check(url: str) -> tuple[int, dict[str, Any]]:
    """Return the exit code of a look and its JSON."""
    result = prepared.run("conformance", "check", url, "--json", *PATIENT, env=os.environ, timeout=600)
    return result.returncode, json.loads(result.stdout)


def verdicts(document: Mapping[str, Any]) -> dict[str, str]:
    """Return the verdict of each rule."""
    return {one["id"]: one["verdict"] for one in document["x402"]["rules"]}


def header_of(url: str) -> str:
    """Return the stock server's terms as it sends them."""
    return httpx.get(url, timeout=60).headers["PAYMENT-REQUIRED"]


def test_the_stock_server_keeps_the_standard(shop: str) -> None:
    """Nothing of it fails, the facilitator's refusal included, and nothing of the weld is asked of it.

    It charges for GET alone: Flask answers HEAD by the same handler, which so runs without a payment (X402-29).
    """
    code, document = run_check(shop)
    assert code == 0, document["grade"]
    other_verdicts = {name: one for name, one in verdicts(document).items() if one != "pass"}
    assert other_verdicts.keys() == {"X402-16", "X402-18", "X402-21", "X402-29"}
    assert other_verdicts["X402-29"] == "warn"
    assert document["x402"]["kind"].endswith("offers of exact on Base Sepolia (no weld)")
    assert "RAIL-WELD-01" in document["not_applicable"][0]["rows"]


def _offer(**members: Any) -> Callable[[Terms], object]:
    def change(terms: Terms) -> object:
        offer = {**terms["accepts"][0], **members}
        return {**terms, "accepts": [{name: value for name, value in offer.items() if value is not None}]}

    return change


# One fault each, the rule that it breaks, and whether PyPI's client reads the terms all the same.
FAULTS: dict[str, tuple[Callable[[Terms], object], str, bool]] = {
    "amount a float": (_offer(amount=0.01), "X402-09", False),
    "amount in dollars": (_offer(amount="$0.01"), "X402-09", True),
    "amount as in version 1": (_offer(amount=None, maxAmountRequired="10000"), "X402-09", False),
    "network a bare name": (_offer(network="base-sepolia"), "X402-08", True),
    "asset by its symbol": (_offer(asset="USDC"), "X402-10", True),
    "no payee": (_offer(payTo=None), "X402-11", False),
    "no time": (_offer(maxTimeoutSeconds=None), "X402-12", False),
    "no domain": (_offer(extra={"note": "x"}), "X402-14", True),
    "domain of the main network": (_offer(extra={"name": "USD Coin", "version": "2"}), "X402-15", True),
    "version 1": (lambda terms: {**terms, "x402Version": 1}, "X402-04", False),
    "no resource": (lambda terms: {**terms, "resource": None}, "X402-05", True),
    "nothing offered": (lambda terms: {**terms, "accepts": []}, "X402-06", True),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_copy_with_one_fault_fails(name: str, shop: str) -> None:
    """The rule that it breaks is among those that fail, and what PyPI's client cannot read never passes."""
    change, rule, readable = FAULTS[name]
    terms = json.loads(base64.b64decode(header_of(shop)))
    header = base64.b64encode(json.dumps(change(terms)).encode()).decode()
    assert _is_read(header) is readable
    code, row_verdicts = _check_copy(header)
    assert (code, row_verdicts[rule]) == (1, "fail"), row_verdicts


def test_a_copy_without_fault_passes(shop: str) -> None:
    """The control of the others: the same way, nothing changed."""
    code, row_verdicts = _check_copy(header_of(shop))
    assert (code, "fail" in row_verdicts.values()) == (0, False), row_verdicts


@pytest.mark.parametrize("form", ["plain JSON", "base64url", "no padding", "no header"])
def test_a_header_that_is_not_base64_of_json_fails(form: str, shop: str) -> None:
    """The terms are right, and no client finds them."""
    header = header_of(shop)
    data = base64.b64decode(header).replace(b'"Weather"', '"Wetter ?>~ÿÿÿ~?>?"'.encode())
    made = {
        "plain JSON": data.decode("utf-8").encode("ascii", "ignore").decode(),
        "base64url": base64.urlsafe_b64encode(data).decode(),
        "no padding": base64.b64encode(data + b" " * (1 - len(data) % 3)).decode().rstrip("="),
        "no header": None,
    }[form]
    assert made is None or form != "base64url" or set(made) & set("-_")
    code, row_verdicts = _check_copy(made)
    assert (code, row_verdicts["X402-02" if form == "no header" else "X402-03"]) == (1, "fail"), row_verdicts


def test_our_own_rail_is_more_than_that(stack: dict[str, str]) -> None:
    """It keeps the standard and has a weld; its own requirements are judged, and a price for the rest is named."""
    code, document = run_check(stack["rail"])
    assert code == 0, document["grade"]
    assert document["x402"]["welded"] is True
    assert {one["verdict"] for one in document["requirements"]} == {"pass"}
    assert document["paying"]["rows"] > 0
    assert document["paying"]["units"] > 0
    assert document["not_applicable"] == []


def _check_copy(header: str | None) -> tuple[int, dict[str, str]]:
    fields = (
        ["Cache-Control: no-store"] if header is None else ["Cache-Control: no-store", f"PAYMENT-REQUIRED: {header}"]
    )
    with serve_connections(answer_all("402 Payment Required", b"{}", *fields)) as place:
        code, document = run_check(f"http://{place}/weather")
    return code, verdicts(document)


def _is_read(header: str) -> bool:
    try:
        decode_payment_required_header(header)
    except (ValidationError, ValueError):
        return False
    return True
