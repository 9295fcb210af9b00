"""A rail that answers two runs of a payer together waits for the second one, unless that one waits, too."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, cast

from conformance.lanes.tested_payer_accounts import PayerHost
from conformance.surfaces.payer.played_rail import PlayedRail, Script
from conformance.surfaces.payer.quotes import PATH, QuoteDesk, Terms
from conformance.vocabulary.lanes.registry import FACTS
from conformance.webhook_receiver.raw_receiver import Arrival, Receiver, Reply

BUSY = (sys.executable, "-c", "while True: pass")
NETWORK = next(iter(FACTS.values())).main


class Host:
    """The chain side of a rail that is never paid."""

    async def describe_binding(self, asset: str, token: str) -> Mapping[str, Any]:
        """Return members of an offer."""
        return {"binding": asset, "name": token}


def open_rail(callers: int) -> PlayedRail:
    """Return a rail that answers so many callers together."""
    desk = QuoteDesk("http://127.0.0.1:8402", {"network": NETWORK.key})
    terms = Terms(NETWORK, NETWORK.caip2, NETWORK.asset_id, "the payee")
    return PlayedRail(desk, cast("PayerHost", Host()), terms, Script(callers=callers), Receiver(), "http://127.0.0.1:1")


def ask(rail: PlayedRail) -> asyncio.Task[Reply]:
    """Ask a rail for its price, without waiting for the answer."""
    arrival = Arrival(1, time.time(), time.monotonic(), "POST", PATH, "127.0.0.1:2", (), b"{}")
    return asyncio.ensure_future(rail.answer(arrival))


@contextmanager
def start(*words: str) -> Iterator[subprocess.Popen[bytes]]:
    """Start a process in a separate session, and end it."""
    with subprocess.Popen(words, stdin=subprocess.PIPE, start_new_session=True) as process:
        try:
            yield process
        finally:
            process.kill()


async def test_a_caller_is_answered_when_the_other_one_has_asked() -> None:
    """Each has a challenge, and the two differ. The other run works meanwhile."""
    rail = open_rail(2)
    with start(*BUSY) as other:
        rail.sessions.append(other.pid)
        first = ask(rail)
        await asyncio.sleep(0.7)
        assert not first.done()
        replies = await asyncio.gather(first, ask(rail))
    assert [reply.status for reply in replies] == [402, 402]
    assert len(rail.tokens) == 2


async def test_a_caller_is_answered_alone_when_the_other_one_waits() -> None:
    """A process that reads from an open pipe never asks. Later callers are answered at once."""
    rail = open_rail(3)
    with start("cat") as other:
        rail.sessions.append(other.pid)
        assert (await ask(rail)).status == 402
        rail.sessions.clear()
    with start(*BUSY) as other:
        rail.sessions.append(other.pid)
        assert (await ask(rail)).status == 402


async def test_a_caller_is_answered_alone_when_the_other_one_has_ended() -> None:
    """No process is left that could ask."""
    rail = open_rail(2)
    with start("true") as other:
        rail.sessions.append(other.pid)
        assert (await ask(rail)).status == 402
