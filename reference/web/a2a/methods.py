"""The A2A 0.3 methods over JSON-RPC; a surface decides what a message means (P-RA-03 to P-RA-11)."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Awaitable, Callable, Mapping
from typing import Annotated, Any, Literal, Protocol, TypeAlias
from weakref import WeakValueDictionary

from pydantic import BaseModel, ConfigDict, Field

from reference.protocol.a2a import ErrorCode, Outcome, Task, TaskState, advance
from reference.protocol.time_text import utc_text
from reference.web.a2a.json_rpc import JsonRpcServer, Method, Params, RpcError, build_invalid_params, read_params
from reference.web.clock import WpClock
from reference.web.errors import Refused
from reference.web.http.exchange import Request


class _Object(BaseModel):
    """An A2A object: further members are allowed anywhere (A2A 0.3)."""

    # hide_input_in_errors: a fault is logged and returned, and the input may hold a payment (P-CV-12).
    model_config = ConfigDict(strict=True, extra="ignore", frozen=True, hide_input_in_errors=True)


class TextPart(_Object):
    """Plain text."""

    kind: Literal["text"]
    text: str


class DataPart(_Object):
    """Structured data."""

    kind: Literal["data"]
    data: dict[str, Any]


class FilePart(_Object):
    """A file, by its bytes or its address; never fetched (P-CV-15)."""

    kind: Literal["file"]
    file: dict[str, Any]


class Message(_Object):
    """One message of a caller."""

    kind: Literal["message"]
    messageId: str  # noqa: N815 - A2A's name
    role: Literal["user", "agent"]
    parts: list[Annotated[TextPart | DataPart | FilePart, Field(discriminator="kind")]] = Field(min_length=1)
    taskId: str | None = None  # noqa: N815 - A2A's name
    contextId: str | None = None  # noqa: N815 - A2A's name
    metadata: dict[str, Any] = Field(default_factory=dict)
    extensions: list[str] = Field(default_factory=list)

    def data_with(self, member: str) -> dict[str, Any] | None:
        """Return the data of the first data part that has a member, or None without such a part."""
        data_parts = (part.data for part in self.parts if isinstance(part, DataPart))
        return next((data for data in data_parts if member in data), None)


class _Configuration(_Object):
    historyLength: int | None = Field(default=None, ge=0)  # noqa: N815 - A2A's name
    blocking: bool | None = None
    acceptedOutputModes: list[str] | None = None  # noqa: N815 - A2A's name
    pushNotificationConfig: dict[str, Any] | None = None  # noqa: N815 - A2A's name


class _Send(_Object):
    message: Message
    configuration: _Configuration = Field(default_factory=_Configuration)
    metadata: dict[str, Any] | None = None


class _Get(_Object):
    id: str
    historyLength: int | None = Field(default=None, ge=0)  # noqa: N815 - A2A's name


class _Cancel(_Object):
    id: str


class TaskStore(Protocol):
    """Where tasks are kept for a while."""

    async def find(self, task_id: str) -> Task | None:
        """Return a task, or None when it is not known or not kept any longer."""

    async def add(self, task: Task) -> None:
        """Keep a new task."""

    async def replace(self, task: Task) -> bool:
        """Keep a task in place of its version before; False when that is not the one which is kept."""


Converse: TypeAlias = Callable[[Message, Task | None, Request], Awaitable[Outcome]]


class A2aServer:
    """The methods that a surface serves; `rpc` answers the calls."""

    def __init__(
        self, tasks: TaskStore, clock: WpClock, converse: Converse, *, passed_faults: tuple[type[Exception], ...] = ()
    ) -> None:
        """Take what differs between surfaces.

        Args:
            tasks: The store of tasks.
            clock: The service's clock.
            converse: Handles a message: takes the message, the task that it continues (None: it opens one) and the HTTP
                request, and returns the outcome. If it raises `RpcError`, nothing is stored.
            passed_faults: Further faults of store and `converse` that are answers of HTTP, as `Refused` is, and not of
                JSON-RPC.
        """
        self._tasks = tasks
        self._clock = clock
        self._converse = converse
        # One call at a time continues a task in this process. Between processes the version of the task decides.
        # Weak values, so that a lock disappears with the last call that uses it.
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        methods: Mapping[str, Method] = {
            "message/send": Method(_Send, self._send),
            "tasks/get": Method(_Get, self._get),
            "tasks/cancel": Method(_Cancel, self._cancel),
        }
        self.rpc = JsonRpcServer(methods, (Refused, *passed_faults))

    async def _send(self, params: Params, request: Request) -> dict[str, Any]:
        parameters = read_params(_Send, params)
        # Refused rather than accepted and never used: a client would wait for notifications in vain (decision 0024).
        if parameters.configuration.pushNotificationConfig is not None:
            raise RpcError(ErrorCode.PUSH_NOTIFICATION_NOT_SUPPORTED)
        length = parameters.configuration.historyLength
        if parameters.message.taskId is None:
            opened = self._advance(None, params["message"], await self._converse(parameters.message, None, request))
            await self._tasks.add(opened)
            return opened.wire(length)
        open_task = await self._open_task(parameters.message)
        async with self._lock(parameters.message.taskId):
            task = await self._find(open_task.id)
            if task.state is TaskState.COMPLETED:
                # Another call has completed it meanwhile, maybe with the same payment. It still gets its answer.
                outcome = await self._converse(parameters.message, open_task, request)
                return self._answer_second_completion(open_task, task, params["message"], outcome).wire(length)
            if task.is_over:
                raise _build_over_error()
            outcome = await self._converse(parameters.message, task, request)
            return (await self._store_outcome(task, params["message"], outcome)).wire(length)

    async def _store_outcome(self, task: Task, message: Mapping[str, Any], outcome: Outcome) -> Task:
        """Store the outcome of a message. An end of the task is final, whatever other messages arrived meanwhile."""
        while True:
            after = self._advance(task, message, outcome)
            if await self._tasks.replace(after):
                return after
            now = await self._find(task.id)
            if now.state is TaskState.COMPLETED:
                return self._answer_second_completion(task, now, message, outcome)
            # A final state stays final. A payment that was served is reported even if the open task has changed
            # (decision 0024).
            if now.is_over or not after.is_over:
                raise _build_changed_error()
            task = now

    def _answer_second_completion(
        self, before: Task, stored_task: Task, message: Mapping[str, Any], outcome: Outcome
    ) -> Task:
        """Return the answer to a message that completes a task which another call has completed first.

        If both calls brought the same artifacts, the answer is the stored task. Otherwise it is this call's own result,
        which is not stored.

        Raises:
            RpcError: It completes nothing.
        """
        if outcome.state is not TaskState.COMPLETED:
            raise _build_changed_error()
        artifacts = [list(parts) for parts in outcome.artifacts]
        if [artifact["parts"] for artifact in stored_task.artifacts[len(before.artifacts) :]] == artifacts:
            return stored_task
        return self._advance(before, message, outcome)

    async def _get(self, params: Params, request: Request) -> dict[str, Any]:
        del request
        parameters = read_params(_Get, params)
        return (await self._find(parameters.id)).wire(parameters.historyLength)

    async def _cancel(self, params: Params, request: Request) -> dict[str, Any]:
        del request
        parameters = read_params(_Cancel, params)
        async with self._lock(parameters.id):
            while True:
                task = await self._find(parameters.id)
                if task.is_over:
                    raise RpcError(ErrorCode.TASK_NOT_CANCELABLE)
                canceled_task = task.cancel(utc_text(self._clock.now()))
                if await self._tasks.replace(canceled_task):
                    return canceled_task.wire()

    async def _find(self, task_id: str) -> Task:
        task = await self._tasks.find(task_id)
        if task is None:
            raise RpcError(ErrorCode.TASK_NOT_FOUND)
        return task

    async def _open_task(self, message: Message) -> Task:
        task = await self._find(message.taskId or "")
        # A task of another context would mix two conversations; A2A leaves the answer open (decision 0024).
        if message.contextId not in {None, task.context_id}:
            raise build_invalid_params("message", "the task belongs to another context", "context_mismatch")
        if task.is_over:
            raise _build_over_error()
        return task

    def _advance(self, task: Task | None, message: Mapping[str, Any], outcome: Outcome) -> Task:
        # The server chooses the ids of tasks and artifacts. A client's ids could collide, or name tasks of others.
        fresh = [str(uuid.uuid4()) for _ in range(3 + len(outcome.artifacts))]
        return advance(task, message, outcome, at=utc_text(self._clock.now()), fresh=fresh)

    def _lock(self, task_id: str) -> asyncio.Lock:
        lock = self._locks.get(task_id)
        if lock is None:
            lock = self._locks[task_id] = asyncio.Lock()
        return lock


def _build_over_error() -> RpcError:
    return build_invalid_params("message", "the task is over; open another one without taskId", "task_over")


def _build_changed_error() -> RpcError:
    return build_invalid_params("message", "the task was carried on by another call meanwhile", "task_changed")
