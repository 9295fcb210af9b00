"""A2A endpoint of the rail: order a service, read the task, and pay it with a second message."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from conformance.discovery.rail import Operation
from conformance.engine.check import Case
from conformance.http.client import Answer, LateAnswer, Unreachable
from conformance.surfaces import json_rpc
from conformance.surfaces.agent.answer_reader import leaves
from conformance.surfaces.agent.templates import fill_template

A2A: Final = "/a2a"
CARD: Final = "/.well-known/agent-card.json"
EXTENSIONS: Final = "X-A2A-Extensions"
STATUS_KEY: Final = "x402.payment.status"
REQUIRED_KEY: Final = "x402.payment.required"
PAYLOAD_KEY: Final = "x402.payment.payload"
ERROR_KEY: Final = "x402.payment.error"
RECEIPTS_KEY: Final = "x402.payment.receipts"
_STATE: Final = "a2a-x402"
_INPUT_REQUIRED_STATES: Final = frozenset({"input-required", "auth-required", "TASK_STATE_INPUT_REQUIRED"})
# Deep enough for the parts of a message in the history of a task.
_DEPTH: Final = 12
# Seconds between two presentations of one payment while it waits for blocks.
_AGAIN: Final = 1.0


@dataclass(frozen=True, slots=True)
class Task:
    """A task as an answer shows it."""

    answer: Answer
    members: Mapping[str, Any]

    @property
    def id(self) -> str | None:
        """Its id."""
        task_id = self.members.get("id")
        return task_id if isinstance(task_id, str) and task_id else None

    @property
    def state(self) -> str | None:
        """Its state."""
        status = self.members.get("status")
        state = status.get("state") if isinstance(status, Mapping) else None
        return state if isinstance(state, str) else None

    @property
    def payment_status(self) -> str | None:
        """The payment status in the x402 extension's metadata, of the status message, the status or the task."""
        return next((value for value in self._metadata(STATUS_KEY) if isinstance(value, str)), None)

    @property
    def payment_terms(self) -> Mapping[str, Any] | None:
        """The payment terms: the 402 object of the extension's metadata, else any object with `accepts`."""
        for value in self._metadata(REQUIRED_KEY):
            if isinstance(value, Mapping):
                return value
        objects = (value for _, value in leaves(dict(self.members), depth=_DEPTH) if isinstance(value, Mapping))
        return next((value for value in objects if isinstance(value.get("accepts"), list)), None)

    @property
    def entries(self) -> list[Mapping[str, Any]]:
        """The offered ways to pay: the objects among `accepts`."""
        accepts = (self.payment_terms or {}).get("accepts")
        return [one for one in accepts if isinstance(one, Mapping)] if isinstance(accepts, list) else []

    @property
    def references(self) -> frozenset[str]:
        """The challenge tokens of the offered ways to pay."""
        extras = [entry.get("extra") for entry in self.entries]
        tokens = [extra.get("payment_reference") for extra in extras if isinstance(extra, Mapping)]
        return frozenset(token for token in tokens if isinstance(token, str))

    @property
    def history(self) -> list[Any]:
        """The messages of its history, empty if it has none."""
        history = self.members.get("history")
        return history if isinstance(history, list) else []

    def of_status(self, name: str) -> Any:
        """Return the first value of a metadata key, or None."""
        return next(self._metadata(name), None)

    @property
    def asks_for_payment(self) -> bool:
        """Whether it is in the payment-required state, by either reading (C-18)."""
        # The interface names a literal state `a2a-x402`. The x402 extension uses input-required
        # with metadata. Both readings are honest (C-18).
        if self.state == _STATE:
            return True
        has_metadata = self.payment_status == "payment-required" or any(True for _ in self._metadata(REQUIRED_KEY))
        return self.state in _INPUT_REQUIRED_STATES and has_metadata

    def _metadata(self, name: str) -> Iterator[Any]:
        """Yield the values of a metadata key, of the status message first, then of the task."""
        status = self.members.get("status")
        message = status.get("message") if isinstance(status, Mapping) else None
        # The status message is the newest place. Older metadata of the task may describe an
        # earlier payment.
        for holder in (message, status, self.members):
            metadata = holder.get("metadata") if isinstance(holder, Mapping) else None
            if isinstance(metadata, Mapping) and name in metadata:
                yield metadata[name]

    def describe(self) -> str:
        """Return state and payment status for a reader, or the error."""
        code = json_rpc.error_code(self.answer)
        if not self.members:
            return f"{self.answer.status}, " + (f"error {code}" if code is not None else "no task")
        return f"state {self.state}, payment status {self.payment_status}"


def task_of(answer: Answer) -> Task:
    """Return the task of an answer."""
    return Task(answer, json_rpc.result(answer))


def orders(case: Case, operation: Operation) -> list[list[dict[str, Any]]]:
    """Return the parts of messages that order an operation: the bound form, else all known forms."""
    values = {"service": operation.role, "body": operation.body, "path": operation.path, "url": operation.url}
    template = case.profile.rail_bindings.a2a_request
    if template is not None:
        return [[_data(fill_template(template, values))]]
    # The interface leaves open which parts order a service, so the known forms are tried one after
    # the other.
    path = operation.path
    skill = path.strip("/").replace("/", "-")
    return [
        [_data({"service_id": operation.role, "request": operation.body})],
        [_data({"skill": skill, "request": operation.body})],
        [_data({"path": path, "body": operation.body})],
        [{"kind": "text", "text": f"{path} {json.dumps(operation.body)}"}],
    ]


def _data(value: Any) -> dict[str, Any]:
    return {"kind": "data", "data": value}


def name_message(case: Case) -> str:
    """Return the id of a new message, which has a name in the log: its number depends on the checks around this one."""
    # Long enough to get a name in the log.
    message_id = f"wp-message-{case.session.count()}"
    case.client.names.name(message_id, "MESSAGE_ID")
    return message_id


async def send(
    case: Case,
    parts: list[dict[str, Any]],
    *,
    call_id: object = 1,
    retry: bool = False,
    history_length: int | None = None,
    **further: Any,
) -> Answer:
    """Send a message with these parts.

    `retry` marks a repetition that the target asked for, as in `purchase.present`. `history_length` is the greatest
    number of messages of the history in the answer, None for any.
    """
    params = json_rpc.message(parts, name_message(case), **further)
    params |= {} if history_length is None else {"configuration": {"historyLength": history_length}}
    address, headers = case.session.rail + A2A, _activation(case)
    answer = await json_rpc.call(case, address, "message/send", params, call_id=call_id, headers=headers, retry=retry)
    return name_live_values(case, answer)


async def send_twice_at_most(
    case: Case, parts: list[dict[str, Any]], *, call_id: object = 1, **further: Any
) -> tuple[Answer | None, str]:
    """Send a message as `send` does, and once more if the answer is late.

    Returns:
        The answer, or None without one, and the outcome in words.
    """
    try:
        answer = await send(case, parts, call_id=call_id, **further)
    except LateAnswer:
        try:
            answer = await send(case, parts, call_id=call_id, **further)
        except Unreachable as fault:
            return None, str(fault)
    return answer, f"answered {answer.status}"


def _activation(case: Case) -> dict[str, str]:
    uri = case.profile.rail_bindings.a2a_uri
    return {} if uri is None else {EXTENSIONS: uri}


async def is_extension_activated(case: Case, uri: str) -> bool:
    """Return whether the answer to a call with an extension says that it was activated (A2A 0.3, Extensions)."""
    address, headers = case.session.rail + A2A, {EXTENSIONS: uri}
    answer = await json_rpc.call(case, address, "tasks/get", {"id": "no-such-task"}, headers=headers)
    return uri in (one.strip() for value in answer.headers.getall(EXTENSIONS, []) for one in value.split(","))


async def fetch_task(case: Case, task_id: str, *, call_id: object = 1, history_length: int | None = None) -> Answer:
    """Fetch a task with at most `history_length` messages of its history, None for any number."""
    params = {"id": task_id} | ({} if history_length is None else {"historyLength": history_length})
    return await json_rpc.call(case, case.session.rail + A2A, "tasks/get", params, call_id=call_id)


def name_live_values(case: Case, answer: Answer) -> Answer:
    """Give a task's live values names in the log, and return the answer."""
    task = task_of(answer)
    for name in ("id", "contextId"):
        value = task.members.get(name)
        if isinstance(value, str):
            case.client.names.name(value, f"TASK_{name.upper()}")
    for entry in task.entries:
        extra = entry.get("extra")
        token = extra.get("payment_reference") if isinstance(extra, Mapping) else None
        if isinstance(token, str):
            case.client.names.name(token, "PAYMENT_REFERENCE")
    return answer


async def order_service(case: Case, operation: Operation) -> Task:
    """Order an operation without payment, in each known form until a task asks for payment; return the last task."""
    task = None
    # A form that the rail does not know creates no payment, so trying the forms costs nothing.
    for parts in orders(case, operation):
        task = task_of(await send(case, parts))
        if task.asks_for_payment:
            break
    assert task is not None  # noqa: S101 - there is always one form
    return task


async def pay_task(case: Case, task_id: str, proof: Mapping[str, Any], *, retry: bool = False) -> Task:
    """Pay a task with a proof, the object of `X-PAYMENT`, and return the resulting task."""
    # A2A demands at least one part. The payment is in the metadata.
    parts = [{"kind": "text", "text": "payment"}]
    metadata = {STATUS_KEY: "payment-submitted", PAYLOAD_KEY: dict(proof)}
    return task_of(await send(case, parts, retry=retry, taskId=task_id, metadata=metadata))


async def settle_task(case: Case, task_id: str, proof: Mapping[str, Any]) -> Task:
    """Pay a task, again while it waits for blocks, and return the resulting task."""
    loop = asyncio.get_running_loop()
    ends = loop.time() + case.profile.budgets.confirmation
    task = await pay_task(case, task_id, proof)
    # A task stays in this state until its payment has enough blocks. Each repetition is the
    # same payment.
    while task.payment_status == "payment-submitted" and loop.time() < ends:
        await asyncio.sleep(_AGAIN)
        task = await pay_task(case, task_id, proof, retry=True)
    return task
