"""Two workers over one store: a task is changed from the version that was read, and an end that came about stands."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from reference.protocol.a2a import Outcome, Task, TaskState
from reference.web.a2a.in_memory_tasks import MemoryTasks
from reference.web.a2a.methods import A2aServer, Message
from reference.web.clock import WpClock
from reference.web.http.exchange import Request


class Worker:
    """A server whose conversation waits until the test sets the outcome of a message."""

    def __init__(self, tasks: MemoryTasks) -> None:
        self.outcome: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        self.heard = asyncio.Event()
        self.server = A2aServer(tasks, WpClock(), self)

    async def __call__(self, message: Message, task: Task | None, request: Request) -> Outcome:
        """Wait for the outcome of a message to an open task."""
        del message, request
        if task is None:
            return Outcome(TaskState.INPUT_REQUIRED)
        self.heard.set()
        return await self.outcome

    async def call(self, method: str, **params: Any) -> dict[str, Any]:
        """Call a method."""
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
        reply = await self.server.rpc.answer(Request("/a2a", "POST", "", {}, body, ""))
        document: dict[str, Any] = json.loads(reply.body)
        return document

    async def send(self, task: str | None = None) -> dict[str, Any]:
        """Send a message."""
        message = {"kind": "message", "messageId": "m", "role": "user", "parts": [{"kind": "text", "text": "hello"}]}
        return await self.call("message/send", message=message if task is None else {**message, "taskId": task})


@pytest.fixture
async def workers() -> tuple[Worker, Worker, str]:
    """Two workers, and a task that is open."""
    tasks = MemoryTasks(WpClock(), seconds=100)
    first, second = Worker(tasks), Worker(tasks)
    return first, second, (await first.send())["result"]["id"]


async def outcomes(workers: tuple[Worker, Worker, str], *states: TaskState) -> list[dict[str, Any]]:
    """Let both carry the task on from the same version, and the first of them be done first."""
    first, second, task = workers
    pending_calls = [asyncio.create_task(one.send(task)) for one in (first, second)]
    await asyncio.gather(first.heard.wait(), second.heard.wait())
    lines = []
    for worker, pending_call, state in zip((first, second), pending_calls, states, strict=True):
        worker.outcome.set_result(Outcome(state))
        lines.append(await pending_call)
    return lines


async def test_an_end_is_kept_whatever_was_said_meanwhile(workers: tuple[Worker, Worker, str]) -> None:
    """What ended a task is true: it is put onto the version that another call made."""
    first_outcome, second_outcome = await outcomes(workers, TaskState.INPUT_REQUIRED, TaskState.COMPLETED)

    assert first_outcome["result"]["status"]["state"] == "input-required"
    assert second_outcome["result"]["status"]["state"] == "completed"
    assert (await workers[0].call("tasks/get", id=workers[2]))["result"] == second_outcome["result"]
    assert len(second_outcome["result"]["history"]) == 3


async def test_whoever_completes_it_second_has_the_answer_too(workers: tuple[Worker, Worker, str]) -> None:
    """One payment sent twice at once: both are answered, and the task is what the first made of it."""
    first_outcome, second_outcome = await outcomes(workers, TaskState.COMPLETED, TaskState.COMPLETED)

    assert first_outcome["result"]["status"]["state"] == "completed"
    assert second_outcome["result"] == first_outcome["result"]
    assert (await workers[1].call("tasks/get", id=workers[2]))["result"] == first_outcome["result"]


async def test_whoever_waited_for_its_completion_has_the_answer_too(workers: tuple[Worker, Worker, str]) -> None:
    """The same at one worker, where the second call waits for the first."""
    worker, _, task = workers
    pending_calls = [asyncio.create_task(worker.send(task)) for _ in range(2)]
    await worker.heard.wait()
    worker.outcome.set_result(Outcome(TaskState.COMPLETED, artifacts=(({"kind": "text", "text": "bought"},),)))
    first_outcome, second_outcome = await asyncio.gather(*pending_calls)

    assert first_outcome["result"]["artifacts"][0]["parts"] == [{"kind": "text", "text": "bought"}]
    assert second_outcome["result"] == first_outcome["result"]


async def test_an_answer_that_another_end_kept_out_is_given_all_the_same(workers: tuple[Worker, Worker, str]) -> None:
    """Two payments for one task bring two answers: each caller has his own, and the first one's is kept."""
    first, second, task = workers
    pending_calls = [asyncio.create_task(one.send(task)) for one in (first, second)]
    await asyncio.gather(first.heard.wait(), second.heard.wait())
    lines = []
    for worker, pending_call, text in zip((first, second), pending_calls, ("one", "two"), strict=True):
        worker.outcome.set_result(Outcome(TaskState.COMPLETED, artifacts=(({"kind": "text", "text": text},),)))
        lines.append(await pending_call)

    assert [one["result"]["artifacts"][0]["parts"][0]["text"] for one in lines] == ["one", "two"]
    assert (await second.call("tasks/get", id=task))["result"] == lines[0]["result"]


async def test_nothing_is_put_onto_an_end(workers: tuple[Worker, Worker, str]) -> None:
    """Whatever else comes late is an error."""
    first_outcome, second_outcome = await outcomes(workers, TaskState.COMPLETED, TaskState.INPUT_REQUIRED)

    assert (first_outcome["result"]["status"]["state"], second_outcome["error"]["code"]) == ("completed", -32602)
    assert (await workers[1].call("tasks/get", id=workers[2]))["result"] == first_outcome["result"]


async def test_a_question_that_came_late_is_an_error(workers: tuple[Worker, Worker, str]) -> None:
    """The task was asked something else meanwhile."""
    first_outcome, second_outcome = await outcomes(workers, TaskState.INPUT_REQUIRED, TaskState.INPUT_REQUIRED)

    assert (first_outcome["result"]["status"]["state"], second_outcome["error"]["code"]) == ("input-required", -32602)


async def test_a_cancellation_ends_the_task_as_it_stands(workers: tuple[Worker, Worker, str]) -> None:
    """It needs no version: an open task is canceled, and a call at work on another worker gets an error."""
    first, second, task = workers
    pending_call = asyncio.create_task(first.send(task))
    await first.heard.wait()
    later_task = await second.call("tasks/cancel", id=task)
    first.outcome.set_result(Outcome(TaskState.COMPLETED))

    assert later_task["result"]["status"]["state"] == "canceled"
    assert (await pending_call)["error"]["code"] == -32602
