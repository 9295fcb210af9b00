"""WH-DELIV-09: an event about a paid call is recognised by its token, transaction or receipt, which are unique."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from algosdk import account
from multidict import CIMultiDict, CIMultiDictProxy

from conformance.checks.webhooks import no_rail_events
from conformance.discovery.rail import Operation
from conformance.engine.paid_operations import OperationCatalog
from conformance.http.client import Answer
from conformance.outcome import Verdict
from conformance.surfaces.gateway import orders
from conformance.surfaces.rail.purchase import Challenge, Purchase
from tests.conformance.checks.webhooks.scripted_sender import Event, Flaws, Shop, run_check

TOKEN = f"1767225600:{'ab' * 8}:{'cd' * 32}"
TX_ID = "T" * 51 + "A"
RECEIPT = f"e30.{'e' * 60}.AA"
PAYER = account.generate_account()[1]
NAME = "the_rail_tells_nobody"


def make_purchase() -> Purchase:
    """Return a paid call."""
    entry = {"network": "algorand:x", "extra": {"payment_reference": TOKEN}}
    headers = CIMultiDictProxy(CIMultiDict[str]())
    quote = Challenge(Operation(None, "http://rail.test/x", "/x", {}, ()), {}, Answer(1, 402, headers, b"{}"), (entry,))
    answer = Answer(2, 200, headers, f'{{"payable_receipt":"{RECEIPT}"}}'.encode())
    return Purchase(quote, "algorand", {"tx_id": TX_ID, "payer": PAYER}, answer)


@pytest.fixture(autouse=True)
def quick_service(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WP_TEST_TENANT_KEY", "weld_0123456789abcdef")
    monkeypatch.setattr(orders, "_LOOK_SECONDS", 0.01)
    monkeypatch.setattr(OperationCatalog, "operations", property(lambda _: (None,)))


def script_purchase(monkeypatch: pytest.MonkeyPatch, shop: Shop, events: Sequence[Event]) -> None:
    """Have the rail tell of its sale by events at the first destination."""

    async def purchase(*_: Any) -> Purchase:
        for event in events:
            await shop._deliver(event, shop.places[0], int(shop.now))
        return make_purchase()

    monkeypatch.setattr(no_rail_events, "purchase", purchase)


async def verdict(monkeypatch: pytest.MonkeyPatch, folder: Path, *events: Event, **flaws: Any) -> Verdict:
    """Return what the row comes to when the rail sends these events."""
    shop = Shop()
    script_purchase(monkeypatch, shop, events)
    monkeypatch.setattr(no_rail_events, "_WAIT_SECONDS", 0.0)
    row_verdicts, _ = await run_check(NAME, folder, Flaws(**flaws), shop=shop)
    return row_verdicts["WH-DELIV-09"]


async def test_a_silent_rail_passes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The gateway's own events, and an event of whatever else, are not the rail's."""
    assert await verdict(monkeypatch, tmp_path) is Verdict.PASS
    other_event = {"type": "payment.confirmed", "data": {"tx_id": "U" * 52, "payer_address": PAYER}}
    assert await verdict(monkeypatch, tmp_path, other_event) is Verdict.PASS


@pytest.mark.parametrize(
    "told",
    [
        lambda: {"type": "payment.confirmed", "data": {"tx_id": TX_ID}},
        lambda: {"type": "call.paid", "reference": f"ref {TOKEN}"},
        lambda: {"receipts": [{"jws": RECEIPT}]},
    ],
)
async def test_an_event_of_a_paid_call_breaks_the_row(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, told: Callable[[], Event]
) -> None:
    """Of any type: an event that names transaction, token or receipt reports the call."""
    assert await verdict(monkeypatch, tmp_path, told()) is Verdict.FAIL


async def test_silence_without_a_control_shows_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Where no event of a paid link comes either, nothing is said of the rail."""
    assert await verdict(monkeypatch, tmp_path, page_only=True) is Verdict.INCONCLUSIVE


def test_addresses_of_payer_and_payee_are_nobodys_words() -> None:
    """They are in the gateway's own events, too."""
    assert set(no_rail_events._list_unique_texts("algorand", make_purchase())) == {TOKEN, TX_ID, RECEIPT}
