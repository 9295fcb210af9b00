"""Server-sent events: at once, and at each change (P-CK-02)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import orjson
import pytest

from reference.gateway.checkout import link_announcements, status_events
from reference.gateway.checkout.link_announcements import LinkAnnouncements
from reference.gateway.checkout.link_settlement import LinkSettlement, Status
from reference.gateway.checkout.status_events import statuses
from reference.gateway.network_recency import NetworkRecency
from reference.protocol.link_payment import LinkEnding
from reference.store.database import DatabaseUnavailable
from reference.store.links import Link
from tests.reference.gateway.checkout.conftest import Bench

NEVER = 3600.0


def follow(bench: Bench, link: Link, *, every: float = NEVER) -> AsyncIterator[bytes]:
    return statuses(bench.settling, bench.announcements, link, every=every)


async def next_status(stream: AsyncIterator[bytes]) -> Any:
    """Return the data of the next event."""
    async with asyncio.timeout(120):
        event = await anext(stream)
    name, data, *other_lines = event.decode().split("\n")
    assert (name, other_lines) == ("event: status", ["", ""])
    return orjson.loads(data.removeprefix("data: "))


async def test_the_status_comes_at_once_and_when_it_changes(bench: Bench) -> None:
    """The change is announced to every follower without waiting for the next look, and the stream ends."""
    link = await bench.link(redirect_url="https://shop.example/")
    streams = [follow(bench, link), follow(bench, link)]
    active = {"status": "active", "redirect_url": "https://shop.example/", "tx_id": None}
    assert [await next_status(one) for one in streams] == [active, active]
    tasks = [asyncio.create_task(next_status(one)) for one in streams]
    await asyncio.sleep(0)
    tx_id = bench.chains[link.network].pay(1, bench.memo(link))
    await bench.rounds(link.network)
    paid_link = {"status": "paid", "redirect_url": "https://shop.example/", "tx_id": tx_id}
    assert [await one for one in tasks] == [paid_link, paid_link]
    for stream in streams:
        with pytest.raises(StopAsyncIteration):
            await anext(stream)


async def test_what_another_worker_did_is_seen_at_the_next_look(bench: Bench) -> None:
    """A change that this process got no signal of is found by the next read of the database."""
    link = await bench.link()
    stream = follow(bench, link, every=0.01)
    assert (await next_status(stream))["status"] == "active"
    elsewhere = LinkSettlement(bench.settings, bench.clock, bench.database, LinkAnnouncements(), NetworkRecency({}, 0))
    assert await elsewhere.end(link, LinkEnding.CALLED_OFF)
    assert (await next_status(stream))["status"] == "cancelled"


async def test_a_quiet_stream_shows_that_it_is_there(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without news a comment comes now and then, and no stream lives for ever."""
    monkeypatch.setattr(status_events, "_COMMENT_SECONDS", 0.0)
    stream = follow(bench, await bench.link(), every=0.01)
    assert (await next_status(stream))["status"] == "active"
    assert [await anext(stream) for _ in range(3)] == [b": still here\n\n"] * 3
    monkeypatch.setattr(status_events, "_LONGEST_SECONDS", 0.0)
    assert [event async for event in stream] == []


async def test_followers_that_leave_are_forgotten(bench: Bench) -> None:
    """A stream that is closed leaves nothing behind."""
    link = await bench.link()
    stream = follow(bench, link)
    await anext(stream)
    assert bench.announcements._followers
    await stream.aclose()  # type: ignore[attr-defined]
    assert bench.announcements._followers == {}


async def test_a_crowd_is_sent_away(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond so many followers a stream tells the status, says when to come back, and ends; the others stay."""
    monkeypatch.setattr(link_announcements, "_MOST_PER_LINK", 2)
    link = await bench.link()
    streams = [follow(bench, link) for _ in range(3)]
    first = [await anext(stream) for stream in streams]
    assert [one.startswith(b"event: status\n") for one in first] == [True] * 3
    assert first[2].endswith(b"\n\nretry: 5000\n\n")
    with pytest.raises(StopAsyncIteration):
        await anext(streams[2])
    monkeypatch.setattr(link_announcements, "_MOST", 2)
    assert b"retry" in await anext(follow(bench, await bench.link()))
    for stream in streams[:2]:
        await stream.aclose()  # type: ignore[attr-defined]


async def test_a_stream_ends_when_the_database_is_away(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """It ends in order, and the browser asks again."""
    stream = follow(bench, await bench.link(), every=0.01)
    await anext(stream)

    async def away(_: Link) -> Status:
        raise DatabaseUnavailable

    monkeypatch.setattr(bench.settling, "status", away)
    with pytest.raises(StopAsyncIteration):
        await anext(stream)
