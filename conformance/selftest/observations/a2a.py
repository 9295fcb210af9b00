"""Observers of the open points of A2A: the rail's tasks and its card."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from conformance.selftest.observations.observed_exchanges import Exchange, Observer, Wire, join_names
from conformance.surfaces.agent_cards import CARD_MEMBERS
from conformance.surfaces.rail.a2a import A2A, CARD, REQUIRED_KEY, STATUS_KEY

_IDS = {
    "UUID": re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"),
    "prefix": re.compile(r"tsk_[0-9a-f]{32}"),
    "digits": re.compile(r"[0-9]+"),
}
_OF_A_TASK = frozenset({"id", "contextId", "status", "kind"})
_ASKING_STATES = frozenset({"input-required", "a2a-x402"})
_UNKNOWN = "00000000-0000-4000-8000-000000000000"


def list_calls(wire: Wire, surface: str) -> Iterator[Exchange]:
    """Yield the JSON-RPC calls of a surface that were answered with an envelope."""
    return (
        exchange
        for exchange in wire.of(surface)
        if exchange.path == A2A and exchange.method == "POST" and "jsonrpc" in exchange.object
    )


def read_result(exchange: Exchange) -> dict[str, Any]:
    """Return the result of a call; empty if it is an error."""
    result = exchange.object.get("result")
    return result if isinstance(result, dict) else {}


def read_task(exchange: Exchange) -> dict[str, Any]:
    """Return the task of an answer, which is the result or a member of it; empty without a task."""
    result = read_result(exchange)
    inner = result.get("task")
    # A2A allows both: `result` is the task, or has a member `task`.
    task = inner if isinstance(inner, dict) else result
    return task if isinstance(task.get("status"), dict) else {}


def _list_asking_tasks(wire: Wire) -> Iterator[dict[str, Any]]:
    for exchange in list_calls(wire, "rail"):
        task = read_task(exchange)
        if task and task["status"].get("state") in _ASKING_STATES:
            yield task


def _metadata(holder: Any) -> dict[str, Any]:
    result = holder.get("metadata") if isinstance(holder, dict) else None
    return result if isinstance(result, dict) else {}


def _order(wire: Wire) -> Iterator[str]:
    """Yield the contents of messages whose answer was a task that asks for payment."""
    for exchange in list_calls(wire, "rail"):
        params = exchange.request_body.get("params")
        message = params.get("message") if isinstance(params, dict) else None
        if not isinstance(message, dict) or "metadata" in message or not read_task(exchange):
            continue
        for part in message.get("parts", ()):
            yield join_names(part["data"]) if isinstance(part.get("data"), dict) else "text"


def _state(wire: Wire) -> Iterator[str]:
    for task in _list_asking_tasks(wire):
        members = STATUS_KEY in _metadata(task["status"].get("message")) or STATUS_KEY in _metadata(task)
        yield f"{task['status']['state']}, {'with' if members else 'without'} metadata"


def _terms(wire: Wire) -> Iterator[str]:
    for task in _list_asking_tasks(wire):
        holders = {"the message's": task["status"].get("message"), "the task's": task}
        for name, holder in holders.items():
            if members := {STATUS_KEY, REQUIRED_KEY} & _metadata(holder).keys():
                yield f"{name}{'' if STATUS_KEY in members else ', without a status'}"


def _members(wire: Wire) -> Iterator[str]:
    for task in _list_asking_tasks(wire):
        yield (
            join_names([*(task.keys() - _OF_A_TASK - {"metadata"}), *(task["status"].keys() & {"timestamp"})]) or "none"
        )


def _place(wire: Wire) -> Iterator[str]:
    for exchange in list_calls(wire, "rail"):
        if read_task(exchange):
            yield "result.task" if "task" in read_result(exchange) else "result"


def _ids(wire: Wire) -> Iterator[str]:
    """Yield the forms of task ids."""
    for task in _list_asking_tasks(wire):
        text = str(task.get("id"))
        yield next((name for name, form in _IDS.items() if form.fullmatch(text)), text)


def _errors(wire: Wire) -> Iterator[str]:
    for exchange in list_calls(wire, "rail"):
        params, error = exchange.request_body.get("params"), exchange.object.get("error")
        # The check asks for this id, which no task has, so that the error has one known reason.
        if isinstance(params, dict) and params.get("id") == _UNKNOWN and isinstance(error, dict):
            yield f"{error.get('code')}{' and data' if 'data' in error else ''}"


def _cards(wire: Wire) -> Iterator[dict[str, Any]]:
    return (exchange.object for exchange in wire.documents("rail", CARD))


def _extension(wire: Wire) -> Iterator[str]:
    """Yield the activated URI, and the extensions of the card."""
    for exchange in list_calls(wire, "rail"):
        if (uri := exchange.headers.get("x-a2a-extensions")) is not None:
            yield f"{uri.rpartition('/')[2]} is activated"
    for card in _cards(wire):
        for members in card.get("capabilities", {}).get("extensions", ()):
            yield f"{str(members.get('uri')).rpartition('/')[2]}{', required' if members.get('required') else ''}"


def list_further_members(card: Mapping[str, Any]) -> str:
    """Return the members of a card that A2A does not demand."""
    return join_names(card.keys() - {*CARD_MEMBERS, "preferredTransport"}) or "none"


def _card(wire: Wire) -> Iterator[str]:
    return (list_further_members(card) for card in _cards(wire))


OBSERVERS: Mapping[str, Observer] = {
    "rail.a2a-order": _order,
    "rail.a2a-state": _state,
    "rail.a2a-terms": _terms,
    "rail.a2a-task": _members,
    "rail.a2a-result": _place,
    "rail.a2a-ids": _ids,
    "rail.a2a-errors": _errors,
    "rail.a2a-extension": _extension,
    "rail.card": _card,
}
