"""Facts that workers have in common: the first to state one decides, on both databases."""

from __future__ import annotations

import asyncio

from reference.store.database import Database
from reference.store.database_url import open_database
from reference.store.rail_tables import facts
from reference.store.redemptions import Redemptions
from reference.store.shared_facts import SharedFacts


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
