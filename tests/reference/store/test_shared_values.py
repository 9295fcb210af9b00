"""Facts that workers have in common: the first to state one decides, on both databases."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time

from reference.store.database import Database
from reference.store.database_url import open_database
from reference.store.rail_tables import facts
from reference.store.redemptions import Redemptions
from reference.store.shared_values import SharedFacts


async def test_the_first_to_state_a_fact_decides(database: Database, ledger: Redemptions) -> None:
    """Eight workers that start at once agree on one value."""
    del ledger
    values = [str(number) for number in range(8)]
    answers = await asyncio.gather(*(SharedFacts(database, facts).agree("secret", one) for one in values))
    assert len(set(answers)) == 1
    assert answers[0] in values
    assert await SharedFacts(database, facts).get("secret") == answers[0]


async def test_a_fact_may_be_stated_anew(database: Database, ledger: Redemptions) -> None:
    """On purpose; nothing else changes."""
    del ledger
    shared_facts = SharedFacts(database, facts)
    assert await shared_facts.get("clock") is None
    await shared_facts.agree("other", "1")
    for value in ("100", "90"):
        await shared_facts.replace("clock", value)
        assert await shared_facts.get("clock") == value
    assert await shared_facts.agree("other", "2") == "1"


async def test_workers_that_end_together_state_a_fact_anew(dsn: str, ledger: Redemptions) -> None:
    """Were it for the first time: each is done, and one value holds."""
    del ledger
    workers = [open_database(dsn) for _ in range(4)]
    try:
        for name in map(str, range(20)):
            await asyncio.gather(
                *(SharedFacts(process, facts).replace(name, str(place)) for place, process in enumerate(workers))
            )
            assert await SharedFacts(workers[0], facts).get(name) in set("0123")
    finally:
        for process in workers:
            await process.close()


async def test_one_worker_takes_each_turn(dsn: str, ledger: Redemptions) -> None:
    """Also of workers that ask together: one in each interval, and each work has its own turns."""
    del ledger
    workers = [open_database(dsn) for _ in range(4)]

    async def ask(now: int, work: str = "clean-up") -> int:
        turns = (SharedFacts(process, facts).take_turn(work, now=now, seconds=60) for process in workers)
        return sum(await asyncio.gather(*turns))

    try:
        assert [await ask(now) for now in (1000, 1000, 1059, 1060, 1119, 1120)] == [1, 0, 0, 1, 0, 1]
        assert await ask(1120, "rechecks") == 1
    finally:
        for process in workers:
            await process.close()


async def test_a_turn_of_a_wrong_clock_does_not_count(database: Database, ledger: Redemptions) -> None:
    """A worker whose clock was an hour ahead keeps the others from no work."""
    del ledger
    turns = SharedFacts(database, facts)
    assert await turns.take_turn("clean-up", now=4600, seconds=60)
    assert await turns.take_turn("clean-up", now=1000, seconds=60)
    assert not await turns.take_turn("clean-up", now=1030, seconds=60)


_WORKER = """
import asyncio, sys, time
from reference.store.database_url import open_database
from reference.store.rail_tables import facts
from reference.store.shared_values import SharedFacts

async def work() -> None:
    turns = SharedFacts(open_database(sys.argv[1]), facts)
    while not await turns.take_turn("upkeep", now=int(time.time()), seconds=int(sys.argv[2])):
        await asyncio.sleep(0.1)
    print("took", flush=True)
    await asyncio.sleep(10_000)

asyncio.run(work())
"""


async def test_the_turn_of_a_killed_worker_is_taken_over(dsn: str, ledger: Redemptions) -> None:
    """Two processes; the one that took the turn is killed in the middle of it, and the other takes the next."""
    del ledger
    seconds = 3
    words = [sys.executable, "-c", _WORKER, dsn, str(seconds)]
    first = await asyncio.create_subprocess_exec(*words, stdout=subprocess.PIPE)
    second = None
    try:
        assert first.stdout is not None
        assert await first.stdout.readline() == b"took\n"
        taken_at = time.time()
        first.kill()
        second = await asyncio.create_subprocess_exec(*words, stdout=subprocess.PIPE)
        assert second.stdout is not None
        assert await second.stdout.readline() == b"took\n"
        # The second of the first turn may have been nearly over.
        assert time.time() - taken_at > seconds - 1.5
    finally:
        for worker in (first, second):
            if worker is not None and worker.returncode is None:
                worker.kill()
                await worker.wait()
