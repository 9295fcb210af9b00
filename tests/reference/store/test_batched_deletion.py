"""Old rows are deleted in short statements, and only they (both databases)."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import func, select

from reference.store import batched_deletion
from reference.store.a2a_tasks import Tasks
from reference.store.database import Database
from reference.store.idempotency import Answers, Scope, StoredAnswer
from reference.store.rail_tables import tasks
from reference.store.redemptions import Redemptions
from reference.store.tenant_tables import METADATA, answers


@pytest.fixture
def deletions(database: Database, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many rows each statement of a batch deleted; a batch has five."""
    monkeypatch.setattr(batched_deletion, "BATCH_SIZE", 5)
    monkeypatch.setattr(batched_deletion, "_PAUSE_SECONDS", 0)
    counts: list[int] = []
    change = database.change

    async def counted_change(statement: Any, /, **values: Any) -> int:
        count = await change(statement, **values)
        if "most" in values:
            counts.append(count)
        return count

    monkeypatch.setattr(database, "change", counted_change)
    return counts


async def test_expired_answers_are_deleted_in_batches(database: Database, deletions: list[int]) -> None:
    """Also those of one second; one that has not expired stays."""
    await database.create(METADATA)
    stored = Answers(database)
    for number in range(13):
        answer = StoredAnswer("hash", 201, b"sealed", 1000 if number < 12 else 1001)
        changes = stored.build_store(Scope("tenant", "POST", "/v1/payment-links", str(number)), answer, now=0)
        await database.change_all(*changes)
    await stored.forget(now=1000)
    assert deletions == [5, 5, 2]
    assert [row[0] for row in await database.rows(select(answers.c.key))] == ["12"]


async def test_expired_tasks_are_deleted_in_batches(
    database: Database, ledger: Redemptions, deletions: list[int]
) -> None:
    """As answers are."""
    del ledger
    stored = Tasks(database)
    for number in range(11):
        expires_at = 1000 if number else 1001
        await stored.add(str(number), b"{}", opener="o", version=1, expires_at=expires_at, most=99, most_bytes=9999)
    await stored.forget(now=1000)
    assert deletions == [5, 5, 0]
    assert (await database.rows(select(func.count()).select_from(tasks)))[0][0] == 1
