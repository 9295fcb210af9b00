"""What runs show of A2A: the rail's tasks and its card."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from conformance.selftest.seen.wire import Exchange, Observer, Wire, names
from conformance.surfaces.agent_cards import CARD_MEMBERS
from conformance.surfaces.rail.a2a import A2A, CARD, REQUIRED_KEY, STATUS_KEY

_IDS = {
    "UUID": re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"),
    "prefix": re.compile(r"tsk_[0-9a-f]{32}"),
    "digits": re.compile(r"[0-9]+"),
}
_OF_A_TASK = frozenset({"id", "contextId", "status", "kind"})
_ASKING = frozenset({"input-required", "a2a-x402"})
_UNKNOWN = "00000000-0000-4000-8000-000000000000"


def calls(wire: Wire, surface: str) -> Iterator[Exchange]:
    """Yield the JSON-RPC calls of a surface that were answered with an envelope."""
    return (one for one in wire.of(surface) if one.path == A2A and one.method == "POST" and "jsonrpc" in one.object)


def result_of(one: Exchange) -> dict[str, Any]:
    """Return the result of a call, empty where it is an error."""
    found = one.object.get("result")
    return found if isinstance(found, dict) else {}


def task_in(one: Exchange) -> dict[str, Any]:
    """Return the task of an answer, as the result or in a member of it; empty where there is none."""
    found = result_of(one)
    inner = found.get("task")
    task = inner if isinstance(inner, dict) else found
    return task if isinstance(task.get("status"), dict) else {}


def _asking(wire: Wire) -> Iterator[dict[str, Any]]:
    for one in calls(wire, "rail"):
        task = task_in(one)
        if task and task["status"].get("state") in _ASKING:
            yield task


def _metadata(holder: Any) -> dict[str, Any]:
    found = holder.get("metadata") if isinstance(holder, dict) else None
    return found if isinstance(found, dict) else {}


def _order(wire: Wire) -> Iterator[str]:
    """Yield what stood in the messages that were answered with a task that asks for payment."""
    for one in calls(wire, "rail"):
        params = one.sent.get("params")
        message = params.get("message") if isinstance(params, dict) else None
        if not isinstance(message, dict) or "metadata" in message or not task_in(one):
            continue
        for part in message.get("parts", ()):
            yield names(part["data"]) if isinstance(part.get("data"), dict) else "text"


def _state(wire: Wire) -> Iterator[str]:
    for task in _asking(wire):
        told = STATUS_KEY in _metadata(task["status"].get("message")) or STATUS_KEY in _metadata(task)
        yield f"{task['status']['state']}, {'with' if told else 'without'} metadata"


def _terms(wire: Wire) -> Iterator[str]:
    for task in _asking(wire):
        holders = {"the message's": task["status"].get("message"), "the task's": task}
        for name, holder in holders.items():
            if told := {STATUS_KEY, REQUIRED_KEY} & _metadata(holder).keys():
                yield f"{name}{'' if STATUS_KEY in told else ', without a status'}"


def _members(wire: Wire) -> Iterator[str]:
    for task in _asking(wire):
        yield names([*(task.keys() - _OF_A_TASK - {"metadata"}), *(task["status"].keys() & {"timestamp"})]) or "none"


def _place(wire: Wire) -> Iterator[str]:
    for one in calls(wire, "rail"):
        if task_in(one):
            yield "result.task" if "task" in result_of(one) else "result"


def _ids(wire: Wire) -> Iterator[str]:
    """Yield the forms of ids; where a run names the live ones, by what the names stand for in other places."""
    for task in _asking(wire):
        text = str(task.get("id"))
        yield next((name for name, form in _IDS.items() if form.fullmatch(text)), text)


def _errors(wire: Wire) -> Iterator[str]:
    for one in calls(wire, "rail"):
        params, error = one.sent.get("params"), one.object.get("error")
        if isinstance(params, dict) and params.get("id") == _UNKNOWN and isinstance(error, dict):
            yield f"{error.get('code')}{' and data' if 'data' in error else ''}"


def _cards(wire: Wire) -> Iterator[dict[str, Any]]:
    return (one.object for one in wire.documents("rail", CARD))


def _extension(wire: Wire) -> Iterator[str]:
    """Yield the URI that was activated, and what the card tells of extensions."""
    for one in calls(wire, "rail"):
        if (uri := one.headers.get("x-a2a-extensions")) is not None:
            yield f"{uri.rpartition('/')[2]} is activated"
    for card in _cards(wire):
        for told in card.get("capabilities", {}).get("extensions", ()):
            yield f"{str(told.get('uri')).rpartition('/')[2]}{', required' if told.get('required') else ''}"


def beyond(card: Mapping[str, Any]) -> str:
    """Return the members of a card beyond those that A2A demands."""
    return names(card.keys() - {*CARD_MEMBERS, "preferredTransport"}) or "none"


def _card(wire: Wire) -> Iterator[str]:
    return (beyond(card) for card in _cards(wire))


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
