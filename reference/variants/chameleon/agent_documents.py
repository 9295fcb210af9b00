"""What may differ in the documents of the agent, and in the cards of agent and rail."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from reference.protocol.a2a_card import CARD, ENDPOINT, LEGACY_CARD
from reference.variants.chameleon.rail_documents import loosened
from reference.variants.chameleon.shape import Shape
from reference.variants.chameleon.wire import Answer, walked

OPENAPI = "/openapi.json"
_DEMANDED = (
    *("protocolVersion", "name", "description", "url", "preferredTransport", "version", "capabilities"),
    *("defaultInputModes", "defaultOutputModes", "skills"),
)
_OF_A_SKILL = ("id", "name", "description", "tags")
_SINCE_0_3 = ("protocolVersion", "preferredTransport", "additionalInterfaces", "security", "securitySchemes")


def elsewhere(shape: Shape) -> Callable[[str], str]:
    """Return what tells the service's own path of a path; its own one leads nowhere where the look has another."""
    if shape.agent_openapi_path == OPENAPI:
        return str
    moved = {shape.agent_openapi_path: OPENAPI, OPENAPI: "/nothing-here"}
    return lambda path: moved.get(path, path)


def edit(answer: Answer, shape: Shape) -> None:
    """Give the agent's documents another shape."""
    edits: Mapping[str, Callable[[dict[str, Any], Shape], dict[str, Any]]] = {
        "/": _landing,
        "/health": _health,
        ENDPOINT: _hint,
        shape.agent_openapi_path: _contract,
        CARD: lambda told, look: card(told, look.agent_card),
        LEGACY_CARD: _legacy,
    }
    made = edits.get(answer.asked.path)
    read = answer.status == 200 and answer.asked.method in {"GET", "HEAD"}
    if made is not None and read and isinstance(answer.document, dict):
        answer.document = made(answer.document, shape)


def card(told: dict[str, Any], form: str) -> dict[str, Any]:
    """Return a card in another form: `few` has what A2A 0.3 demands, `more` what it allows beyond."""
    if form == "few":
        skills = [{name: one[name] for name in _OF_A_SKILL} for one in told["skills"]]
        wanted = [one for one in told["capabilities"].get("extensions", []) if one.get("required")]
        kept = {name: told[name] for name in _DEMANDED if name in told}
        return {**kept, "skills": skills, "capabilities": {"extensions": wanted} if wanted else {}}
    if form == "more":
        home = told["url"].removesuffix("/a2a")
        other = {"url": f"{home}/rest", "transport": "HTTP+JSON"}
        return {
            **told,
            "additionalInterfaces": [*told["additionalInterfaces"], other],
            "iconUrl": f"{home}/icon.png",
            "documentationUrl": "https://docs.invalid/",
            "signatures": [{"protected": "e30", "signature": "AA"}],
            "x-region": {"name": "eu", "zones": [1, 2]},
        }
    return told


def _legacy(told: dict[str, Any], shape: Shape) -> dict[str, Any]:
    told = card(told, shape.agent_card)
    if shape.agent_legacy_card == "older":
        kept = {name: value for name, value in told.items() if name not in _SINCE_0_3}
        return {**kept, "authentication": {"schemes": []}}
    return told


def _landing(told: dict[str, Any], shape: Shape) -> dict[str, Any]:
    if shape.agent_landing == "name":
        return {"agent": told["name"]}
    if shape.agent_landing == "operations":
        listed = [{"rel": name, "href": url} for name, url in told["links"].items()]
        told = {"title": told["name"], "operations": listed, "docs": None, "release": told["version"]}
    return dict(walked(told, lambda text: _moved(text, shape)))


def _moved(text: str, shape: Shape) -> str:
    return text.removesuffix(OPENAPI) + shape.agent_openapi_path if text.endswith(OPENAPI) else text


def _health(told: dict[str, Any], shape: Shape) -> dict[str, Any]:
    if shape.agent_health == "empty":
        return {}
    if shape.agent_health == "checks":
        return {
            "healthy": True,
            "checks": [{"name": "entropy", "ok": True}],
            "uptime_s": 12.5,
            "build": told["version"],
        }
    return told


def _hint(told: dict[str, Any], shape: Shape) -> dict[str, Any]:
    if shape.agent_hint == "transport":
        return {"transport": {"protocol": "JSONRPC", "method": "POST", "href": told["url"]}}
    if shape.agent_hint == "sentence":
        return {"message": f"Nothing to read here; send JSON-RPC by post to {told['url']}."}
    return told


# The contract.


def _contract(told: dict[str, Any], shape: Shape) -> dict[str, Any]:
    document = loosened(told)
    moved = {OPENAPI: shape.agent_openapi_path}
    document["paths"] = {moved.get(path, path): _open(item) for path, item in document["paths"].items()}
    if shape.agent_openapi == "bare":
        info = {name: document["info"][name] for name in ("title", "version")}
        return {"openapi": document["openapi"], "info": info, "paths": document["paths"]}
    if shape.agent_openapi == "explicit":
        info = {**document["info"], "license": {"name": "None"}, "contact": {"url": "https://docs.invalid/"}}
        return {**document, "info": info, "security": [], "x-audience": "anyone"}
    return document


def _open(item: dict[str, Any]) -> dict[str, Any]:
    """Return a path item whose request bodies are JSON objects of any members, as the interface has them."""
    for operation in item.values():
        body = operation.get("requestBody") if isinstance(operation, dict) else None
        if isinstance(body, dict):
            schema = {"type": "object", "additionalProperties": True}
            operation["requestBody"] = {"required": True, "content": {"application/json": {"schema": schema}}}
    return item
