"""A2A 0.3 on rail and agent: error codes, methods, and a task with its states (P-RA-03 to P-RA-11, 6.6)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import IntEnum, StrEnum
from typing import Any

import orjson

# The bounds of a task's history (P-RA-10): the newest 100 messages and 131,072 bytes. A payer cannot fill the
# memory of the service with one long conversation.
HISTORY_KEPT = 100
HISTORY_BYTES = 131_072


class ErrorCode(IntEnum):
    """Codes of JSON-RPC 2.0 and of A2A 0.3 section 8."""

    PARSE_ERROR = -32700
    INVALID_REQUEST = -32600
    METHOD_NOT_FOUND = -32601
    INVALID_PARAMS = -32602
    INTERNAL_ERROR = -32603
    TASK_NOT_FOUND = -32001
    TASK_NOT_CANCELABLE = -32002
    PUSH_NOTIFICATION_NOT_SUPPORTED = -32003
    UNSUPPORTED_OPERATION = -32004
    EXTENDED_CARD_NOT_CONFIGURED = -32007


SENTENCES: Mapping[ErrorCode, str] = {
    ErrorCode.PARSE_ERROR: "the body is not JSON",
    ErrorCode.INVALID_REQUEST: "no JSON-RPC 2.0 request with a string or integer id",
    ErrorCode.METHOD_NOT_FOUND: "method not found",
    ErrorCode.INVALID_PARAMS: "the params do not fit the method",
    ErrorCode.INTERNAL_ERROR: "an unexpected fault",
    ErrorCode.TASK_NOT_FOUND: "no such task",
    ErrorCode.TASK_NOT_CANCELABLE: "the task is over and cannot be canceled",
    ErrorCode.PUSH_NOTIFICATION_NOT_SUPPORTED: "push notifications are not supported",
    ErrorCode.UNSUPPORTED_OPERATION: "streaming is not supported; use message/send and tasks/get",
    ErrorCode.EXTENDED_CARD_NOT_CONFIGURED: "there is no extended card; the public card is complete",
}

# A2A has a special code for each of these methods. The generic "method not found" would tell a client that the
# server does not speak A2A at all (P-RA-03).
_UNSERVED_METHODS = {
    "message/stream": ErrorCode.UNSUPPORTED_OPERATION,
    "tasks/resubscribe": ErrorCode.UNSUPPORTED_OPERATION,
    "agent/getAuthenticatedExtendedCard": ErrorCode.EXTENDED_CARD_NOT_CONFIGURED,
}


def refusal_of(method: str) -> ErrorCode:
    """Return why a method that is not served is refused (P-RA-03)."""
    if method.startswith("tasks/pushNotificationConfig/"):
        return ErrorCode.PUSH_NOTIFICATION_NOT_SUPPORTED
    return _UNSERVED_METHODS.get(method, ErrorCode.METHOD_NOT_FOUND)


class TaskState(StrEnum):
    """The states of A2A 0.3 that a task of this project can be in."""

    INPUT_REQUIRED = "input-required"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELED = "canceled"


_ENDS = (TaskState.COMPLETED, TaskState.FAILED)
# The state machine of a task. None is the state before the first message. A message opens the task or continues it,
# a cancellation ends it, and no state follows an end. A paid task stays "input-required" until a payment is served,
# so that the client can send another payment (P-RA-08). A call is answered only when its outcome is known. So the
# A2A states "submitted" and "working" never occur.
FOLLOWS: Mapping[TaskState | None, frozenset[TaskState]] = {
    None: frozenset({TaskState.INPUT_REQUIRED, *_ENDS}),
    TaskState.INPUT_REQUIRED: frozenset({TaskState.INPUT_REQUIRED, TaskState.CANCELED, *_ENDS}),
    TaskState.COMPLETED: frozenset(),
    TaskState.FAILED: frozenset(),
    TaskState.CANCELED: frozenset(),
}


def text_part(text: str) -> dict[str, Any]:
    """Return a part of plain text."""
    return {"kind": "text", "text": text}


def data_part(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return a part of structured data."""
    return {"kind": "data", "data": dict(data)}


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a message at a surface; the task is built from it.

    Attributes:
        state: The state that follows.
        parts: Parts of the status message; if empty, the task has no status message.
        artifacts: Parts of each artifact that the task gains.
        message_metadata: `metadata` of the status message.
        extensions: URIs of the extensions that the status message uses.
        metadata: `metadata` of the task, in place of what it had.
        memo: Data that the surface needs with the next message; stored with the task and never sent.
        secret_members: Members of the caller's message `metadata` that are secrets, so the task does not keep them.
    """

    state: TaskState
    parts: Sequence[Mapping[str, Any]] = ()
    artifacts: Sequence[Sequence[Mapping[str, Any]]] = ()
    message_metadata: Mapping[str, Any] = field(default_factory=dict)
    extensions: Sequence[str] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)
    memo: Mapping[str, Any] = field(default_factory=dict)
    secret_members: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Task:
    """One version of a task. Every change makes another one, with `version` one higher.

    Attributes:
        id: UUIDv4.
        context_id: UUIDv4.
        state: Its state.
        at: When it entered that state, `YYYY-MM-DDThh:mm:ssZ`.
        message: The status message, or None.
        artifacts: Its results, each `{artifactId, parts}`.
        history: Messages before the status message, oldest first.
        metadata: Its metadata.
        memo: Data of the surface that belongs to the task; never on the wire.
        version: How often it was changed.
    """

    id: str
    context_id: str
    state: TaskState
    at: str
    message: Mapping[str, Any] | None = None
    artifacts: tuple[Mapping[str, Any], ...] = ()
    history: tuple[Mapping[str, Any], ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)
    memo: Mapping[str, Any] = field(default_factory=dict)
    version: int = 0

    @property
    def is_over(self) -> bool:
        """Whether no state can follow."""
        return not FOLLOWS[self.state]

    def cancel(self, at: str) -> Task:
        """Return the task after its cancellation.

        Raises:
            ValueError: It is over already.
        """
        if TaskState.CANCELED not in FOLLOWS[self.state]:
            raise ValueError("the task is over")
        return replace(self, state=TaskState.CANCELED, at=at, version=self.version + 1)

    def wire(self, history_length: int | None = None) -> dict[str, Any]:
        """Return the A2A object, with the newest `history_length` messages of its history (None: all)."""
        # `max` matters: with a `history_length` above the number of messages, a negative start would cut from the
        # end.
        history = self.history if history_length is None else self.history[max(0, len(self.history) - history_length) :]
        status: dict[str, Any] = {"state": self.state.value, "timestamp": self.at}
        if self.message is not None:
            status["message"] = self.message
        task: dict[str, Any] = {"kind": "task", "id": self.id, "contextId": self.context_id, "status": status}
        task["history"] = list(history)
        if self.artifacts:
            task["artifacts"] = list(self.artifacts)
        if self.metadata:
            task["metadata"] = dict(self.metadata)
        return task

    def to_bytes(self) -> bytes:
        """Return the whole task as JSON for a store, memo and version included."""
        return orjson.dumps(self)

    @classmethod
    def from_bytes(cls, data: bytes) -> Task:
        """Return the task that `to_bytes` wrote."""
        members = orjson.loads(data)
        members["state"] = TaskState(members["state"])
        members["artifacts"], members["history"] = tuple(members["artifacts"]), tuple(members["history"])
        return cls(**members)


def advance(task: Task | None, message: Mapping[str, Any], outcome: Outcome, *, at: str, fresh: Sequence[str]) -> Task:
    """Return the task after a message and its outcome.

    Args:
        task: The task that the message carries on, or None when it opens one.
        message: The caller's message, as it came.
        outcome: The outcome of the message.
        at: The moment, `YYYY-MM-DDThh:mm:ssZ`.
        fresh: New UUIDs: task, context, status message, then one for each artifact.

    Raises:
        ValueError: That state cannot follow.
    """
    if outcome.state not in FOLLOWS[None if task is None else task.state]:
        raise ValueError(f"{outcome.state} cannot follow")
    # Ids of a new task are random and never taken from the caller (P-RA-10). A chosen id could collide with the
    # task of another client.
    task_id, context_id = (fresh[0], fresh[1]) if task is None else (task.id, task.context_id)
    place = {"taskId": task_id, "contextId": context_id}
    before = () if task is None else (*task.history, *(() if task.message is None else (task.message,)))
    status_message: dict[str, Any] | None = None
    if outcome.parts:
        status_message = {
            "kind": "message",
            "messageId": fresh[2],
            "role": "agent",
            "parts": list(outcome.parts),
            **place,
        }
        status_message |= {"metadata": dict(outcome.message_metadata)} if outcome.message_metadata else {}
        status_message |= {"extensions": list(outcome.extensions)} if outcome.extensions else {}
    artifacts = [
        {"artifactId": name, "parts": list(parts)} for name, parts in zip(fresh[3:], outcome.artifacts, strict=False)
    ]
    return Task(
        task_id,
        context_id,
        outcome.state,
        at,
        status_message,
        (*(() if task is None else task.artifacts), *artifacts),
        # The credential of a payer is removed from the history, because `tasks/get` returns the history (P-RA-07).
        _newest((*before, {**_remove_secrets(message, outcome.secret_members), **place})),
        outcome.metadata,
        outcome.memo,
        0 if task is None else task.version + 1,
    )


def _remove_secrets(message: Mapping[str, Any], secret_members: frozenset[str]) -> Mapping[str, Any]:
    """Return a caller's message without its secret members."""
    metadata = message.get("metadata")
    if not secret_members or not isinstance(metadata, Mapping):
        return message
    return {**message, "metadata": {name: value for name, value in metadata.items() if name not in secret_members}}


def _newest(history: Sequence[Mapping[str, Any]]) -> tuple[Mapping[str, Any], ...]:
    """Return the newest messages that fit into the bounds, oldest first."""
    # Count from the newest message backwards, so that the oldest messages are the ones that are dropped.
    room, count = HISTORY_BYTES, 0
    for message in reversed(history[-HISTORY_KEPT:]):
        room -= len(orjson.dumps(message))
        if room < 0:
            break
        count += 1
    return tuple(history[len(history) - count :])
