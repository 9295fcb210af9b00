"""Sessions of the dashboard on both databases: who is in, until when, and which forms were sent (3.9)."""

from __future__ import annotations

import asyncio

import pytest

from reference.store.database import Database
from reference.store.sessions import Session, Sessions
from reference.store.tenants import ApiKey, Tenant, Tenants

NOW = 1_800_000_000
KEY, ONE, TWO = "a" * 64, "b" * 64, "c" * 64


@pytest.fixture
async def sessions(database: Database) -> Sessions:
    """Two sessions of one key, the second of which is longer."""
    tenants, new_sessions = Tenants(database), Sessions(database)
    await tenants.prepare()
    await new_sessions.prepare()
    await tenants.admit(KEY, ("kyb:write", "audit:read"), now=NOW)
    await new_sessions.begin(ONE, KEY, expires_at=NOW + 10)
    await new_sessions.begin(TWO, KEY, expires_at=NOW + 20)
    return new_sessions


async def test_a_session_is_found_until_its_time(sessions: Sessions) -> None:
    """With what its key may do; of its last second it is over."""
    session = await sessions.find(ONE, now=NOW + 9)
    assert session == Session(ONE, frozenset({"kyb:write", "audit:read"}), NOW + 10)
    assert await sessions.find(ONE, now=NOW + 10) is None
    assert await sessions.find("d" * 64, now=NOW) is None


async def test_a_session_without_its_key_is_none(sessions: Sessions) -> None:
    """One that was begun with a key that is not there opens nothing."""
    await sessions.begin("e" * 64, "f" * 64, expires_at=NOW + 10)
    assert await sessions.find("e" * 64, now=NOW) is None


async def test_ending_one_leaves_the_other(sessions: Sessions) -> None:
    """And ending it twice does nothing."""
    for _ in range(2):
        await sessions.end(ONE)
    assert await sessions.find(ONE, now=NOW) is None
    assert await sessions.find(TWO, now=NOW) is not None


async def test_a_form_is_sent_once(sessions: Sessions) -> None:
    """Of ten at the same moment one is taken; another session's form of that name is another one."""
    assert sorted(await asyncio.gather(*(sessions.send(ONE, "x") for _ in range(10)))) == [False] * 9 + [True]
    assert await sessions.send(TWO, "x")
    assert await sessions.send(ONE, "y")


async def test_what_is_over_is_forgotten_with_its_forms(sessions: Sessions) -> None:
    """Nothing is kept of a session that is over; forms of one that goes on stay sent."""
    assert await sessions.send(ONE, "x")
    assert await sessions.send(TWO, "x")
    await sessions.forget(now=NOW + 15)
    assert await sessions.find(TWO, now=NOW + 15) is not None
    assert await sessions.send(ONE, "x"), "the form was not forgotten with its session"
    assert not await sessions.send(TWO, "x")


async def test_a_tenants_session_is_good_while_its_key_is(sessions: Sessions, database: Database) -> None:
    """It names the tenant and the key's mode, has no scope, and is over with its time, its key, or a word."""
    tenants = Tenants(database)
    tenant = Tenant("t-1", "Shop", "trial", "trial", NOW, NOW)
    await tenants.add(tenant, ApiKey("k-1", "t-1", "live", "9" * 64, NOW))
    for digest in ("1" * 64, "2" * 64):
        await sessions.begin_tenant(digest, "k-1", expires_at=NOW + 10)
    session = await sessions.find("1" * 64, now=NOW + 9)
    assert session == Session("1" * 64, frozenset(), NOW + 10, "t-1", "live")
    assert await sessions.find("1" * 64, now=NOW + 10) is None
    await sessions.end("2" * 64)
    assert await sessions.find("2" * 64, now=NOW) is None
    assert await tenants.rotate_key("k-1", ApiKey("k-2", "t-1", "live", "8" * 64, NOW), until=NOW + 5)
    assert await sessions.find("1" * 64, now=NOW + 4) is not None
    assert await sessions.find("1" * 64, now=NOW + 5) is None
    assert await tenants.revoke_key("t-1", "k-1", now=NOW)
    assert await sessions.find("1" * 64, now=NOW) is None


async def test_forms_of_a_tenant_that_is_signed_in_stay_sent(sessions: Sessions) -> None:
    """What is over is forgotten, of tenants as of administrators; what goes on is not."""
    await sessions.begin_tenant("1" * 64, "k-1", expires_at=NOW + 10)
    await sessions.begin_tenant("2" * 64, "k-1", expires_at=NOW + 20)
    for digest in ("1" * 64, "2" * 64):
        assert await sessions.send(digest, "x")
    await sessions.forget(now=NOW + 15)
    assert await sessions.send("1" * 64, "x"), "the form was not forgotten with its session"
    assert not await sessions.send("2" * 64, "x")
