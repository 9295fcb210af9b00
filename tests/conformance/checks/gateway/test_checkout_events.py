"""The events of a checkout, at a gateway in memory that sends them in pieces."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import urlsplit

import pytest
from multidict import CIMultiDict, CIMultiDictProxy

from conformance.http.client import PieceListener
from conformance.lanes.checkout_request import USDC
from conformance.outcome import Verdict
from tests.conformance.checks.gateway.scripted_checkout import PAYOUT, PROFILE
from tests.conformance.checks.trial import run_one_check

CHECK, ROW = "the_events_report_each_status", "GW-CHK-24"
BASE, TOKEN = "http://gateway.test", "AAECAwQFBgcICQoLDA0ODw"
_STREAM_HEADERS = {"Content-Type": "text/event-stream"}
Result = tuple[int, CIMultiDictProxy[str], bytes]


class EventShop:
    """One link with its status and its events.

    `change` alters the bytes of each event. The stream opens after some seconds, and ends with the link unless `ends`
    is False.
    """

    def __init__(
        self,
        change: Callable[[bytes], bytes] = lambda event: event,
        *,
        opening_seconds: float = 0.0,
        sends_first: bool = True,
        ends: bool = True,
    ) -> None:
        self.change = change
        self.opening_seconds = opening_seconds
        self.sends_first = sends_first
        self.ends = ends
        self.cancelled = asyncio.Event()

    async def send(self, method: str, url: str, headers: Sequence[tuple[str, str]], body: bytes | None) -> Result:
        """Answer one request as a transport."""
        del method, headers
        name = urlsplit(url).path.rpartition("/")[2]
        if name == "payment-links":
            request = json.loads(body or b"{}")
            members = {"token": TOKEN, "checkout_url": f"{BASE}/checkout/{TOKEN}", "cancel_secret": "s" * 43}
            members |= {"asset_id": USDC["algorand_testnet"], "amount_microunits": round(request["amount"] * 10**6)}
            return self._answer(201, {**request, **members})
        if name == "events":
            return await self.stream("GET", url, (), None, lambda _: None)
        if name == "cancel":
            self.cancelled.set()
        return self._answer(200, self._status())

    async def stream(
        self, method: str, url: str, headers: Sequence[tuple[str, str]], body: bytes | None, listener: PieceListener
    ) -> Result:
        """Answer with events, which are passed on in pieces of 10 bytes."""
        del method, url, headers, body
        await asyncio.sleep(self.opening_seconds)
        content = b""
        was_cancelled = self.cancelled.is_set()
        if self.sends_first:
            content += self._send_event(listener)
        if not was_cancelled:
            await self.cancelled.wait()
            content += self._send_event(listener)
        if not self.ends:
            await asyncio.Event().wait()
        return 200, CIMultiDictProxy(CIMultiDict(_STREAM_HEADERS)), content

    def _send_event(self, listener: PieceListener) -> bytes:
        event = self.change(b"event: status\ndata: " + json.dumps(self._status()).encode() + b"\n\n")
        for place in range(0, len(event), 10):
            listener(event[place : place + 10])
        return event

    def _status(self) -> dict[str, Any]:
        status = "cancelled" if self.cancelled.is_set() else "active"
        return {"status": status, "redirect_url": None, "tx_id": None}

    def _answer(self, status: int, members: dict[str, Any]) -> Result:
        fields = CIMultiDictProxy(CIMultiDict({"Content-Type": "application/json"}))
        return status, fields, json.dumps(members).encode()


async def judge(shop: EventShop, monkeypatch: pytest.MonkeyPatch, *, paid_seconds: float = 30.0) -> Verdict:
    """Return what the check makes of a shop whose profile claims the specification."""
    monkeypatch.setenv("WP_TEST_TENANT_KEY", "weld_key")
    text = PROFILE.format(defaults="reference", payout=PAYOUT).replace("paid = 0.2", f"paid = {paid_seconds}")
    text = text.replace("[tenants.first]\n", 'specification = "1"\n[tenants.first]\n', 1)
    return (await run_one_check(CHECK, shop, text))[ROW]


@pytest.mark.parametrize("opening_seconds", [0.0, 1.0])
async def test_each_status_passes(opening_seconds: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """The link is cancelled after the first event, however late its stream opens."""
    assert await judge(EventShop(opening_seconds=opening_seconds), monkeypatch) is Verdict.PASS


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"event: status", b"event: state"),
        (b'"active"', b'"cancelled"'),
        (b"\n\n", b"\n\ndata: {}\n\n"),
        (b'"tx_id": null', b'"tx_id": "tx1"'),
    ],
)
async def test_each_part_of_an_event_counts(old: bytes, new: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another type, another status, a further event and another member each fail the row."""
    assert await judge(EventShop(lambda event: event.replace(old, new)), monkeypatch) is Verdict.FAIL


async def test_a_stream_of_changes_alone_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """The status at once is missing."""
    assert await judge(EventShop(sends_first=False), monkeypatch, paid_seconds=0.3) is Verdict.FAIL


async def test_a_stream_without_end_decides_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """P-CK-02 leaves open whether a stream ends with its link."""
    assert await judge(EventShop(ends=False), monkeypatch, paid_seconds=0.3) is Verdict.INCONCLUSIVE
