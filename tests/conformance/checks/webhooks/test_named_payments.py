"""What the check of deliveries makes of a payment whose transaction is named to the sender before it looks itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from multidict import CIMultiDictProxy

from conformance.http.client import LateAnswer
from conformance.outcome import Verdict
from conformance.surfaces.webhooks import paid_links
from tests.conformance.checks.gateway.scripted_checkout import Link, Transfer
from tests.conformance.checks.webhooks.scripted_sender import Flaws, Shop, run_check

CHECK = "a_confirmed_payment_is_delivered"
ROWS = ("WH-DELIV-01", "WH-DELIV-02", "WH-DELIV-04", "WH-DELIV-08")

pytestmark = pytest.mark.usefixtures("quick_service")


@dataclass
class Naming(Shop):
    """A shop that reports a link with a far label only when its payment is named, if it does then."""

    tells: bool = True
    refusals: int = 2
    waits: bool = False
    named: set[str] = field(default_factory=set)

    async def send(
        self, method: str, url: str, headers: Sequence[tuple[str, str]], body: bytes | None
    ) -> tuple[int, CIMultiDictProxy[str], bytes]:
        """Answer one request."""
        if method != "POST" or not url.endswith("/verify"):
            return await super().send(method, url, headers, body)
        if self.waits:
            raise LateAnswer("no answer came in time")
        if self.refusals:
            self.refusals -= 1
            return self._answer(422, {"error": "payment_not_verified", "reason": "tx_not_confirmed"})
        self.named.add(url.split("/")[-2])
        self.look()
        return self._answer(200, {"status": "paid"})

    def rightly(self, link: Link, seen: Transfer, paid: bool) -> bool:
        """Return whether a payment is reported."""
        del seen
        is_far = self.labels[link.token].startswith(paid_links.FAR_LABEL)
        return paid and (not is_far or (self.tells and link.token in self.named))


async def verdicts(folder: Path, shop: Naming, *, claims: bool = True) -> dict[str, Verdict]:
    """Return the verdicts of a shop that reports named payments, or does not."""

    def change_profile(text: str) -> str:
        return text.replace('lanes = ["algorand"]', 'lanes = ["algorand"]\noptions = ["gateway.checkout"]')

    flaws = Flaws(tells=shop.rightly if claims else lambda link, seen, paid: paid)  # noqa: ARG005 - as it is called
    return (await run_check(CHECK, folder, flaws, shop=shop, changed=change_profile if claims else lambda text: text))[
        0
    ]


async def test_who_tells_of_a_named_payment_passes(tmp_path: Path) -> None:
    """It is named again until it is taken."""
    shop = Naming()
    assert await verdicts(tmp_path, shop) == dict.fromkeys(ROWS, Verdict.PASS)
    assert len(shop.named) == 1


async def test_who_takes_a_named_payment_and_keeps_silent_breaks_a_row(tmp_path: Path) -> None:
    """Its page says Paid, and no event is sent."""
    expected = {**dict.fromkeys(ROWS, Verdict.PASS), "WH-DELIV-02": Verdict.FAIL}
    assert await verdicts(tmp_path, Naming(tells=False)) == expected


async def test_nothing_is_named_to_who_claims_no_such_call(tmp_path: Path) -> None:
    """The interface knows no such call."""
    shop = Naming(refusals=0)
    assert await verdicts(tmp_path, shop, claims=False) == dict.fromkeys(ROWS, Verdict.PASS)
    assert not shop.named


async def test_who_waits_for_finality_before_an_answer_is_judged_all_the_same(tmp_path: Path) -> None:
    """A call of which no answer came in time takes nothing from the event of the payment."""
    row_verdicts = await verdicts(tmp_path, Naming(waits=True, tells=False))
    assert row_verdicts["WH-DELIV-02"] is Verdict.FAIL
    assert {row_verdicts[row] for row in ROWS if row != "WH-DELIV-02"} == {Verdict.PASS}
