"""An event loop whose time is a number: nothing waits, timers are leapt to, and a seed decides who runs first.

Every callback belongs to the machine whose context it was made in. A machine that is dead runs nothing any more, which
is what a kill between two awaits looks like: no `finally`, no `except`, no last word.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
import math
import os
import random
import selectors
import socket
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from contextvars import Context, ContextVar
from typing import Any, Protocol

_LONGEST_NAP, _SHORT, _BEFORE = 30.0, 0.5, 0.9
# How often a machine that rests sleeps on, in a crowd of one: a round of each, each time that a payer asks, shows
# little more. In a crowd they come more often, and machines that rest do their rounds as often as ever.
_OVERSLEEPS = 0.75
_RESOLUTION = 1e-6
_MOST_CANCELLED = 50
_REAL_SECONDS = 0.05


class Owner(Protocol):
    """What runs callbacks: a machine that may die.

    Attributes:
        dead: Whether it has.
        nap: For how many seconds it may sleep on while there is nothing to do but its rounds.
        woke: When it last did them.
    """

    dead: bool
    nap: float
    woke: float

    def step(self) -> None:
        """Count a callback; the machine may die of it."""


OWNER: ContextVar[Owner | None] = ContextVar("owner", default=None)


class Stuck(Exception):
    """Nothing will ever happen again, and a task still waits."""


class _Handle(asyncio.Handle):
    __slots__ = ()

    def _run(self) -> None:
        if _may_run(self):
            super()._run()


class _Timer(asyncio.TimerHandle):
    __slots__ = ("owner", "short")
    owner: Owner | None
    short: bool
    _when: float
    _scheduled: bool

    def _run(self) -> None:
        if _may_run(self):
            super()._run()


def _may_run(handle: Any) -> bool:
    owner = handle._context.get(OWNER)
    if owner is None:
        return True
    if not owner.dead:
        owner.step()
    return not owner.dead


class _Task(asyncio.Task[Any]):
    """A task that is hashed by its number, so that a set of tasks has the same order in every run."""

    numbers = itertools.count()

    def __init__(self, coro: Any, **how: Any) -> None:
        self.number = next(_Task.numbers)
        super().__init__(coro, **how)

    def __hash__(self) -> int:
        return self.number

    def __eq__(self, other: object) -> bool:
        return self is other


class _Leaper(selectors.DefaultSelector):
    """Instead of waiting it moves the clock; while a real server works on a request, the clock stands."""

    loop: VirtualLoop

    @property
    def hears_others(self) -> bool:
        """Whether there is more to hear than the loop's own pipe."""
        return len(self.get_map()) > 1

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if self.hears_others:
            events = super().select(0 if timeout == 0 else _REAL_SECONDS)
            if events or timeout == 0:
                return events
        if timeout is None:
            raise Stuck
        if timeout > 0:
            self.loop.leap()
        return []


class VirtualLoop(asyncio.SelectorEventLoop):
    """The loop.

    Attributes:
        busy: How many requests of clients are on their way. While it is 0, and only machines have something to do, the
            time advances in long steps: what machines do every second they then do every hour.
        steps: Callbacks that were run, for figures.
    """

    _ready: deque[asyncio.Handle]
    _scheduled: list[_Timer]
    _timer_cancelled_count: int
    _stopping: bool

    def __init__(self, seed: str, crowd: int = 1) -> None:
        self._oversleeps = 1 - (1 - _OVERSLEEPS) / crowd
        self._owners: dict[int, Owner | None] = {}
        self._leaper = leaper = _Leaper()
        leaper.loop = self
        super().__init__(leaper)
        self.busy = 0
        self.steps = 0
        self._now = 0.0
        _Task.numbers = itertools.count()
        self._chance = random.Random(f"{seed}:order")
        self._rest = random.Random(f"{seed}:rest")
        self._clock_resolution = _RESOLUTION
        self._kept: list[asyncio.Task[Any]] = []
        self.set_task_factory(self._task)
        self.set_exception_handler(lambda *_: None)  # what a dead machine left undone is no news

    def time(self) -> float:
        """Return virtual seconds since the beginning."""
        return self._now

    def _task(self, loop: asyncio.AbstractEventLoop, coro: Any, context: Context | None = None) -> asyncio.Task[Any]:
        made = _Task(coro, loop=loop, context=context)
        if (context.get(OWNER) if context is not None else OWNER.get()) is not None:
            # A task of a dead machine must not be collected: that would run what it has to do at its end.
            self._kept.append(made)
            if len(self._kept) > 4096:
                self._kept = [task for task in self._kept if not task.done()]
        return made

    def leap(self) -> None:
        """Move the clock to what comes next."""
        soonest = self._scheduled[0].when()
        if self.busy:
            self._now = max(self._now, soonest)
            return
        limit = math.inf
        for timer in self._scheduled:
            if timer._cancelled:
                continue
            owner = timer.owner
            if timer.short and (owner is None or not owner.dead):
                self._now = max(self._now, soonest)  # a machine works: only resting machines may rest longer
                return
            if owner is None and timer._when < limit:
                limit = timer._when
        if limit == math.inf:
            limit = soonest
        if limit - self._now > _LONGEST_NAP:
            limit = min(limit, self._now + self._chance.uniform(600, 7200))
        self._oversleep(limit)
        # Machines also do their regular work shortly before the next request.
        soonest = self._scheduled[0]._when
        limit = max(soonest, limit - _BEFORE)
        self._now = max(self._now, soonest, limit)

    def _oversleep(self, until: float) -> None:
        """Let some of the resting machines sleep beyond the time of another's next action."""
        lazy: dict[Owner, bool] = {}
        for timer in self._scheduled:
            owner = timer.owner
            if owner is None or timer._when > until:
                continue
            if owner not in lazy:
                lazy[owner] = until - owner.woke <= owner.nap and self._rest.random() < self._oversleeps
                if not lazy[owner]:
                    owner.woke = until
            if lazy[owner]:
                timer._when = until + self._rest.uniform(0.1, _BEFORE)
        if any(lazy.values()):
            heapq.heapify(self._scheduled)

    def _call_soon(self, callback: Callable[..., Any], args: Any, context: Context | None) -> asyncio.Handle:
        handle = _Handle(callback, args, self, context)
        self._ready.append(handle)
        return handle

    def call_at(  # type: ignore[override]
        self, when: float, callback: Callable[..., Any], *args: Any, context: Context | None = None
    ) -> asyncio.TimerHandle:
        """Call at a virtual time."""
        timer = _Timer(when, callback, args, self, context)
        timer.owner = timer._context.get(OWNER)  # type: ignore[attr-defined]
        timer.short = when - self._now < _SHORT
        heapq.heappush(self._scheduled, timer)
        timer._scheduled = True
        return timer

    def _run_once(self) -> None:
        ready = self._ready
        if len(ready) > 1:
            # Plain callbacks keep their order, which asyncio promises; which task goes first it does not.
            places = [n for n, handle in enumerate(ready) if _is_step(handle)]
            if len(places) > 1:
                steps = [ready[n] for n in places]
                self._chance.shuffle(steps)
                for n, handle in zip(places, steps, strict=True):
                    ready[n] = handle
        self.steps += len(ready)
        if self._leaper.hears_others:
            super()._run_once()  # type: ignore[misc]
        else:
            self._run_alone(ready)

    def _run_alone(self, ready: deque[asyncio.Handle]) -> None:
        """Do what asyncio does, where nothing comes from outside."""
        timers = self._scheduled
        if self._timer_cancelled_count > _MOST_CANCELLED:
            kept_timers = [timer for timer in timers if not timer._cancelled]
            for timer in timers:
                timer._scheduled = not timer._cancelled
            timers[:] = kept_timers
            heapq.heapify(timers)
            self._timer_cancelled_count = 0
        while timers and timers[0]._cancelled:
            self._timer_cancelled_count -= 1
            heapq.heappop(timers)._scheduled = False
        if not ready and not self._stopping:
            if not timers:
                raise Stuck
            if timers[0]._when > self._now:
                self.leap()
        end = self._now + _RESOLUTION
        while timers and timers[0]._when < end:
            timer = heapq.heappop(timers)
            timer._scheduled = False
            ready.append(timer)
        for _ in range(len(ready)):
            handle = ready.popleft()
            if not handle._cancelled:
                handle._run()

    def _add_reader(self, fd: Any, callback: Any, *args: Any) -> Any:
        self._owners[_number(fd)] = OWNER.get()
        return super()._add_reader(fd, callback, *args)  # type: ignore[misc]

    def cut(self, owner: Owner) -> None:
        """Cut every connection of a machine that died; its server hears of it."""
        for number in [number for number, its in self._owners.items() if its is owner]:
            del self._owners[number]
            self.remove_reader(number)
            self.remove_writer(number)
            with suppress(OSError), socket.socket(fileno=os.dup(number)) as duplicate:
                duplicate.shutdown(socket.SHUT_RDWR)

    def _write_to_self(self) -> None:
        pass

    def close(self) -> None:
        """Close the loop; what dead machines left behind stays as it is."""
        self._ready.clear()
        self._scheduled.clear()
        super().close()


def _number(fd: Any) -> int:
    return fd if isinstance(fd, int) else int(fd.fileno())


def _is_step(handle: Any) -> bool:
    return isinstance(getattr(handle._callback, "__self__", None), asyncio.Task)
