"""The states of an A2A task, what a message makes of it, and how it is shown and kept (P-RA-03 to P-RA-11)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference.protocol.a2a import (
    FOLLOWS,
    HISTORY_BYTES,
    HISTORY_KEPT,
    SENTENCES,
    ErrorCode,
    Outcome,
    Task,
    TaskState,
    advance,
    data_part,
    refusal_of,
    text_part,
)

FRESH = ("task", "context", "message", "artifact")
AT = "2026-01-01T00:00:00Z"
MESSAGE: dict[str, Any] = {"kind": "message", "messageId": "m", "role": "user", "parts": [text_part("hello")]}
AWAITING_INPUT = Outcome(TaskState.INPUT_REQUIRED, parts=(text_part("what?"),))
STATES = st.sampled_from([TaskState.INPUT_REQUIRED, TaskState.COMPLETED, TaskState.FAILED])


def open_task(outcome: Outcome = AWAITING_INPUT) -> Task:
    return advance(None, MESSAGE, outcome, at=AT, fresh=FRESH)


def test_a_task_in_full() -> None:
    """What a message and its outcome make: the A2A object, its parts placed in task and context."""
    outcome = Outcome(
        TaskState.COMPLETED,
        parts=(text_part("done"),),
        artifacts=((data_part({"a": 1}),),),
        message_metadata={"k": "v"},
        extensions=("https://e",),
        metadata={"m": 1},
        memo={"secret": 1},
    )
    place = {"taskId": "task", "contextId": "context"}
    parts = [{"kind": "text", "text": "done"}]
    status_message = {"kind": "message", "messageId": "message", "role": "agent", "parts": parts, **place}

    assert open_task(outcome).wire() == {
        "kind": "task",
        "id": "task",
        "contextId": "context",
        "status": {
            "state": "completed",
            "timestamp": AT,
            "message": {**status_message, "metadata": {"k": "v"}, "extensions": ["https://e"]},
        },
        "history": [{**MESSAGE, **place}],
        "artifacts": [{"artifactId": "artifact", "parts": [{"kind": "data", "data": {"a": 1}}]}],
        "metadata": {"m": 1},
    }


@given(st.lists(STATES, min_size=1, max_size=6))
def test_nothing_follows_an_end(states: list[TaskState]) -> None:
    """A task goes on while it waits for input, and no further; its version counts the changes."""
    task: Task | None = None
    for state in states:
        if task is not None and task.is_over:
            with pytest.raises(ValueError, match="cannot follow"):
                advance(task, MESSAGE, Outcome(state), at=AT, fresh=FRESH)
            with pytest.raises(ValueError, match="over"):
                task.cancel(AT)
            return
        before = task
        task = advance(before, MESSAGE, Outcome(state), at=AT, fresh=FRESH)
        assert task.version == (0 if before is None else before.version + 1)
        assert task.is_over is (state is not TaskState.INPUT_REQUIRED)


def test_only_a_waiting_task_is_canceled() -> None:
    """The table has one way to `canceled_task`."""
    canceled_task = open_task().cancel("later")

    assert (canceled_task.state, canceled_task.at, canceled_task.version) == (TaskState.CANCELED, "later", 1)
    assert [state for state, after in FOLLOWS.items() if TaskState.CANCELED in after] == [TaskState.INPUT_REQUIRED]


def test_history_is_what_was_said_before() -> None:
    """Both sides in order, the status message left out until another takes its place; as many as are asked for."""
    task = advance(open_task(), MESSAGE, AWAITING_INPUT, at=AT, fresh=FRESH)

    assert [one["role"] for one in task.wire()["history"]] == ["user", "agent", "user"]
    assert [len(task.wire(length)["history"]) for length in (0, 1, 2, 9)] == [0, 1, 2, 3]
    assert task.wire(2)["history"] == task.wire()["history"][-2:]


def test_history_is_bounded() -> None:
    """By number and by bytes; the newest stay."""
    task, large = open_task(), open_task()
    for _ in range(HISTORY_KEPT):
        task = advance(task, MESSAGE, AWAITING_INPUT, at=AT, fresh=FRESH)
    for number in range(4):
        message = {**MESSAGE, "messageId": str(number), "parts": [text_part("x" * (HISTORY_BYTES // 3))]}
        large = advance(large, message, AWAITING_INPUT, at=AT, fresh=FRESH)

    assert len(task.history) == HISTORY_KEPT
    assert [one["messageId"] for one in large.history if one["role"] == "user"] == ["2", "3"]


def test_what_is_hidden_is_not_kept() -> None:
    """A secret in a message's metadata is in neither history nor store."""
    message = {**MESSAGE, "metadata": {"payment": "5ecret", "status": "sent"}}
    task = advance(
        None, message, Outcome(TaskState.COMPLETED, secret_members=frozenset({"payment"})), at=AT, fresh=FRESH
    )

    assert task.history[0]["metadata"] == {"status": "sent"}
    assert b"5ecret" not in task.to_bytes()


def test_a_task_is_kept_whole() -> None:
    """What the store gives back is the task, with what is never sent."""
    outcome = Outcome(TaskState.COMPLETED, artifacts=((text_part("x"),),), metadata={"a": [1]}, memo={"own": "secret"})
    task = open_task(outcome)

    assert Task.from_bytes(task.to_bytes()) == task
    assert "secret" not in str(task.wire())


@pytest.mark.parametrize(
    ("method", "code"),
    [
        ("message/stream", -32004),
        ("tasks/resubscribe", -32004),
        ("tasks/pushNotificationConfig/anything", -32003),
        ("agent/getAuthenticatedExtendedCard", -32007),
        ("tasks/pushNotificationConfig", -32601),
        ("message/Send", -32601),
    ],
)
def test_methods_that_are_not_served(method: str, code: int) -> None:
    """P-RA-03: each by its code, and every code has its sentence."""
    assert code == refusal_of(method)
    assert set(SENTENCES) == set(ErrorCode)
