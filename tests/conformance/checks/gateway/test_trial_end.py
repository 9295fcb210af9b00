"""How long trials and rotated keys last, at a gateway in memory whose clock the check moves."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from multidict import CIMultiDict

from conformance.outcome import Verdict
from tests.conformance.checks.gateway.scripted_gateway import Refusal, profile_text
from tests.conformance.checks.gateway.test_administered_gateway import Administered
from tests.conformance.checks.trial import run_one_check

CHECK, ROW = "trials_and_rotated_keys_end", "GW-TEN-04"
_DAY = 86_400


def text_of(seconds: float) -> str:
    """Return a time as text in UTC."""
    return dt.datetime.fromtimestamp(int(seconds), dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


class Timed(Administered):
    """A gateway whose trials end after 60 days and whose rotated keys end after 30."""

    def __init__(self, folder: Path, *flaws: str) -> None:
        super().__init__(*flaws)
        self.offset_file = folder / "clock"
        self.offset_file.write_text("0")
        self.trials: dict[str, float] = {}
        self.ends: dict[str, float] = {}
        self.approved: set[str] = set()

    def _limit(self, tenant: str, path: str, headers: CIMultiDict[str]) -> None:
        """Limit nothing."""

    def _administer(self, method: str, parts: Sequence[str], body: dict[str, Any]) -> dict[str, Any]:
        if method == "GET":
            started = self.trials.get(parts[0])
            if started is None:
                return {"kyc_status": "trial" if "the profile's tenants are on trial" in self.flaws else "approved"}
            days = 30 if "a trial of 30 days" in self.flaws else 60
            return {"trial_started_at": text_of(started), "trial_ends_at": text_of(started + days * _DAY)}
        if parts and parts[-1] == "kyc":
            self.approved.add(parts[0])
            return {}
        answer = super()._administer(method, parts, body)
        if not parts:
            self.trials[answer["tenant_id"]] = self.now
        if parts and parts[-1] == "rotate":
            end = self.now + 30 * _DAY
            days_more = next(
                (days for flaw, days in {"a week more": 7, "a day less": -1}.items() if flaw in self.flaws), 0
            )
            self.ends[self.key_ids[parts[-2]]] = end + days_more * _DAY
            answer["old_valid_until"] = text_of(end)
        return answer

    def _authenticate(self, headers: CIMultiDict[str]) -> str:
        tenant = super()._authenticate(headers)
        if self.now >= self.ends.get(headers.get("Authorization", "").partition(" ")[2], self.now + 1):
            raise Refusal(401, "invalid_api_key")
        started = self.trials.get(tenant)
        is_over = started is not None and self.now >= started + 60 * _DAY
        is_free = tenant in self.approved and "approved tenants end" not in self.flaws
        if is_over and not is_free and "no end" not in self.flaws:
            raise Refusal(403, "trial_expired")
        return tenant


async def verdict(folder: Path, *flaws: str, key: bool = True) -> Verdict:
    """Return what the check makes of a gateway with flaws."""
    (folder / "admin").write_text("weldc_an-administrators-key")
    text = profile_text(folder).replace('lanes = ["algorand"]', 'lanes = ["algorand"]\noptions = ["gateway.tenants"]')
    if key:
        text = text.replace(
            "[limited.gateway]\n", f'[limited.gateway]\nadmin_key = {{ file = "{folder / "admin"}" }}\n'
        )
    return (await run_one_check(CHECK, Timed(folder, *flaws), text))[ROW]


async def test_the_ends_of_the_specification_pass(tmp_path: Path) -> None:
    """A trial of 60 days, a rotated key of 30, and an approved tenant without end."""
    assert await verdict(tmp_path) is Verdict.PASS


@pytest.mark.parametrize("flaw", ["a trial of 30 days", "a week more", "a day less", "approved tenants end", "no end"])
async def test_another_end_breaks_the_row(flaw: str, tmp_path: Path) -> None:
    """Each end is judged shortly before it and shortly after it."""
    assert await verdict(tmp_path, flaw) is Verdict.FAIL


async def test_tenants_of_the_profile_keep_their_trial(tmp_path: Path) -> None:
    """If a tenant of the profile is on trial, no time passes."""
    assert await verdict(tmp_path, "the profile's tenants are on trial") is Verdict.INCONCLUSIVE
    # The minute that each check rests, and no days.
    assert float((tmp_path / "clock").read_text()) < _DAY


async def test_without_an_administrator_nothing_is_asked(tmp_path: Path) -> None:
    """A profile without an administrator of the separate service is judged by other checks alone."""
    assert await verdict(tmp_path, key=False) is Verdict.NOT_APPLICABLE
