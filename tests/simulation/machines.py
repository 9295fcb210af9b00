"""Machines: each has a clock of its own, chance of its own, connections to its database, and may die at any step."""

from __future__ import annotations

import contextvars
import random
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from tests.simulation.loop import OWNER, VirtualLoop

EPOCH = 1_767_225_600.0  # 2026-01-01


class Machine:
    """One life of one worker: what runs from its start to its end.

    Attributes:
        name: The worker's name.
        offset: By how many seconds its wall clock is wrong.
        drift: By how many seconds it goes wrong each second.
        dead: Whether it was killed.
        nap: For how many seconds it may sleep on while there is nothing to do but its rounds.
        woke: When it last did them.
        context: What its tasks run in.
        at_death: What is done when it is killed, from outside.
    """

    def __init__(self, name: str, loop: VirtualLoop, seed: str, *, offset: float = 0.0, drift: float = 0.0) -> None:
        self.name = name
        self.offset = offset
        self.drift = drift
        self.dead = False
        self.nap = 0.0
        self.woke = loop.time()
        self.steps = 0
        self.chance = random.Random(seed)
        self.at_death: list[Callable[[], Any]] = []
        self.connections: list[Any] = []
        self._loop = loop
        self._booted = loop.time()
        self._kill_at: int | None = None
        self._commits_left: int | None = None
        self.context = contextvars.Context()
        self.context.run(OWNER.set, self)

    def wall(self) -> float:
        """Return what its wall clock shows, in unix seconds."""
        return EPOCH + self._loop.time() + self.offset + self.drift * (self._loop.time() - self._booted)

    def monotonic(self) -> float:
        """Return seconds since it was started, and a bit."""
        return 1000.0 + self._loop.time() - self._booted

    def kill_after(self, *, steps: int | None = None, commits: int | None = None) -> None:
        """Let it die before it does so many more steps, or when so many commits are done that it has not heard of."""
        self._kill_at = None if steps is None else self.steps + steps
        self._commits_left = commits

    def count_commit(self) -> None:
        """Count a commit, before any program on the machine sees its result."""
        if self._commits_left is not None:
            self._commits_left -= 1
            if self._commits_left <= 0:
                self.kill()

    def step(self) -> None:
        """Count a callback."""
        self.steps += 1
        if self._kill_at is not None and self.steps >= self._kill_at:
            self.kill()

    def kill(self) -> None:
        """End it, here and now: its connections are cut and nothing of it runs any more."""
        if self.dead:
            return
        self.dead = True
        for connection in self.connections:
            with suppress(Exception):
                connection.close()
        self._loop.cut(self)
        for death_callback in self.at_death:
            death_callback()


def current() -> Machine | None:
    """Return the machine that is running, or None for the world around."""
    owner = OWNER.get()
    return owner if isinstance(owner, Machine) else None
