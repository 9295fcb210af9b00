"""Variants of the agent's documents, and of the cards of agent and rail."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from reference.protocol.a2a_card import CARD, ENDPOINT, LEGACY_CARD
from reference.variants.chameleon.answer_rewriter import Answer, change_texts
from reference.variants.chameleon.rail_documents import loosen_contract
from reference.variants.chameleon.variant_shape import Shape

OPENAPI = "/openapi.json"
# The members that A2A 0.3 requires of a card and of a skill. `few` shows these alone.
_REQUIRED_MEMBERS = (
    *("protocolVersion", "name", "description", "url", "preferredTransport", "version", "capabilities"),
    *("defaultInputModes", "defaultOutputModes", "skills"),
)
_OF_A_SKILL = ("id", "name", "description", "tags")
_SINCE_0_3 = ("protocolVersion", "preferredTransport", "additionalInterfaces", "security", "securitySchemes")


def elsewhere(shape: Shape) -> Callable[[str], str]:
    """Return a function from the variant's path to the service's path."""
    if shape.agent_openapi_path == OPENAPI:
        return str
    # The service's usual path answers 404 if the variant has another one. A suite that guesses it must fail.
    own_paths = {shape.agent_openapi_path: OPENAPI, OPENAPI: "/nothing-here"}
    return lambda path: own_paths.get(path, path)


def edit(answer: Answer, shape: Shape) -> None:
    """Change the agent's documents."""
    edits: Mapping[str, Callable[[dict[str, Any], Shape], dict[str, Any]]] = {
        "/": _landing_document,
        "/health": _health,
        ENDPOINT: _hint,
        shape.agent_openapi_path: _contract,
        CARD: lambda told, look: card(told, look.agent_card),
        LEGACY_CARD: _legacy,
    }
    change = edits.get(answer.request.path)
    read = answer.status == 200 and answer.request.method in {"GET", "HEAD"}
    if change is not None and read and isinstance(answer.document, dict):
        answer.document = change(answer.document, shape)


def card(document: dict[str, Any], form: str) -> dict[str, Any]:
    """Return a card in another form: `few` has what A2A 0.3 requires, `more` what it also allows."""
    if form == "few":
        skills = [{name: one[name] for name in _OF_A_SKILL} for one in document["skills"]]
        required_extensions = [one for one in document["capabilities"].get("extensions", []) if one.get("required")]
        required_members = {name: document[name] for name in _REQUIRED_MEMBERS if name in document}
        return {
            **required_members,
            "skills": skills,
            "capabilities": {"extensions": required_extensions} if required_extensions else {},
        }
    if form == "more":
        home = document["url"].removesuffix("/a2a")
        other_interface = {"url": f"{home}/rest", "transport": "HTTP+JSON"}
        return {
            **document,
            "additionalInterfaces": [*document["additionalInterfaces"], other_interface],
            "iconUrl": f"{home}/icon.png",
            "documentationUrl": "https://docs.invalid/",
            "signatures": [{"protected": "e30", "signature": "AA"}],
            "x-region": {"name": "eu", "zones": [1, 2]},
        }
    return document


def _legacy(document: dict[str, Any], shape: Shape) -> dict[str, Any]:
    document = card(document, shape.agent_card)
    if shape.agent_legacy_card == "older":
        older_members = {name: value for name, value in document.items() if name not in _SINCE_0_3}
        return {**older_members, "authentication": {"schemes": []}}
    return document


def _landing_document(document: dict[str, Any], shape: Shape) -> dict[str, Any]:
    if shape.agent_landing == "name":
        return {"agent": document["name"]}
    if shape.agent_landing == "operations":
        operations = [{"rel": name, "href": url} for name, url in document["links"].items()]
        document = {"title": document["name"], "operations": operations, "docs": None, "release": document["version"]}
    return dict(change_texts(document, lambda text: _replace_openapi_path(text, shape)))


def _replace_openapi_path(text: str, shape: Shape) -> str:
    return text.removesuffix(OPENAPI) + shape.agent_openapi_path if text.endswith(OPENAPI) else text


def _health(document: dict[str, Any], shape: Shape) -> dict[str, Any]:
    if shape.agent_health == "empty":
        return {}
    if shape.agent_health == "checks":
        return {
            "healthy": True,
            "checks": [{"name": "entropy", "ok": True}],
            "uptime_s": 12.5,
            "build": document["version"],
        }
    return document


def _hint(document: dict[str, Any], shape: Shape) -> dict[str, Any]:
    if shape.agent_hint == "transport":
        return {"transport": {"protocol": "JSONRPC", "method": "POST", "href": document["url"]}}
    if shape.agent_hint == "sentence":
        return {"message": f"Nothing to read here; send JSON-RPC by post to {document['url']}."}
    return document


# The OpenAPI document.


def _contract(contract: dict[str, Any], shape: Shape) -> dict[str, Any]:
    document = loosen_contract(contract)
    new_paths = {OPENAPI: shape.agent_openapi_path}
    document["paths"] = {new_paths.get(path, path): _open(item) for path, item in document["paths"].items()}
    if shape.agent_openapi == "bare":
        info = {name: document["info"][name] for name in ("title", "version")}
        return {"openapi": document["openapi"], "info": info, "paths": document["paths"]}
    if shape.agent_openapi == "explicit":
        info = {**document["info"], "license": {"name": "None"}, "contact": {"url": "https://docs.invalid/"}}
        return {**document, "info": info, "security": [], "x-audience": "anyone"}
    return document


def _open(item: dict[str, Any]) -> dict[str, Any]:
    """Return a path item whose request bodies are JSON objects with any members, as in the interface."""
    for operation in item.values():
        body = operation.get("requestBody") if isinstance(operation, dict) else None
        if isinstance(body, dict):
            schema = {"type": "object", "additionalProperties": True}
            operation["requestBody"] = {"required": True, "content": {"application/json": {"schema": schema}}}
    return item
