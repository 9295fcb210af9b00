"""The schedule of attempts: senders that keep it, and senders that break one rule of it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import aiohttp
import pytest

from conformance.checks.webhooks import schedule
from conformance.outcome import Verdict
from tests.conformance.checks.trial import find_broken_rows
from tests.conformance.checks.webhooks.scripted_sender import Attempt, Event, Place, Shop, run_check

CHECK = "failed_attempts_follow_the_schedule"
TIMEOUT, PAUSES = 4.0, (40.0, 160.0, 640.0)
pytestmark = pytest.mark.usefixtures("quick_service")


@pytest.fixture(autouse=True)
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let an attempt that never comes be awaited for a short time."""
    monkeypatch.setattr(schedule, "QUICK", schedule.Patience(0.2, 0.4, 30.0))
    monkeypatch.setattr(schedule, "PATIENT", schedule.Patience(0.2, 0.4, 30.0))


def is_success(status: int) -> bool:
    """Return whether a status is a 2xx."""
    return 200 <= status < 300


@dataclass
class Scheduled(Shop):
    """A shop that makes each attempt after its pause, rightly unless a member says otherwise."""

    from_beginning: bool = False
    from_first: bool = False
    stretch: float = 1.0
    delay: float = 0.0
    attempts: int = len(PAUSES) + 1
    seconds: float = TIMEOUT
    takes: Callable[[int], bool] = is_success
    follows: bool = False
    reads: bool = False
    broken_ends: bool = False

    async def _deliver(self, first: Event, place: Place, made: int) -> None:
        await asyncio.sleep(self.delay)
        first_end = 0.0
        for number in range(1, self.attempts + 1):
            body, start = self.flaws.body(first), self.now
            if await self._attempt(Attempt(number, first, body, int(start), made, place, self.places)):
                return
            first_end = first_end or self.now
            base = start if self.from_beginning else first_end if self.from_first else self.now
            due = base + self.stretch * PAUSES[min(number, len(PAUSES)) - 1]
            self.rests.append(due)
            while self.now < due:  # noqa: ASYNC110 - the clock is a file
                await asyncio.sleep(0.01)
            self.rests.remove(due)

    async def _attempt(self, attempt: Attempt) -> bool:
        headers = {"content-type": "application/json", self.flaws.header_name: str(self.flaws.header(attempt))}
        return await self._request(attempt, headers)

    async def _request(self, attempt: Attempt, headers: Mapping[str, str]) -> bool:
        limit = aiohttp.ClientTimeout(total=self.seconds)
        try:
            async with (
                aiohttp.ClientSession(timeout=limit) as session,
                session.post(
                    attempt.place.url, data=attempt.body, headers=headers, allow_redirects=self.follows
                ) as response,
            ):
                if self.reads:
                    with contextlib.suppress(aiohttp.ClientError, TimeoutError):
                        await response.read()
                return self.takes(response.status)
        except TimeoutError:
            return False
        except aiohttp.ClientError:
            return self.broken_ends


FLAWS: dict[str, tuple[Callable[[], Scheduled], set[str]]] = {
    "a pause from the beginning": (lambda: Scheduled(from_beginning=True), {"WH-DELIV-12"}),
    "a pause from the first attempt": (lambda: Scheduled(from_first=True), {"WH-DELIV-12"}),
    "pauses twice as long": (lambda: Scheduled(stretch=2.0), {"WH-DELIV-12"}),
    "a late first attempt": (lambda: Scheduled(delay=6.0), {"WH-DELIV-12"}),
    "an attempt too few": (lambda: Scheduled(attempts=len(PAUSES)), {"WH-DELIV-12"}),
    "an attempt too many": (lambda: Scheduled(attempts=len(PAUSES) + 2), {"WH-DELIV-12"}),
    "a time-out ten times as long": (lambda: Scheduled(seconds=10 * TIMEOUT), {"WH-DELIV-12"}),
    "a client error ends it": (
        lambda: Scheduled(takes=lambda status: is_success(status) or status // 100 == 4),
        {"WH-DELIV-12"},
    ),
    "only 200 and 204": (lambda: Scheduled(takes=lambda status: status in {200, 204}), {"WH-DELIV-12"}),
    "redirects followed": (lambda: Scheduled(follows=True), {"WH-DELIV-13"}),
    "answers read whole": (lambda: Scheduled(reads=True, seconds=TIMEOUT), {"WH-DELIV-13"}),
    "a broken connection ends it": (lambda: Scheduled(broken_ends=True), {"WH-DELIV-12"}),
}


async def judge(shop: Scheduled, folder: Path) -> Mapping[str, Verdict]:
    """Return the verdicts on a shop."""

    def bind(text: str) -> str:
        return text.replace("schedule = [30.0]", f"schedule = {list(PAUSES)}").replace(
            "timeout = 30.0", f"timeout = {TIMEOUT}"
        )

    return (await run_check(CHECK, folder, shop=shop, changed=bind))[0]


async def test_a_sender_that_keeps_the_schedule_passes(tmp_path: Path) -> None:
    """Each attempt comes after its pause, however it failed before."""
    assert await judge(Scheduled(), tmp_path) == dict.fromkeys(("WH-DELIV-12", "WH-DELIV-13"), Verdict.PASS)


@pytest.mark.parametrize("flaw", FLAWS)
async def test_a_sender_that_breaks_a_rule_of_it_fails(flaw: str, tmp_path: Path) -> None:
    """Each broken rule breaks its row. An attempt that follows redirects ends later, and may delay the next one."""
    make, rows = FLAWS[flaw]
    found = find_broken_rows(await judge(make(), tmp_path))
    assert rows <= found
    assert found <= rows | ({"WH-DELIV-12"} if rows == {"WH-DELIV-13"} else set())
