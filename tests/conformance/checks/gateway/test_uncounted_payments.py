"""What the check of the list of payments that count for no link finds wrong with an entry."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.assertions.gateway import uncounted_payments
from conformance.assertions.gateway.uncounted_payments import Uncounted, judge_listed
from conformance.http.client import Answer
from conformance.lanes.checkout_request import CheckoutRequest
from tests.conformance.checks.gateway.recorded_case import RecordedCase, build_answer

BILL = CheckoutRequest("10458941", "SHOP", 12_345, "weldproof:token")
LINK = build_answer(201, {"id": "link-1", "token": "token", "checkout_url": "http://gateway/checkout/token"})
ENTRY = {
    "state": "surplus",
    "reason": "surplus",
    "tx_id": "TX",
    "asset_id": "10458941",
    "amount": "12345",
    "surplus": "45",
    "payer": "PAYER",
    "token": "token",
}


class Lists:
    """An administrator whose lists have the given entries."""

    def __init__(self, *entries: dict[str, Any], bare: bool = False) -> None:
        self.entries, self.bare = list(entries), bare

    async def call(self, *_: Any, **__: Any) -> Answer:
        """Return the list."""
        return build_answer(200, self.entries if self.bare else {"payments": self.entries})


async def judge(admin: Lists, entry: Uncounted, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Return whether an entry is listed as it should be."""
    monkeypatch.setattr(uncounted_payments, "_LISTED_SECONDS", 0.0)
    case = RecordedCase(admin.call)
    await judge_listed(case, admin, "tenant", entry)  # type: ignore[arg-type]
    return not case.breaches


SURPLUS = Uncounted("surplus", "surplus", "TX", BILL, LINK, 45)


@pytest.mark.parametrize("bare", [False, True])
async def test_an_entry_of_the_specification_passes(bare: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """The list is the body, or its member `payments`."""
    assert await judge(Lists(ENTRY, bare=bare), SURPLUS, monkeypatch)


@pytest.mark.parametrize(
    "changes",
    [
        {"tx_id": "OTHER"},
        {"state": "late"},
        {"reason": "late"},
        {"amount": "12300"},
        {"surplus": None},
        {"asset_id": "7"},
        {"payer": None},
        {"payer": "SHOP"},
        {"token": "other"},
    ],
)
async def test_each_member_of_an_entry_counts(changes: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """A member that is absent or of another payment is a breach."""
    assert not await judge(Lists({**ENTRY, **changes}), SURPLUS, monkeypatch)


async def test_another_asset_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """An entry of another asset must not name that of the link."""
    entry = Uncounted("other_asset", "wrong_asset", "TX", BILL, LINK)
    listed = {**ENTRY, "state": "other_asset", "reason": "wrong_asset"}
    assert not await judge(Lists(listed), entry, monkeypatch)
    assert await judge(Lists({**listed, "asset_id": "7"}), entry, monkeypatch)
