"""Clocks, chance, sockets and threads as a simulated machine has them. Import this before anything of the product.

Outside a simulation everything is as it was: only while a world is current do the replacements do anything.
"""

from __future__ import annotations

import asyncio
import contextvars
import os
import random
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any, Self

import aiohttp
import greenlet  # type: ignore[import-untyped]

from tests.simulation.loop import OWNER, VirtualLoop
from tests.simulation.machines import EPOCH, current

_real = SimpleNamespace(
    time=time.time, monotonic=time.monotonic, urandom=os.urandom, connect=sqlite3.connect, to_thread=asyncio.to_thread
)
cpu = time.process_time
_POLL_SECONDS = 4.0


class Surroundings:
    """What the replacements ask: the world that is current."""

    loop: VirtualLoop | None = None
    chance: random.Random = random.Random(0)
    commits: int = 0
    request: Callable[..., Any] | None = None


def _wall() -> float:
    machine = current()
    if machine is not None:
        return machine.wall()
    return float(_real.time()) if Surroundings.loop is None else EPOCH + Surroundings.loop.time()


def _monotonic() -> float:
    machine = current()
    if machine is not None:
        return machine.monotonic()
    return float(_real.monotonic()) if Surroundings.loop is None else Surroundings.loop.time()


def _urandom(size: int) -> bytes:
    machine = current()
    if machine is not None:
        return machine.chance.randbytes(size)
    return bytes(_real.urandom(size)) if Surroundings.loop is None else Surroundings.chance.randbytes(size)


def _wait_for_nobody(connection: sqlite3.Connection, *_: float) -> int:
    connection.execute("PRAGMA busy_timeout=0")
    return 0


def _connect(*args: Any, **how: Any) -> sqlite3.Connection:
    connection: sqlite3.Connection = _real.connect(*args, **how)
    machine = current()
    if machine is not None:
        machine.connections.append(connection)
    return connection


class _Session:
    """What the product takes for its HTTP session; requests go to the world that is current."""

    def __init__(self, *_: Any, **__: Any) -> None:
        self.closed = False

    def request(self, method: str, url: str, **how: Any) -> Any:
        assert Surroundings.request is not None
        return Surroundings.request(method, str(url), **how)

    def post(self, url: Any, **how: Any) -> Any:
        return self.request("POST", url, **how)

    async def close(self) -> None:
        self.closed = True

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


# The writer of SQLite is a thread that takes what is handed to it. Here it is a greenlet: the same code, and where it
# would wait for its queue it gives way to the loop.


class _Queue:
    def __init__(self) -> None:
        self._items: deque[Any] = deque()
        self._taker: _Thread | None = None

    def put(self, item: Any) -> None:
        self._items.append(item)
        if self._taker is not None:
            self._taker.wake()

    def empty(self) -> bool:
        return not self._items

    def get(self) -> Any:
        while not self._items:
            self._taker = greenlet.getcurrent().thread
            self._taker.give_way()
        self._taker = None
        return self._items.popleft()


class _Thread:
    def __init__(self, target: Callable[..., Any], args: tuple[Any, ...] = (), **_: Any) -> None:
        self._greenlet = greenlet.greenlet(lambda: target(*args))
        self._greenlet.thread = self
        self._woken = False

    def start(self) -> None:
        self.wake()

    def wake(self) -> None:
        loop = Surroundings.loop
        if not self._woken and loop is not None:
            self._woken = True
            machine = current()
            chance = Surroundings.chance if machine is None else machine.chance
            loop.call_later(chance.uniform(0.0005, 0.02), self._run)

    def _run(self) -> None:
        self._woken = False
        if not self._greenlet.dead:
            if self._greenlet.gr_context is None:
                self._greenlet.gr_context = contextvars.copy_context()
            self._greenlet.switch()
            machine = current()
            Surroundings.commits += 1
            if machine is not None:
                machine.count_commit()

    def give_way(self) -> None:
        self._greenlet.parent.switch()

    def is_alive(self) -> bool:
        return not self._greenlet.dead

    def join(self, timeout: float | None = None) -> None:
        del timeout
        self._run()


async def _to_thread(work: Callable[..., Any], *args: Any, **keywords: Any) -> Any:
    if Surroundings.loop is None:
        return await _real.to_thread(work, *args, **keywords)
    await asyncio.sleep(0.001)
    return work(*args, **keywords)


def _install() -> None:
    time.time, time.monotonic = _wall, _monotonic
    time.clock_gettime = lambda clock: _wall() if clock == time.CLOCK_REALTIME else _monotonic()
    time.time_ns = lambda: int(_wall() * 1e9)
    time.monotonic_ns = lambda: int(_monotonic() * 1e9)
    os.urandom = _urandom
    random._urandom = _urandom  # type: ignore[attr-defined]
    sqlite3.connect = _connect  # type: ignore[assignment]
    asyncio.to_thread = _to_thread  # type: ignore[assignment]
    aiohttp.ClientSession = _Session  # type: ignore[misc, assignment]
    aiohttp.TCPConnector = SimpleNamespace  # type: ignore[misc, assignment]
    from reference.gateway import runtime as gateway_runtime
    from reference.rail import runtime as rail_runtime
    from reference.store import sqlite
    from reference.webhooks import dispatcher_runner
    from reference.webhooks.dispatcher import Pace
    from tests.simulation.builds import keep_builds

    keep_builds()
    pace: Any = dispatcher_runner
    # Rounds each second, and looks at the outbox each fifth of one, for months: every few seconds they show the same.
    pace.Pace = partial(Pace, poll=_POLL_SECONDS)
    rounds: Any = rail_runtime
    rounds._TEND_SECONDS = _POLL_SECONDS
    rounds = gateway_runtime
    rounds._CLOCK_SECONDS = _POLL_SECONDS
    module: Any = sqlite
    module.threading = SimpleNamespace(Thread=_Thread, Lock=threading.Lock)
    module.SimpleQueue = _Queue
    # SQLite itself would wait, in real time, for a lock whose holder waits in virtual time.
    module._wait_at_most = _wait_for_nobody
    module.time = SimpleNamespace(monotonic=_monotonic, sleep=lambda _: None)


_install()
__all__ = ["OWNER", "Surroundings", "cpu"]
