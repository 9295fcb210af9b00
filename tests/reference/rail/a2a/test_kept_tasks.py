"""How long tasks are kept, and how many; limits; and what a ledger that is away answers (P-RA-10, P-RL-05)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from reference.protocol.a2a_x402 import PAYLOAD
from reference.rail.a2a.endpoint import BYTES_OF_OPENER, TASKS_OF_OPENER
from reference.rail.settings import RailSettings
from reference.store.a2a_tasks import Tasks
from reference.store.database import Database
from reference.store.database_url import open_database, sqlite_dsn
from reference.store.rail_tables import METADATA
from tests.reference.rail.a2a.a2a_client import (
    ORDER,
    build_payment_params,
    call,
    envelope,
    error,
    get,
    message,
    open_task,
)
from tests.reference.rail.rail_stack import Rail, SimulatedChain

DAY = 86_400
URI = "https://example.com/spec/v9"
MINE, YOURS = "m" * 64, "y" * 64


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
async def task_database(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Database]:
    """A database with the rail's tables."""
    away = request.param == "sqlite"
    dsn = sqlite_dsn(tmp_path / "rail.sqlite3") if away else request.getfixturevalue("postgres_database")
    database = open_database(dsn)
    await database.create(METADATA)
    yield database
    await database.close()


async def add(tasks: Tasks, name: str, opener: str = MINE, *, until: int = 100, most: int = 3) -> None:
    """Store a task whose content is its name."""
    await tasks.add(name, name.encode(), opener=opener, version=0, expires_at=until, most=most, most_bytes=1000)


async def names(tasks: Tasks, *of: str, now: int = 0) -> list[str]:
    """Return those of the names that are stored."""
    return [name for name in of if await tasks.get(name, now=now) == name.encode()]


async def test_the_oldest_of_an_opener_go(task_database: Database) -> None:
    """The newest tasks of an opener are kept, up to the limit; other openers' tasks stay."""
    tasks = Tasks(task_database)
    await add(tasks, "theirs", YOURS)
    for number in range(5):
        await add(tasks, f"mine{number}")

    assert await names(tasks, "theirs", *(f"mine{n}" for n in range(5))) == ["theirs", "mine2", "mine3", "mine4"]


async def test_the_largest_of_an_opener_go_by_bytes(task_database: Database) -> None:
    """So much an opener, the smallest; one that holds more than that by itself stays until the next comes."""
    tasks = Tasks(task_database)

    async def keep(name: str, size: int, opener: str = MINE) -> None:
        data = name.encode().ljust(size)
        await tasks.add(name, data, opener=opener, version=0, expires_at=100, most=100, most_bytes=1000)

    async def list_kept() -> list[str]:
        known = ("theirs", "one", "two", "three", "whole", "last")
        return [name for name in known if await tasks.get(name, now=0) is not None]

    await keep("theirs", 900, YOURS)
    for name in ("one", "two", "three"):
        await keep(name, 400)
    assert await list_kept() == ["theirs", "two", "three"]
    await keep("whole", 5000)
    assert await list_kept() == ["theirs", "two", "three", "whole"]
    await keep("last", 10)
    assert await list_kept() == ["theirs", "two", "three", "last"]


async def test_large_orders_of_a_neighbour_push_out_no_small_task(task_database: Database) -> None:
    """Payers behind one address share its bounds: 140 orders of 60 kB, and a task of four kilobytes stays."""
    tasks = Tasks(task_database)

    async def keep(name: str, size: int) -> None:
        data = name.encode().ljust(size)
        await tasks.add(
            name, data, opener=MINE, version=0, expires_at=100, most=TASKS_OF_OPENER, most_bytes=BYTES_OF_OPENER
        )

    await keep("paid", 4096)
    for number in range(140):
        await keep(f"large{number}", 130_000)
    assert await tasks.get("paid", now=0) is not None
    assert [await tasks.get(f"large{number}", now=0) is None for number in (0, 139)] == [True, False]


async def test_a_task_ends_with_its_time(task_database: Database) -> None:
    """Not found, not replaced, and deleted by the next who tends."""
    tasks = Tasks(task_database)
    await add(tasks, "short", until=10)
    await add(tasks, "long", until=11)

    assert await names(tasks, "short", "long", now=9) == ["short", "long"]
    assert await names(tasks, "short", "long", now=10) == ["long"]
    assert not await tasks.replace("short", b"later", version=1, now=10)
    await tasks.forget(now=10)
    assert await names(tasks, "short", "long", now=0) == ["long"]


async def test_one_version_follows_another(task_database: Database) -> None:
    """Compare-and-set: of several who change one version, one does."""
    tasks = Tasks(task_database)
    await add(tasks, "task")
    changed = await asyncio.gather(*(tasks.replace("task", b"%d" % n, version=1, now=0) for n in range(8)))

    assert sum(changed) == 1
    assert b"%d" % changed.index(True) == await tasks.get("task", now=0)
    assert await tasks.replace("task", b"next", version=2, now=0)
    assert not await tasks.replace("task", b"late", version=2, now=0)


def test_tasks_are_kept_for_a_day(own_rail: Callable[..., Rail]) -> None:
    """By the service's clock, over a restart, and no longer."""
    rail = own_rail()
    task = open_task(rail)
    rail.stop()
    rail.start()
    rail.set_clock(DAY - 1000)
    assert task == get(rail, task)
    rail.set_clock(DAY + 1)
    assert error(call(rail, "tasks/get", {"id": task["id"]}))["code"] == -32001
    assert error(call(rail, "message/send", build_payment_params(task["id"], {})))["code"] == -32001
    assert error(call(rail, "tasks/cancel", {"id": task["id"]}))["code"] == -32001


def test_calls_are_counted_with_those_of_rest(own_rail: Callable[..., Rail]) -> None:
    """P-RL-05: unpaid calls of both doors share one bucket, calls with a proof another; 429 is HTTP's."""
    rail = own_rail(WP_RATE_LIMITS="on", WP_RAIL_RATE="1")
    codes = set()
    doors: tuple[tuple[str, Any], ...] = (
        ("/pay/v1/verify/receipt", {"jws": "e30.e30.AA"}),
        ("/a2a", envelope("tasks/get", {"id": "x"})),
    )
    for number in range(70):
        path, body = doors[number % 2]
        codes.add(rail.http.post(path, json=body).status_code)
    answer = rail.http.post("/a2a", json=envelope("message/send", {"message": message(ORDER)}))
    assert {200, 402, 429} == codes
    assert (answer.status_code, answer.json()["error"]) == (429, "rate_limited")
    assert int(answer.headers["Retry-After"]) >= 1
    with_proof = rail.http.post("/a2a", json=envelope("message/send", build_payment_params("x", {})))
    assert (with_proof.status_code, with_proof.headers["X-RateLimit-Limit"]) == (200, "60")
    assert PAYLOAD in with_proof.request.content.decode()


@pytest.fixture(scope="module")
def set_rail(chain: SimulatedChain, pay_to: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rail]:
    """A rail with a service switched off and a URI of its operator's for the extension."""
    settings = {"WP_RAIL_DISABLED_SERVICES": "compliance-receipt", "WP_A2A_X402_URI": URI}
    new_rail = Rail(chain, tmp_path_factory.mktemp("set_rail"), pay_to, settings).start()
    yield new_rail
    new_rail.close()


def test_a_service_that_is_switched_off_is_not_quoted(set_rail: Rail) -> None:
    """Step 1 holds here: 503 as by REST; other services are served."""
    rail = set_rail
    answer = rail.http.post("/a2a", json=envelope("message/send", {"message": message(ORDER)}))

    assert (answer.status_code, answer.json()["error"]) == (503, "service_disabled")
    open_task(rail, {"service_id": "receipt-verify", "request": {"jws": "e30.e30.AA"}})


def test_the_extension_s_uri_is_a_setting(set_rail: Rail) -> None:
    """WP_A2A_X402_URI: in the card, in the task, in the echo."""
    rail = set_rail
    [document] = rail.http.get("/.well-known/agent-card.json").json()["capabilities"]["extensions"]
    answer = call(rail, "message/send", {"message": message()}, headers={"X-A2A-Extensions": URI})

    assert URI == document["uri"] == answer.headers["X-A2A-Extensions"]
    assert answer.json()["result"]["status"]["message"]["extensions"] == [URI]


@pytest.mark.parametrize("uri", ["", "two words", "a,b", "caf\u00e9", "x" * 513])
def test_a_uri_that_cannot_be_echoed_is_refused(uri: str) -> None:
    """One header value, without a comma: else the rail does not start."""
    with pytest.raises(ValidationError, match="a2a_x402_uri"):
        RailSettings(a2a_x402_uri=uri)
