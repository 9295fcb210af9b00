"""Workers: real applications, opened and closed as their processes open and close them."""

from __future__ import annotations

import asyncio
from contextlib import AbstractAsyncContextManager
from typing import Any

from tests.simulation.loop import VirtualLoop
from tests.simulation.machines import Machine

_RESTART_SECONDS = 60.0


class Fleet:
    """Workers of one surface, over one database.

    Attributes:
        loop: The world's loop.
        seed: Seed of their random choices.
        workers: The workers by name.
        nap: For how many seconds a worker may leave out its periodic work while there are no requests.
    """

    nap = 0.0

    def __init__(self, loop: VirtualLoop, seed: str, names: tuple[str, ...]) -> None:
        self.loop = loop
        self.seed = seed
        self.workers = {name: Worker(self, name) for name in names}

    def open_app(self) -> AbstractAsyncContextManager[Any]:
        """Return the application of a worker that starts now."""
        raise NotImplementedError

    def alive(self) -> list[Worker]:
        """Return the workers that answer."""
        return [worker for worker in self.workers.values() if worker.app is not None]


class Worker:
    """One worker, which may be started many times.

    Attributes:
        app: What answers, while it runs.
        machine: Its present life.
        offset: By how many seconds its clock is wrong.
        drift: By how many seconds a second it goes wrong.
    """

    def __init__(self, fleet: Fleet, name: str) -> None:
        self.name = name
        self.app: Any = None
        self.machine: Machine | None = None
        self.offset = 0.0
        self.drift = 0.0
        self.trouble: str | None = None
        self._fleet = fleet
        self._lives = 0
        self._stop: asyncio.Event | None = None
        self._ended: asyncio.Future[None] | None = None

    async def start(self) -> None:
        """Start it with the operator's present plan; does nothing while it runs."""
        if self.machine is not None and not self.machine.dead:
            return
        fleet = self._fleet
        self._lives += 1
        seed = f"{fleet.seed}:{self.name}:{self._lives}"
        machine = Machine(self.name, fleet.loop, seed, offset=self.offset, drift=self.drift)
        machine.nap = fleet.nap
        self.machine = machine
        stop, ready = asyncio.Event(), fleet.loop.create_future()
        end_future: asyncio.Future[None] = fleet.loop.create_future()
        self._stop, self._ended = stop, end_future
        machine.at_death.append(lambda: self._over(machine, ready, end_future))
        fleet.loop.busy += 1
        try:
            fleet.loop.create_task(self._run(machine, stop, ready), context=machine.context.copy())
            await ready
        finally:
            fleet.loop.busy -= 1
        if self.trouble is not None:  # a service manager tries again
            fleet.loop.call_later(_RESTART_SECONDS, lambda: fleet.loop.create_task(self.start()))

    async def _run(self, machine: Machine, stop: asyncio.Event, ready: asyncio.Future[None]) -> None:
        self.trouble = None
        try:
            async with self._fleet.open_app() as app:
                self.app = app
                ready.set_result(None)
                await stop.wait()
                self.app = None
        except Exception as fault:  # noqa: BLE001 - a process that ends with a traceback
            self.trouble = f"{type(fault).__name__}: {fault}"
        machine.kill()

    def _over(self, machine: Machine, ready: asyncio.Future[None], end_future: asyncio.Future[None]) -> None:
        if self.machine is machine:
            self.app = None
        for future in (ready, end_future):
            if not future.done():
                future.set_result(None)

    async def stop(self) -> None:
        """End it as SIGTERM does."""
        if self.machine is None or self.machine.dead or self._stop is None or self._ended is None:
            return
        self._fleet.loop.busy += 1
        try:
            self.machine.context.copy().run(self._stop.set)
            await self._ended
        finally:
            self._fleet.loop.busy -= 1

    def set_clock(self, offset: float, drift: float = 0.0) -> None:
        """Let its clock be wrong from now on."""
        self.offset, self.drift = offset, drift
        if self.machine is not None:
            self.machine.offset, self.machine.drift = offset, drift
