"""The check of an administrator's calls, against an administration in memory."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

import pytest

from conformance.checks.gateway import administration_members as module
from conformance.http.client import Answer
from tests.conformance.checks.gateway.recorded_case import RecordedCase, build_answer

TENANT_ID = "33333333-3333-4333-8333-333333333333"
TIMES = {"trial_started_at": "2026-01-01T00:00:00Z", "trial_ends_at": "2026-03-02T00:00:00Z"}
LAST = "2026-02-01T00:00:00Z"


class Administration:
    """Answers as 3.9 says, but for its flaw."""

    def __init__(self, flaw: str = "") -> None:
        self.flaw = flaw
        self.key = "weldc_" + "a" * (16 if flaw == "short keys" else 43)
        self.networks: dict[str, Any] = {}
        self.ids: list[str] = []
        self.numbers = itertools.count(10)
        self.first_key = ""

    def _secret(self, prefix: str) -> str:
        number = 1 if self.flaw == "one secret" else next(self.numbers)
        return f"{prefix}_{number:043d}"

    def _id(self) -> str:
        self.ids.append(f"id-{next(self.numbers)}")
        return self.ids[-1]

    async def call(self, method: str, *path: str, body: Any = None, query: Mapping[str, str] | None = None) -> Answer:
        """Answer one call."""
        del method, query
        if not path:
            self.first_key = self._secret("weld")
            key_id = self._id()
            members = {"tenant_id": TENANT_ID, "name": body["name"], "kyc_status": "trial", **TIMES}
            return build_answer(201, {**members, "api_key": self.first_key, "key_id": key_id})
        if path[0] != TENANT_ID:
            return build_answer(404, {})
        if path[-1] == "rotate":
            kind = {"api_key": self._secret("weld"), "key_id": self._id(), "old_valid_until": LAST}
            if "webhooks" in path:
                kind = {"secret": self._secret("weldw")}
            if self.flaw == "no end of a rotated key":
                kind.pop("old_valid_until", None)
            return build_answer(201, kind)
        if path[-1] == "api-keys":
            return build_answer(201, {"key_id": self._id(), "api_key": self._secret("weld"), "mode": "test"})
        if path[-1] == "webhooks":
            return build_answer(201, {"destination_id": self._id(), "secret": self._secret("weldw")})
        if path[-1] == "networks":
            return self._set(body)
        shown = {"key": self.first_key} if self.flaw == "a key again" else {}
        if path[-1] in {"deliveries", "payments"}:
            return build_answer(200, [shown])
        ids = [] if self.flaw == "no keys" else self.ids
        record = {"tenant_id": TENANT_ID, "name": module._NAME, "kyc_status": "trial", "keys": ids}
        return build_answer(200, {**record, "networks": self.networks, **shown})

    def _set(self, body: dict[str, Any]) -> Answer:
        if "atlantis_testnet" in body:
            return build_answer(422 if self.flaw == "an unknown network is 422" else 400, {})
        if any(len(one["payout_address"]) not in {42, 58} for one in body.values()) and self.flaw != "any address":
            return build_answer(422, {})
        self.networks = {**(self.networks if self.flaw == "networks are added" else {}), **body}
        if self.flaw == "networks in one order":
            self.networks = dict(sorted(self.networks.items()))
        return build_answer(200, {})

    async def create_link(self, *_: Any) -> Answer:
        """Create a link on the first network."""
        return build_answer(201, {"chain": next(iter(self.networks)).replace("_", "-")})


async def run(flaw: str, monkeypatch: pytest.MonkeyPatch) -> RecordedCase:
    """Run the check."""
    admin = Administration(flaw)
    monkeypatch.setattr(module, "administrator", lambda _: admin)
    monkeypatch.setattr(module, "post", admin.create_link)
    monkeypatch.setattr(module, "name_live_values", lambda _, answer: answer)
    monkeypatch.setattr(module, "target_of", lambda _: None)
    case = RecordedCase(admin.call)
    await module.administrators_calls_have_their_members(case)
    return case


async def test_an_administration_of_the_specification_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every member, every secret once, and the networks that were set last."""
    case = await run("", monkeypatch)
    assert case.breaches == []


@pytest.mark.parametrize(
    "flaw",
    [
        "short keys",
        "one secret",
        "no end of a rotated key",
        "a key again",
        "no keys",
        "an unknown network is 422",
        "any address",
        "networks are added",
        "networks in one order",
    ],
)
async def test_a_flaw_breaks_the_row(flaw: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each flaw alone."""
    case = await run(flaw, monkeypatch)
    assert {row for row, _ in case.breaches} == {module.ROW}
