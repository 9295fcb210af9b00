"""What the check of expired links makes of gateways that report them as cancelled, and of such that do not."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from multidict import CIMultiDictProxy

from conformance.checks.gateway import expired_events
from conformance.outcome import Verdict
from conformance.surfaces.gateway import orders
from tests.conformance.checks.gateway.scripted_checkout import Link
from tests.conformance.checks.webhooks.scripted_sender import run_check
from tests.conformance.checks.webhooks.test_destination_selection import Administered

CHECK, ROW = "an_expired_link_is_not_reported_as_cancelled", "GW-CHK-20"


@pytest.fixture(autouse=True)
def quick_check(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WP_TEST_TENANT_KEY", "weld_0123456789abcdef")
    monkeypatch.setattr(orders, "_LOOK_SECONDS", 0.01)
    monkeypatch.setattr(expired_events, "_SETTLE_SECONDS", 0.3)


@dataclass
class Ending(Administered):
    """A shop whose links end, and which reports those that are cancelled.

    Attributes:
        cancels: Whether it sends `payment.cancelled` at all.
        expired: Event type that it sends for a link whose time is over, if any.
        ends: When links end, in unix seconds.
    """

    cancels: bool = True
    expired: str | None = None
    ends: dict[str, float] = field(default_factory=dict)

    async def send(
        self, method: str, url: str, headers: Sequence[tuple[str, str]], body: bytes | None
    ) -> tuple[int, CIMultiDictProxy[str], bytes]:
        """Answer one request."""
        self._end_links()
        parts = urlsplit(url).path.split("/")
        if parts[-1] == "status":
            return self._answer(200, {"status": self.links[parts[-2]].state})
        if parts[-1] == "cancel":
            link = self.links[parts[-2]]
            link.state = "cancelled"
            if self.cancels:
                self._report(link, "payment.cancelled")
            return self._answer(200, {"status": "cancelled"})
        return await super().send(method, url, headers, body)

    def _create(self, body: Mapping[str, Any]) -> Mapping[str, Any]:
        link = super()._create(body)
        self.ends[str(link["token"])] = self.now + body.get("expires_in_seconds", 86_400)
        return link

    def _end_links(self) -> None:
        for token, ends in self.ends.items():
            link = self.links[token]
            if link.state == "active" and ends <= self.now:
                link.state = "expired"
                if self.expired is not None:
                    self._report(link, self.expired)

    def _report(self, link: Link, type_: str) -> None:
        event = {"id": f"evt_{link.token}", "type": type_, "data": {"tenant_label": self.labels[link.token]}}
        for place in self.made:
            self.tasks.add(asyncio.create_task(self._deliver(event, place, int(self.now))))


async def verdict(folder: Path, shop: Ending, *, claims: bool = True, defaults: str = "reference") -> Verdict:
    """Return the verdict on a shop."""
    (folder / "admin").write_text("weldc_an-administrators-key")
    # Moving the clock needs a file that is there.
    (folder / "clock").write_text("0")

    def edit(text: str) -> str:
        text = text.replace("http://gateway.test", "http://127.0.0.1").replace("paid = 120.0", "paid = 1.0")
        text = text.replace('"reference"', f'"{defaults}"')
        text += f'[gateway]\nadmin_key = {{ file = "{folder / "admin"}" }}\n'
        options = '"gateway.checkout", "gateway.tenants"' if claims else '"gateway.checkout"'
        return text.replace('lanes = ["algorand"]', f'lanes = ["algorand"]\noptions = [{options}]')

    return (await run_check(CHECK, folder, shop=shop, changed=edit))[0][ROW]


@pytest.mark.parametrize("expired", [None, "payment.expired"])
async def test_a_gateway_that_reports_cancelled_links_only_passes(expired: str | None, tmp_path: Path) -> None:
    """An expired link may have an event with another type."""
    assert await verdict(tmp_path, Ending(expired=expired)) is Verdict.PASS


@pytest.mark.parametrize(("defaults", "expected"), [("reference", Verdict.FAIL), ("none", Verdict.WARN)])
async def test_an_expired_link_that_is_reported_as_cancelled_is_caught(
    defaults: str, expected: Verdict, tmp_path: Path
) -> None:
    """The interface names no such event, so other targets than the reference are warned."""
    shop = Ending(expired="payment.cancelled")
    assert await verdict(tmp_path, shop, defaults=defaults) is expected


async def test_without_the_control_nothing_is_judged(tmp_path: Path) -> None:
    """A gateway that sends no such event for a cancelled link shows nothing by its silence."""
    assert await verdict(tmp_path, Ending(cancels=False)) is Verdict.NOT_APPLICABLE


async def test_without_the_claim_nothing_is_asked(tmp_path: Path) -> None:
    """A target that does not claim tenants by an administrator is not judged."""
    assert await verdict(tmp_path, Ending(expired="payment.cancelled"), claims=False) is Verdict.NOT_APPLICABLE
