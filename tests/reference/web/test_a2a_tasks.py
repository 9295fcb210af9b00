"""Tasks in memory: kept for a while, as many as fit, changed by one at a time."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from reference.protocol.a2a import ErrorCode, Outcome, Task, TaskState, text_part
from reference.web.a2a.in_memory_tasks import OPENER, MemoryTasks
from reference.web.a2a.json_rpc import RpcError
from reference.web.a2a.methods import A2aServer, Message
from reference.web.clock import WpClock
from reference.web.http.exchange import Request


class Clock(WpClock):
    """A clock that the test moves."""

    def __init__(self) -> None:
        self.at = 1000.0
        super().__init__(wall_clock=lambda: self.at)


def task(name: str, *, version: int = 0, size: int = 0, opener: str = "") -> Task:
    memo = {"x": "y" * size, OPENER: opener}
    return Task(name, "c", TaskState.INPUT_REQUIRED, "t", memo=memo, version=version)


async def test_a_task_is_found_while_it_is_kept() -> None:
    """From when it was opened, whatever was said to it since."""
    clock = Clock()
    tasks = MemoryTasks(clock, seconds=100)
    await tasks.add(task("a"))
    clock.at += 90
    assert await tasks.replace(task("a", version=1))
    clock.at += 9
    assert await tasks.find("a") == task("a", version=1)
    clock.at += 1
    assert await tasks.find("a") is None
    assert not await tasks.replace(task("a", version=2))


async def test_a_change_is_made_once() -> None:
    """Only the version that follows the kept one takes its place."""
    tasks = MemoryTasks(Clock(), seconds=100)
    await tasks.add(task("a"))

    assert [await tasks.replace(task("a", version=version)) for version in (2, 0, 1, 1, 2)] == [
        *(False, False, True, False, True)
    ]
    assert not await tasks.replace(task("b", version=1))


async def test_the_oldest_go_first() -> None:
    """By number and by bytes."""
    by_number = MemoryTasks(Clock(), seconds=100, most=2)
    by_bytes = MemoryTasks(Clock(), seconds=100, most_bytes=2500)
    for name in "abc":
        await by_number.add(task(name))
        await by_bytes.add(task(name, size=1000))

    for tasks in (by_number, by_bytes):
        assert [await tasks.find(name) is not None for name in "abc"] == [False, True, True]


async def test_who_opens_many_loses_his_own() -> None:
    """By number and by bytes: the tasks of others stay, as long as that makes room."""
    by_number = MemoryTasks(Clock(), seconds=100, of_opener=2)
    by_bytes = MemoryTasks(Clock(), seconds=100, most_bytes=4000)
    for tasks in (by_number, by_bytes):
        await tasks.add(task("first", opener="other"))
        for name in "abcd":
            await tasks.add(task(name, size=1500, opener="many"))
        assert [await tasks.find(name) is not None for name in ("first", *"abcd")] == [True, False, False, True, True]


async def test_a_task_that_grows_makes_room_too() -> None:
    """A change counts as an opening does, and nothing is counted twice."""
    tasks = MemoryTasks(Clock(), seconds=100, most_bytes=5000)
    for name in "ab":
        await tasks.add(task(name))
    for version in range(1, 20):
        assert await tasks.replace(task("b", version=version, size=3000))
    assert await tasks.find("a") is not None
    await tasks.replace(task("b", version=20, size=6000))
    assert [await tasks.find(name) for name in "ab"] == [None, None]


class Conversations:
    """A conversation that answers at the moment and with the outcome that the test sets."""

    def __init__(self) -> None:
        self.gate = asyncio.Event()
        self.calls = 0

    async def __call__(self, message: Message, task: Task | None, request: Request) -> Outcome:
        """Wait, then finish a task that was open."""
        del message, request
        if task is None:
            return Outcome(TaskState.INPUT_REQUIRED)
        self.calls += 1
        await self.gate.wait()
        return Outcome(TaskState.COMPLETED, artifacts=((text_part("done"),),))


async def call(server: A2aServer, method: str, params: dict[str, Any]) -> dict[str, Any]:
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
    document: dict[str, Any] = json.loads((await server.rpc.answer(Request("/a2a", "POST", "", {}, body, ""))).body)
    return document


def message(**members: Any) -> dict[str, Any]:
    return {"message": {"kind": "message", "messageId": "m", "role": "user", "parts": [text_part("hello")], **members}}


async def test_a_task_is_carried_on_by_one_call_at_a_time() -> None:
    """Of two messages at once one finishes the task, the other gets what its own brings: a ledger sells once."""
    conversations, clock = Conversations(), Clock()
    server = A2aServer(MemoryTasks(clock, seconds=100), clock, conversations)
    task = (await call(server, "message/send", message()))["result"]["id"]
    pending_calls = [asyncio.create_task(call(server, "message/send", message(taskId=task))) for _ in range(2)]
    pending_call = asyncio.create_task(call(server, "tasks/cancel", {"id": task}))
    await asyncio.sleep(0)
    conversations.gate.set()
    first, second = [await one for one in pending_calls]

    assert first["result"]["status"]["state"] == "completed"
    assert second["result"] == first["result"]
    assert (await pending_call)["error"]["code"] == -32002
    assert conversations.calls == 2


async def test_a_fault_nobody_planned_is_an_error_object() -> None:
    """-32603 with nothing of what happened, and no task."""

    async def fail(message: Message, task: Task | None, request: Request) -> Outcome:
        del message, task, request
        raise RuntimeError("5ecret")

    clock = Clock()
    report = await call(A2aServer(MemoryTasks(clock, seconds=100), clock, fail), "message/send", message())

    assert report == {"jsonrpc": "2.0", "id": 1, "error": {"code": -32603, "message": "an unexpected fault"}}


async def test_nothing_is_kept_of_a_message_that_is_refused() -> None:
    """The task stays as it was."""
    clock = Clock()
    tasks = MemoryTasks(clock, seconds=100)

    async def refuse(message: Message, task: Task | None, request: Request) -> Outcome:
        del message, request
        if task is not None:
            raise RpcError(ErrorCode.INVALID_PARAMS, "no")
        return Outcome(TaskState.INPUT_REQUIRED)

    server = A2aServer(tasks, clock, refuse)
    opened = (await call(server, "message/send", message()))["result"]
    assert (await call(server, "message/send", message(taskId=opened["id"])))["error"]["code"] == -32602
    assert (await call(server, "tasks/get", {"id": opened["id"]}))["result"] == opened
