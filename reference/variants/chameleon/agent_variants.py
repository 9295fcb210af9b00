"""Installation of the agent's variant around its skills, for HTTP and A2A."""

from __future__ import annotations

import base64
import uuid
from collections.abc import Callable, Mapping
from typing import Any

from reference.agent.skills import Moment, Skill
from reference.protocol.a2a_card import ENDPOINT
from reference.protocol.message_signatures import content_digest, signing
from reference.variants.chameleon import agent_requests, agent_results
from reference.variants.chameleon.answer_rewriter import Answer
from reference.variants.chameleon.variant_shape import Shape
from reference.variants.seams import replace
from reference.web.a2a.json_rpc import Params
from reference.web.a2a.methods import A2aServer
from reference.web.errors import Unprocessable
from reference.web.http.exchange import Request

_UNPARSABLE = frozenset({"malformed_signature_input", "malformed_signature"})
_CALLS = ("/verify/rfc9421", "/verify/rfc9421/explain", "/verify/rfc9421/sign")
# Types of errors as pydantic 1 names them. A target on an older framework answers with these.
_OLD_WORDS = {
    "missing": "value_error.missing",
    "string_type": "type_error.str",
    "dict_type": "type_error.dict",
    "object_type": "type_error.dict",
    "json_invalid": "value_error.jsondecode",
}


def install(shape: Shape) -> None:
    """Install the variant of the skills in the service."""
    replace(Skill, "call", lambda call: _wrap_call(call, shape))
    if shape.agent_a2a != "task":
        replace(A2aServer, "_send", lambda send: _wrap_send(send, shape))
    if shape.sign_parameters == "few":
        replace(signing, "_parameters", lambda made: lambda *given: _Few(_few(made(*given))))
    if shape.sign_digest != "sha-256":
        replace(signing, "_headers_to_sign", lambda made: _with_digest(made, shape))


class _Few(dict[str, Any]):
    """Signature parameters of which the usual ones may be missing."""

    def __getitem__(self, name: str) -> Any:
        """Return the value of a parameter, or None if it is missing."""
        return self.get(name)


def _few(parameters: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in parameters.items() if name not in {"expires", "alg", "keyid"}}


def _with_digest(original: Callable[..., Any], shape: Shape) -> Callable[..., Any]:
    names = ("sha-512",) if shape.sign_digest == "sha-512" else ("sha-512", "sha-256")

    def headers(request: Any, components: Any) -> Any:
        new_headers = original(request, components)
        if request.content and not any("key" in one.parameters for one in components):
            values = [f"{name}=:{content_digest.compute(name, request.content)}:" for name in names]
            new_headers = {**new_headers, "Content-Digest": ", ".join(values)}
        return new_headers

    return headers


def _wrap_call(call: Callable[..., dict[str, Any]], shape: Shape) -> Callable[..., dict[str, Any]]:
    def call_in_variant(self: Skill, body: Any, moment: Moment) -> dict[str, Any]:
        own = agent_requests.own(body, self.id, shape)
        if shape.agent_max_age is not None and self.id != agent_requests.SIGN and isinstance(own, dict):
            own = {"max_age_seconds": shape.agent_max_age, **own}
        result = call(self, own, moment)
        if self.id == agent_requests.SIGN:
            return agent_results.reshape_signed(result, shape)
        # The service has judged the message first, so its faults are the same in both readings of C-08.
        if shape.agent_unparsable == 422 and _UNPARSABLE & set(result["error_codes"]):
            where = agent_requests.translate_place(["body", "headers"], shape)
            raise Unprocessable([{"loc": where, "msg": text, "type": "signature_header"} for text in result["errors"]])
        return agent_results.reshape_verdict(result, shape, base64.b64decode(own.get("body_b64") or ""))

    return call_in_variant


def _wrap_send(send: Callable[..., Any], shape: Shape) -> Callable[..., Any]:
    async def send_in_variant(self: A2aServer, params: Params, request: Request) -> dict[str, Any]:
        task: dict[str, Any] = await send(self, params, request)
        if shape.agent_a2a == "wrapped":
            return {"task": {name: value for name, value in task.items() if name != "kind"}}
        artifacts = task.get("artifacts") or [task["status"].get("message", {})]
        head = {"kind": "message", "role": "agent", "messageId": str(uuid.uuid4())}
        return {**head, "contextId": task["contextId"], "parts": artifacts[0].get("parts", [])}

    return send_in_variant


def edit(answer: Answer, shape: Shape) -> None:
    """Change refusals: the items of a 422, errors of JSON-RPC, and the bodies of all other refusals."""
    document = answer.document
    if not isinstance(document, dict):
        return
    if answer.request.path == ENDPOINT and isinstance(document.get("error"), dict):
        document["error"] = _rpc_error(document["error"], shape)
    elif answer.status < 400:
        return
    elif answer.status == 422 and answer.request.path in _CALLS:
        document["detail"] = _items(document["detail"], shape)
    elif answer.status != 422:
        _refusal(answer, document, shape)


def _items(detail: list[dict[str, Any]], shape: Shape) -> list[dict[str, Any]]:
    items = [{**item, "loc": agent_requests.translate_place(item["loc"], shape)} for item in detail]
    if shape.agent_detail == "old words":
        return [{**item, "type": _OLD_WORDS.get(item["type"], "value_error")} for item in items]
    if shape.agent_detail == "more members":
        more = {"url": "https://errors.invalid/422", "ctx": {"limit": 1}}
        return [{**item, **more, "type": item["type"].upper()} for item in items]
    if shape.agent_detail == "one item":
        return [{"loc": ["body", 0], "msg": "; ".join(item["msg"] for item in items), "type": "invalid"}]
    return items


def _rpc_error(error: dict[str, Any], shape: Shape) -> dict[str, Any]:
    if shape.agent_rpc_errors == "data":
        return {**error, "message": "Error", "data": {"reason": error["message"], "more": error.get("data")}}
    return {"code": error["code"], "message": ""} if shape.agent_rpc_errors == "empty" else error


def _refusal(answer: Answer, document: Mapping[str, Any], shape: Shape) -> None:
    text = str(document.get("detail") or document.get("message"))
    if shape.agent_refusals == "error and message":
        answer.document = {"error": f"http_{answer.status}", "message": text}
    elif shape.agent_refusals == "problem":
        answer.document = {"type": "about:blank", "title": text, "status": answer.status}
        answer.set_header("Content-Type", "application/problem+json")
