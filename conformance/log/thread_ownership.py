"""Thread ownership: an object belongs to the thread that uses it first, and raises in any other thread.

The names, the log, the counters and the random choices of a run belong to the thread of the event loop, and have no
locks. A worker thread gets values and returns values. The loop draws random numbers before it and records names after
it. A violation is found at its first call, and not only in the rare run in which two threads collide.
"""

from __future__ import annotations

import random
from threading import get_ident


class WrongThread(RuntimeError):
    """A thread used an object of another thread: a fault of the suite."""


class Owned:
    """An object that belongs to the thread that uses it first."""

    _owner = 0

    def _check_owner(self) -> None:
        """Check the calling thread; each method that reads or changes the object calls this first.

        Raises:
            WrongThread: Another thread used the object before.
        """
        if self._owner != get_ident():
            self._take_over()

    def _take_over(self) -> None:
        if self._owner:
            raise WrongThread(f"{type(self).__name__} belongs to another thread; pass values, not shared objects")
        self._owner = get_ident()


class OwnRandom(Owned, random.Random):
    """The random choices of one check, with the sequence of `random.Random` for the same seed."""

    # `random` and `getrandbits` are the only sources of every other method of `random.Random`.
    def random(self) -> float:
        """Return the next number of the half-open interval from 0 to 1."""
        self._check_owner()
        return super().random()

    def getrandbits(self, k: int, /) -> int:
        """Return `k` random bits."""
        self._check_owner()
        return super().getrandbits(k)
