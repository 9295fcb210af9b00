"""A2A tasks in the memory of one process, bounded in time, number and bytes (6.1)."""

from __future__ import annotations

from collections import OrderedDict
from typing import NamedTuple

from reference.protocol.a2a import Task
from reference.web.clock import WpClock

OPENER = "opener"


class _Entry(NamedTuple):
    until: float
    version: int
    opener: str
    data: bytes


class MemoryTasks:
    """Tasks in this process, each for a limited time after it was opened, up to a limit of tasks.

    The memo of a task names its client at `OPENER`. A client that opens many tasks loses its own oldest ones before
    tasks of other clients are removed.
    """

    def __init__(
        self, clock: WpClock, *, seconds: int, most: int = 10_000, most_bytes: int = 2**26, of_opener: int = 1000
    ) -> None:
        """Take the bounds.

        Args:
            clock: The service's clock.
            seconds: How long a task is kept.
            most: How many tasks are kept.
            most_bytes: How many bytes they may take together.
            of_opener: How many tasks of one opener are kept.
        """
        self._clock = clock
        self._seconds = seconds
        self._most = most
        self._most_bytes = most_bytes
        self._of_opener = of_opener
        self._entries: OrderedDict[str, _Entry] = OrderedDict()
        self._own: dict[str, OrderedDict[str, None]] = {}
        self._bytes = 0

    async def find(self, task_id: str) -> Task | None:
        """Return a task, or None when it is not known or not kept any longer."""
        self._forget()
        entry = self._entries.get(task_id)
        return None if entry is None else Task.from_bytes(entry.data)

    async def add(self, task: Task) -> None:
        """Keep a new task."""
        self._forget()
        self._keep(task, self._clock.seconds() + self._seconds)

    async def replace(self, task: Task) -> bool:
        """Keep a task in place of its version before; False when that is not the one which is kept."""
        self._forget()
        entry = self._entries.get(task.id)
        # The version decides between calls that changed the task at the same time: only one of them is stored.
        if entry is None or entry.version != task.version - 1:
            return False
        self._keep(task, entry.until)
        return True

    def _keep(self, task: Task, until: float) -> None:
        data, before = task.to_bytes(), self._entries.get(task.id)
        opener = str(task.memo.get(OPENER, "")) if before is None else before.opener
        self._bytes += len(data) - (0 if before is None else len(before.data))
        self._entries[task.id] = _Entry(until, task.version, opener, data)
        own = self._own.setdefault(opener, OrderedDict())
        own[task.id] = None
        # The client's own oldest tasks go first, so that a client that opens many cannot remove those of others.
        while len(own) > self._of_opener or (self._full and len(own) > 1):
            self._drop(next(iter(own)))
        while self._full:
            self._drop(next(iter(self._entries)))

    @property
    def _full(self) -> bool:
        return bool(self._entries) and (len(self._entries) > self._most or self._bytes > self._most_bytes)

    def _forget(self) -> None:
        now = self._clock.seconds()
        # Entries are in the order of their ends, because all tasks live equally long.
        while self._entries and next(iter(self._entries.values())).until <= now:
            self._drop(next(iter(self._entries)))

    def _drop(self, task_id: str) -> None:
        entry = self._entries.pop(task_id)
        self._bytes -= len(entry.data)
        own = self._own[entry.opener]
        del own[task_id]
        if not own:
            del self._own[entry.opener]
