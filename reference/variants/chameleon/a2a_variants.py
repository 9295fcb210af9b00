"""Variants of the rail's A2A: the form and id of a task, the order of a service, and errors."""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Mapping
from typing import Any

from reference.protocol import a2a_x402
from reference.protocol.a2a import ErrorCode, data_part
from reference.protocol.a2a_card import CARD, ENDPOINT, LEGACY_CARD
from reference.protocol.canonical_json import NotJson, canonicalise, parse
from reference.rail.paid_endpoint import PaidEndpoint
from reference.rail.services import Service
from reference.variants.chameleon import agent_documents, rail_challenge
from reference.variants.chameleon.answer_rewriter import CURRENT_REQUEST, Answer, ReceivedRequest
from reference.variants.chameleon.variant_shape import Shape
from reference.variants.seams import replace
from reference.web.a2a.json_rpc import Params, RpcError, build_invalid_params
from reference.web.a2a.methods import A2aServer
from reference.web.http.exchange import Request

_ASKS = frozenset({a2a_x402.STATUS, a2a_x402.REQUIRED, a2a_x402.RECEIPTS, a2a_x402.ERROR})


def install(shape: Shape) -> None:
    """Install the variant of tasks in the rail."""
    replace(A2aServer, "_send", lambda send: _wrap_send(send, shape))
    replace(A2aServer, "_get", lambda get: _wrap_with_id(get, shape))
    replace(A2aServer, "_cancel", lambda cancel: _wrap_with_id(cancel, shape))
    replace(PaidEndpoint, "redeem", _wrap_redeem)


def _wrap_redeem(redeem: Callable[..., Any]) -> Callable[..., Any]:
    """Return `redeem` for a task: its receipt is about the equal REST call."""

    async def redeem_order(self: PaidEndpoint, service: Service, proofs: Any, order: Callable[[], Any]) -> Any:
        if CURRENT_REQUEST.get().path == ENDPOINT:
            # A receipt over A2A uses the values of the equal REST call (P-RH-01). The variant's own recipes read
            # the current request, so that request is replaced.
            CURRENT_REQUEST.set(ReceivedRequest("POST", service.path, "", [canonicalise(order().body)]))
        return await redeem(self, service, proofs, order)

    return redeem_order


def _wrap_send(send: Callable[..., Any], shape: Shape) -> Callable[..., Any]:
    async def send_reshaped(self: A2aServer, params: Params, request: Request) -> dict[str, Any]:
        if shape.a2a_demands_extension and not _is_activated(request):
            raise RpcError(ErrorCode.INVALID_REQUEST, f"activate the extension {_uri()} by X-A2A-Extensions")
        message = params.get("message")
        if isinstance(message, dict):
            params = {**params, "message": _own_message(message, shape)}
        return _reshape_task(await send(self, params, request), shape)

    return send_reshaped


def _wrap_with_id(method: Callable[..., Any], shape: Shape) -> Callable[..., Any]:
    async def call_with_own_id(self: A2aServer, params: Params, request: Request) -> dict[str, Any]:
        if isinstance(params.get("id"), str):
            params = {**params, "id": own_id(params["id"], shape.a2a_ids)}
        return _reshape_task(await method(self, params, request), shape)

    return call_with_own_id


def _uri() -> str:
    return os.environ.get("WP_A2A_X402_URI") or a2a_x402.URI


def _is_activated(request: Request) -> bool:
    extensions = [one.strip() for value in request.headers.get("x-a2a-extensions", ()) for one in value.split(",")]
    return _uri() in extensions


def reshaped_id(own: str, form: str) -> str:
    """Return a task's id in another form; `own_id` is its inverse."""
    number = uuid.UUID(own).int
    if form == "digits":
        return str(number)
    return f"tsk_{number:032x}" if form == "prefixed" else own


def own_id(shown_id: str, form: str) -> str:
    """Return the rail's form of a task's id; an id in another form is returned as one that no task has."""
    try:
        own = str(uuid.UUID(hex=shown_id.removeprefix("tsk_")) if form == "prefixed" else uuid.UUID(int=int(shown_id)))
    except ValueError:
        own = ""
    if form == "uuid":
        return shown_id
    return own if own and reshaped_id(own, form) == shown_id else "none"


def _own_message(message: dict[str, Any], shape: Shape) -> dict[str, Any]:
    if isinstance(message.get("taskId"), str):
        message = {**message, "taskId": own_id(message["taskId"], shape.a2a_ids)}
    metadata = message.get("metadata")
    pays = isinstance(metadata, dict) and bool({a2a_x402.STATUS, a2a_x402.PAYLOAD} & metadata.keys())
    parts = message.get("parts")
    if pays or shape.a2a_order == "service_id" or not isinstance(parts, list):
        return message
    for part in parts:
        order = _read_order(part, shape) if isinstance(part, dict) else None
        if order is not None:
            return {**message, "parts": [data_part(order)]}
    raise build_invalid_params("message", "no part of the message orders a service", "order")


def skill_of(path: str) -> str:
    """Return the id of the skill for a paid operation, by its path."""
    return path.strip("/").replace("/", "-")


def _read_order(part: dict[str, Any], shape: Shape) -> dict[str, Any] | None:
    """Return the order in a part, in the rail's form, or None if it orders nothing."""
    roles = {path: role for role, path in shape.paths.items()}
    by_skill = {skill_of(path): role for path, role in roles.items()}
    data = part.get("data") if part.get("kind") == "data" else None
    order: Mapping[str, Any] = data if isinstance(data, dict) else {}
    role: str | None = None
    request: Any = None
    if shape.a2a_order == "skill":
        role, request = by_skill.get(str(order.get("skill"))), order.get("request")
    elif shape.a2a_order == "path":
        role, request = roles.get(str(order.get("path"))), order.get("body")
    elif shape.a2a_order == "text" and part.get("kind") == "text":
        path, _, text = str(part.get("text")).partition(" ")
        role, request = roles.get(path), _read(text)
    elif shape.a2a_order == "own words" and isinstance(order.get("order"), dict):
        role = next((one for one in shape.paths if one == order["order"].get("what")), None)
        request = order["order"].get("with")
    return None if role is None else {"service_id": role, "request": request}


def _read(text: str) -> Any:
    try:
        return parse(text.encode())
    except (NotJson, UnicodeEncodeError):
        return None


def _reshape_task(task: dict[str, Any], shape: Shape) -> dict[str, Any]:
    """Return a task in the form of the variant."""
    task = {**task, "id": reshaped_id(task["id"], shape.a2a_ids), "status": dict(task["status"])}
    status = task["status"]
    if "message" in status:
        status["message"] = _message(status["message"], task["id"], shape)
    if shape.a2a_terms == "task" and "message" in status:
        metadata = dict(status["message"].pop("metadata", {}))
        task["metadata"] = {**task.get("metadata", {}), **metadata}
    # C-18: "named a2a-x402" can mean a literal state, or A2A's state with the word in the metadata. Both readings
    # are served.
    if shape.a2a_state != "input-required" and status["state"] == "input-required":
        status["state"] = a2a_x402.PAYMENT_STATE
    task = _members(task, shape)
    if shape.a2a_result == "wrapped":
        return {"task": {name: value for name, value in task.items() if name != "kind"}}
    return task


def _message(message: Mapping[str, Any], task_id: str, shape: Shape) -> dict[str, Any]:
    """Return a status message: its challenge as by REST, and its terms in a part if the variant has no metadata."""
    new_message = {**message, "taskId": task_id}
    metadata = dict(new_message.get("metadata", {}))
    challenge = metadata.get(a2a_x402.REQUIRED)
    if isinstance(challenge, dict):
        metadata[a2a_x402.REQUIRED] = rail_challenge.reshaped_challenge(challenge, shape)
    if shape.a2a_state == "literal, terms in a part" and metadata.get(a2a_x402.STATUS) == a2a_x402.Status.REQUIRED:
        new_message["parts"] = [*new_message["parts"], data_part(metadata[a2a_x402.REQUIRED])]
        metadata = {name: value for name, value in metadata.items() if name not in _ASKS}
        new_message.pop("extensions", None)
    if shape.a2a_terms == "no status" and metadata.get(a2a_x402.STATUS) == a2a_x402.Status.REQUIRED:
        del metadata[a2a_x402.STATUS]
    new_message.pop("metadata", None)
    return {**new_message, "metadata": metadata} if metadata else new_message


def _members(task: dict[str, Any], shape: Shape) -> dict[str, Any]:
    status = task["status"]
    if shape.a2a_task == "few" or shape.a2a_order != "service_id":
        # A history would show orders in the rail's form, which a client of this variant never sends.
        task.pop("history", None)
    else:
        task["history"] = [{**one, "taskId": task["id"]} for one in task.get("history", ())]
    if shape.a2a_task == "few":
        status.pop("timestamp", None)
        other_metadata = {name: value for name, value in task.get("metadata", {}).items() if name != "payment_state"}
        task.pop("metadata", None)
        return {**task, **({"metadata": other_metadata} if other_metadata else {})}
    if shape.a2a_task == "more":
        more = {"lane_count": 3, "links": [{"rel": "terms", "href": "https://docs.invalid/"}]}
        task["metadata"] = {**task.get("metadata", {}), **more}
        task["artifacts"] = task.get("artifacts", [])
        return {**task, "createdAt": "2026-01-01T00:00:00Z", "name": "paid call"}
    return task


def edit(answer: Answer, shape: Shape) -> None:
    """Change the rail's JSON-RPC errors and its card."""
    document = answer.document
    if not isinstance(document, dict) or answer.status != 200:
        return
    if answer.request.path == ENDPOINT and isinstance(document.get("error"), dict):
        document["error"] = _error(document["error"], shape.a2a_errors)
    elif answer.request.path in {CARD, LEGACY_CARD}:
        answer.document = agent_documents.card(_orders(document, shape), shape.rail_card)


def _orders(card: dict[str, Any], shape: Shape) -> dict[str, Any]:
    """Return a card that says how to order from this variant, and whether the extension must be activated."""
    if shape.a2a_demands_extension:
        for extension in card["capabilities"]["extensions"]:
            extension["required"] = True
    if shape.a2a_order != "service_id":
        for skill, path in zip(card["skills"], shape.paths.values(), strict=True):
            skill.pop("examples", None)
            skill |= {"id": skill_of(path), "description": f"The paid call of {path}."}
    return card


def _error(error: dict[str, Any], form: str) -> dict[str, Any]:
    unknown = error.get("code") == ErrorCode.TASK_NOT_FOUND
    # The interface says only that an unknown task should be a JSON-RPC error, and not which one.
    if form == "-32602 and data" and unknown:
        return {"code": int(ErrorCode.INVALID_PARAMS), "message": "Invalid params", "data": {"reason": "no such task"}}
    if form == "-32000":
        code = -32000 if unknown else error["code"]
        return {"code": code, "message": "", "data": [{"@type": "error", "reason": error["message"]}]}
    return error
