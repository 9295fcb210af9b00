"""The rail's A2A endpoint: limits, the extension's header, and the storage of tasks (P-RA-01 to P-RA-11)."""

from __future__ import annotations

import re
from dataclasses import replace

from reference.protocol.a2a import Task
from reference.protocol.a2a_x402 import PAYLOAD
from reference.rail.a2a.conversation import Conversation
from reference.rail.paid_endpoint import PaidEndpoint
from reference.rail.periodic import CLEAN_SECONDS, Interval
from reference.store.a2a_tasks import Tasks
from reference.store.database import DatabaseUnavailable
from reference.web.a2a.in_memory_tasks import OPENER
from reference.web.a2a.methods import A2aServer
from reference.web.clock import WpClock
from reference.web.errors import Refused
from reference.web.http.exchange import Reply, Request

TASK_SECONDS = 86_400
# An address at its rate limit does not lose a task before its challenge ends (120 a minute, 1800 s).
TASKS_OF_OPENER = 4000
# Sixteen megabytes: as many tasks of four kilobytes, which hold all orders but those that are written to be large.
# Beyond it the largest go, so that none of up to four kilobytes is pushed out by bytes.
BYTES_OF_OPENER = 2**24
EXTENSIONS = "x-a2a-extensions"
_UUID4 = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}", re.ASCII)
_PAYLOAD_MEMBER = PAYLOAD.encode()


class A2aEndpoint:
    """Answers POST /a2a."""

    def __init__(
        self, paid_endpoint: PaidEndpoint, conversation: Conversation, tasks: RailTasks, clock: WpClock, *, uri: str
    ) -> None:
        self._paid_endpoint = paid_endpoint
        self._rpc = A2aServer(tasks, clock, conversation, passed_faults=(DatabaseUnavailable,)).rpc
        self._uri = uri

    async def call(self, request: Request) -> Reply:
        """Answer one call: 200 also for JSON-RPC errors (P-RA-04).

        Raises:
            Refused: 429, or 503 for a service that is switched off.
            DatabaseUnavailable: Ledger or tasks cannot be asked.
        """
        # The limit is judged before the body is parsed, so the mark of a payment is searched as bytes.
        allowance = await self._paid_endpoint.admit(request, has_proof=_PAYLOAD_MEMBER in request.body)
        limits = {} if allowance is None else allowance.headers()
        request.answer_headers.update({"Cache-Control": "no-store", **self._echo_extension(request), **limits})
        try:
            return await self._rpc.answer(request)
        except Refused as fault:
            raise replace(fault, headers={**fault.headers, **limits}) from fault

    def _echo_extension(self, request: Request) -> dict[str, str]:
        """Return the header that echoes the extension to a client that named it (P-RA-02)."""
        uris = {one.strip() for value in request.headers.get(EXTENSIONS, ()) for one in value.split(",")}
        return {"X-A2A-Extensions": self._uri} if self._uri in uris else {}


class RailTasks:
    """Tasks in the rail's database, common to its workers: for 24 hours, and bounded for each address."""

    def __init__(self, tasks: Tasks, clock: WpClock) -> None:
        self._tasks = tasks
        self._clock = clock
        self._cleaning = Interval(CLEAN_SECONDS)

    async def find(self, task_id: str) -> Task | None:
        """Return a task, or None when it is not known or not kept any longer."""
        # The rail issues UUIDs alone, so any other id needs no query.
        if _UUID4.fullmatch(task_id) is None:
            return None
        stored_task = await self._tasks.get(task_id, now=self._clock.lapsed_until())
        return None if stored_task is None else Task.from_bytes(stored_task)

    async def add(self, task: Task) -> None:
        """Keep a new task."""
        await self._tasks.add(
            task.id,
            task.to_bytes(),
            opener=task.memo[OPENER],
            version=task.version,
            expires_at=self._clock.now() + TASK_SECONDS,
            most=TASKS_OF_OPENER,
            most_bytes=BYTES_OF_OPENER,
        )

    async def replace(self, task: Task) -> bool:
        """Keep a task in place of its version before; False when that is not the one which is kept."""
        return await self._tasks.replace(task.id, task.to_bytes(), version=task.version, now=self._clock.lapsed_until())

    async def tend(self) -> None:
        """Delete outdated tasks."""
        now = self._clock.lapsed_until()
        if self._cleaning.is_over(now):
            await self._tasks.forget(now=now)
