"""What the check of listed prices makes of documents that say what the 402 asks, of wrong ones and of silent ones."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest

from conformance.outcome import Verdict
from tests.conformance.checks.rail.scripted_rail import BASE, PATHS, PROFILE, Call, Rail, Reply, run_check
from tests.conformance.checks.trial import find_broken_rows

CHECK = "listed_prices_are_those_of_the_402"
UNBOUND = PROFILE.replace('"reference"', '"none"')
CATALOG, LISTING, INDEX, OPENAPI = "/.well-known/x402", "/discovery/resources", "/pay/v1/index", "/openapi.json"
PRICES = {path: str(10_000 * (n + 1)) for n, path in enumerate(PATHS)}


class Priced(Rail):
    """A rail with a price for each operation, whose documents say so; `fault` changes one of them."""

    def __init__(self, path: str = "", fault: Callable[[Any], None] | None = None) -> None:
        super().__init__(self._change_document)
        self._path, self._fault = path, fault

    def challenge(self, call: Call) -> Reply:
        """Return a 402 at the price of its operation."""
        reply = super().challenge(call)
        for entry in reply.document["accepts"]:
            entry["maxAmountRequired"] = PRICES[call.path]
        return reply

    def list_entries(self, path: str) -> list[dict[str, Any]]:
        """Return the entries of an operation without their tokens."""
        accepts: list[dict[str, Any]] = self.challenge(Call("POST", path, {}, b"{}", ())).document["accepts"]
        for entry in accepts:
            del entry["extra"]["payment_reference"]
        return accepts

    def _change_document(self, call: Call, reply: Reply) -> Reply:
        documents: dict[str, Callable[[], Any]] = {
            CATALOG: lambda: {
                "resources": [BASE + path for path in PATHS],
                "accepts": self.list_entries(next(iter(PATHS))),
            },
            LISTING: lambda: {
                "items": [{"resource": BASE + path, "accepts": self.list_entries(path)} for path in PATHS]
            },
            INDEX: lambda: {"services": [{"url": BASE + path, "price_microusdc": int(PRICES[path])} for path in PATHS]},
            OPENAPI: lambda: self._with_prices(deepcopy(reply.document)),
        }
        if call.path not in documents:
            return reply
        document = documents[call.path]()
        if call.path == self._path and self._fault is not None:
            self._fault(document)
        return Reply(200, document)

    @staticmethod
    def _with_prices(document: Any) -> Any:
        for path, item in document["paths"].items():
            dollars = f"{int(PRICES[path]) / 10**6:.2f}"
            info = {"price": {"mode": "fixed", "currency": "USD", "amount": dollars}}
            info["offers"] = [{"method": "x402", "amount": PRICES[path]}]  # type: ignore[assignment]
            document["paths"][path] = {"post": {**item["post"], "x-payment-info": info}}
        return document


def last_info(document: Any) -> Any:
    """Return the x-payment-info of the last operation."""
    return document["paths"][list(PATHS)[-1]]["post"]["x-payment-info"]


async def test_terms_of_the_402_pass_and_so_do_documents_without_prices() -> None:
    """What a document does not say is not judged."""
    assert set((await run_check(CHECK, Priced())).values()) == {Verdict.PASS}
    assert set((await run_check(CHECK, Rail())).values()) == {Verdict.NOT_APPLICABLE}


@pytest.mark.parametrize(
    ("row", "path", "fault"),
    [
        ("RAIL-DISC-05", LISTING, lambda one: one["items"][1].update(accepts=one["items"][0]["accepts"])),
        ("RAIL-DISC-05", LISTING, lambda one: one["items"][2]["accepts"][0].update(payTo="A" * 58)),
        ("RAIL-DISC-05", LISTING, lambda one: one["items"][2]["accepts"][0].update(network="eip155:8453")),
        ("RAIL-DISC-05", LISTING, lambda one: one["items"][0]["accepts"][0]["extra"].update(payment_reference="1:2:3")),
        ("RAIL-DISC-04", CATALOG, lambda one: one["accepts"][0].update(maxAmountRequired="1")),
        ("RAIL-DISC-07", INDEX, lambda one: one["services"][2].update(price_microusdc=10_000)),
        ("RAIL-DISC-09", OPENAPI, lambda one: last_info(one)["price"].update(amount="0.01")),
        ("RAIL-DISC-09", OPENAPI, lambda one: last_info(one)["price"].update(amount="three cents")),
        ("RAIL-DISC-09", OPENAPI, lambda one: last_info(one)["offers"][0].update(amount="10000")),
    ],
)
async def test_terms_of_another_operation_break_their_row(row: str, path: str, fault: Callable[[Any], None]) -> None:
    """Each fails our own target, and warns elsewhere."""
    assert find_broken_rows(await run_check(CHECK, Priced(path, fault))) == {row}
    verdicts = await run_check(CHECK, Priced(path, fault), UNBOUND)
    assert verdicts[row] is Verdict.WARN
    assert Verdict.FAIL not in verdicts.values()
