"""Checks of the second attempt of a delivery, made after the first was answered with an error."""

from __future__ import annotations

import asyncio
import time
import uuid
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from conformance.checks.webhooks import redelivery
from conformance.outcome import Verdict
from tests.conformance.checks.gateway.scripted_checkout import honest
from tests.conformance.checks.trial import find_broken_rows
from tests.conformance.checks.webhooks.changed_events import change_event, data
from tests.conformance.checks.webhooks.scripted_sender import Attempt, Flaws, Shop, header, run_check, sign_attempt

ONCE, AGAIN = "one_payment_is_one_event", "a_failed_delivery_is_made_again"
pytestmark = pytest.mark.usefixtures("quick_service")


def stale_again(attempt: Attempt) -> str:
    """Sign a redelivery with the time at which the event was made."""
    return header(attempt.creation_time, attempt.place.secret, f"{attempt.creation_time}.".encode() + attempt.body)


def kept_signature(attempt: Attempt) -> str:
    """Sign a redelivery again, over the first time and with the new one shown."""
    return f"t={attempt.now},{stale_again(attempt).split(',')[1]}"


REDELIVERIES: dict[str, tuple[Flaws, set[str]]] = {
    "never again": (Flaws(often=1), {"WH-DELIV-05"}),
    "another id": (
        Flaws(again=lambda event, number: event if number == 1 else change_event(id=f"evt_{uuid.uuid4()}")(event)),
        {"WH-DELIV-06", "WH-DELIV-07"},
    ),
    "other data": (
        Flaws(again=lambda event, number: event if number == 1 else data(amount_pretty="again")(event)),
        {"WH-DELIV-06"},
    ),
    "a member more in the data": (
        Flaws(again=lambda event, number: event if number == 1 else data(attempt=number)(event)),
        {"WH-DELIV-06"},
    ),
    "no JSON the second time": (
        Flaws(again=lambda event, number: event if number == 1 else change_event(again=float("nan"))(event)),
        {"WH-DELIV-06"},
    ),
    "a stale signature": (Flaws(header=stale_again), {"WH-SIG-06", "WH-SIG-07"}),
    "a signature that does not fit its time": (Flaws(header=kept_signature), {"WH-SIG-07"}),
    "no header the second time": (
        Flaws(header=lambda one: sign_attempt(one) if one.number == 1 else None),
        {"WH-SIG-07"},
    ),
    "another signature the second time": (
        Flaws(header=lambda one: sign_attempt(one) if one.number == 1 else f"t={one.now},v1={'0' * 64}"),
        {"WH-SIG-07"},
    ),
}


@dataclass
class _Noting(Shop):
    """A shop that notes when it began each attempt, and whether that was taken."""

    attempts: list[tuple[float, bool]] = field(default_factory=list)

    async def _attempt(self, attempt: Attempt) -> bool:
        start = time.time()
        is_taken = await super()._attempt(attempt)
        self.attempts.append((start, is_taken))
        return is_taken


@pytest.mark.parametrize("flaw", REDELIVERIES)
async def test_a_flaw_of_the_redelivery_breaks_its_row(flaw: str, tmp_path: Path) -> None:
    """Each wrong second attempt breaks its row."""
    flaws, rows = REDELIVERIES[flaw]
    verdicts, _ = await run_check(AGAIN, tmp_path, flaws)
    assert find_broken_rows(verdicts) == rows


async def test_a_redelivery_may_be_told_otherwise_than_the_first(tmp_path: Path) -> None:
    """A target may add a time or a count of attempts next to the data."""
    flaws = Flaws(again=lambda event, number: change_event(attempt=number, created=event["created"] + number)(event))
    verdicts, _ = await run_check(AGAIN, tmp_path, flaws)
    assert set(verdicts.values()) - {Verdict.NOT_APPLICABLE} == {Verdict.PASS}


async def test_a_failure_that_is_seen_late_is_made_again_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The clock moves only when a target had a moment to note that its first attempt was answered with an error."""
    monkeypatch.setattr(redelivery, "_SETTLE_SECONDS", 1.5)
    shop = _Noting()
    verdicts, _ = await run_check(AGAIN, tmp_path, shop=shop)
    assert set(verdicts.values()) - {Verdict.NOT_APPLICABLE} == {Verdict.PASS}
    before_the_move = [start for start, is_taken in shop.attempts if not is_taken]
    assert before_the_move
    assert shop.clock.stat().st_mtime - max(before_the_move) > 1.4


async def test_a_target_without_a_schedule_need_not_redeliver(tmp_path: Path) -> None:
    """Where no schedule is declared the MAY row does not apply to who delivers once; the others are undecided."""
    verdicts, _ = await run_check(
        AGAIN,
        tmp_path,
        Flaws(often=1),
        changed=lambda text: text.replace("schedule = [30.0]\n", "").replace(
            'defaults = "reference"', 'defaults = "none"\nservice_word = "Weldproof"'
        ),
    )
    assert verdicts["WH-DELIV-05"] is Verdict.NOT_APPLICABLE
    assert {verdicts[row] for row in ("WH-DELIV-06", "WH-SIG-07")} == {Verdict.INCONCLUSIVE}
    assert {verdicts[row] for row in ("WH-DELIV-07", "WH-SIG-06")} == {Verdict.PASS}


async def test_where_no_time_can_pass_only_rows_of_redeliveries_are_undecided(tmp_path: Path) -> None:
    """Without a test clock or a budget for waiting the reason says what to give; first attempts count all the same."""
    verdicts, log = await run_check(
        AGAIN, tmp_path, changed=lambda text: text.replace("[clock]\n", "").replace("offset_file = ", "# ")
    )
    assert {verdicts[row] for row in ("WH-DELIV-05", "WH-DELIV-06", "WH-SIG-07")} == {Verdict.INCONCLUSIVE}
    assert {verdicts[row] for row in ("WH-DELIV-07", "WH-SIG-06")} == {Verdict.PASS}
    assert any("wait_for_expiry" in str(event["expected"]) for event in log.of("judgement"))


@pytest.mark.parametrize("name", [ONCE, AGAIN])
@pytest.mark.parametrize(("paid", "verdict"), [("1", Verdict.FAIL), ("", Verdict.INCONCLUSIVE)])
async def test_a_payment_that_is_not_told_beside_another_breaks_its_row(
    name: str, paid: str, verdict: Verdict, tmp_path: Path
) -> None:
    """Of two links that are paid in the same way one is not seen; if neither is, the reason is unknown."""
    shop = Shop(rule=lambda link, seen: bool(paid) and link.token.endswith(paid) and honest(link, seen))
    verdicts, _ = await run_check(name, tmp_path, shop=shop)
    assert verdicts["WH-DELIV-02"] == verdict


@dataclass
class OneWorker(Shop):
    """Makes one attempt at a time, and holds on for a while to one that fails."""

    hand: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def _attempt(self, attempt: Attempt) -> bool:
        async with self.hand:
            is_taken = await super()._attempt(attempt)
            if not is_taken:
                await asyncio.sleep(1.5)
            return is_taken


@pytest.mark.parametrize("name", [ONCE, AGAIN])
async def test_who_delivers_in_order_may_be_held_up_by_an_attempt(name: str, tmp_path: Path) -> None:
    """An event that waits behind an unanswered attempt is late, and is reported all the same."""
    verdicts, _ = await run_check(
        name,
        tmp_path,
        names=("first",),
        shop=OneWorker(),
        changed=lambda text: text.replace("paid = 120.0", "paid = 1.0"),
    )
    assert find_broken_rows(verdicts) == set()
    assert verdicts["WH-DELIV-02"] is Verdict.PASS


async def test_a_signature_that_cannot_be_read_leaves_other_rows_decided(tmp_path: Path) -> None:
    """A sender that signs nothing is reported by other rows; its repeated events are recognised all the same."""
    verdicts, _ = await run_check(AGAIN, tmp_path, Flaws(header=lambda _: None))
    inconclusive_rows = {row for row, verdict in verdicts.items() if verdict is Verdict.INCONCLUSIVE}
    assert inconclusive_rows == {"WH-SIG-06", "WH-SIG-07"}
    assert {verdicts[row] for row in ("WH-DELIV-02", "WH-DELIV-05", "WH-DELIV-06")} == {Verdict.PASS}
