"""One owner for each thing that the event loop and threads could both reach: the thread that touches it first.

A run keeps its names, its log, its numbers and its random choices in the event loop's thread, and none of them has a
lock. What runs in a thread is a function of values: the loop draws the numbers before it and writes the names down
after it. Whatever breaks this rule is found at its first call, and not in the one run of many where two threads meet.
"""

from __future__ import annotations

import random
from threading import get_ident


class WrongThread(RuntimeError):
    """A thread touched what belongs to another one: a fault of the suite."""


class Owned:
    """Something that belongs to the thread which touches it first."""

    _owner = 0

    def _check_owner(self) -> None:
        """Be called at the beginning of each method that reads or changes what is owned.

        Raises:
            WrongThread: Another thread touched it before.
        """
        if self._owner != get_ident():
            self._take_over()

    def _take_over(self) -> None:
        if self._owner:
            raise WrongThread(f"{type(self).__name__} belongs to another thread; give a thread values, and no more")
        self._owner = get_ident()


class OwnRandom(Owned, random.Random):
    """The random choices of one check: the same sequence as `random.Random` of the same seed."""

    def random(self) -> float:
        """Return the next number from 0 up to and without 1."""
        self._check_owner()
        return super().random()

    def getrandbits(self, k: int, /) -> int:
        """Return `k` random bits."""
        self._check_owner()
        return super().getrandbits(k)
