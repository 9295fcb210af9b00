"""Mutants of what the agent publishes and of its transport (6.1, 6.6)."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Mapping
from typing import Any

import orjson

from reference.agent import runtime
from reference.protocol.a2a import ErrorCode
from reference.protocol.a2a_card import CARD, LEGACY_CARD
from reference.variants.mutants.agent_verdicts import SIGN, agent_mutant
from reference.variants.seams import replace
from reference.web import framing, http1
from reference.web.document import Document
from reference.web.envelope import Envelope, Receive, Scope, Send
from reference.web.errors import Refused
from reference.web.exchange import Reply, Request
from reference.web.json_rpc import JsonRpcServer
from reference.web.request_guard import RequestGuard

_NO_VERSION = {"protocolVersion": None}


def _document(path: str, change: Callable[[dict[str, Any]], Any]) -> Callable[[], None]:
    """Return what changes one published document; None takes it away."""

    def apply() -> None:
        def changed(make: Callable[..., Mapping[str, Document]]) -> Callable[..., Mapping[str, Document]]:
            def made(settings: Any) -> Mapping[str, Document]:
                documents = dict(make(settings))
                body = change(orjson.loads(documents[path].body))
                if body is None:
                    del documents[path]
                else:
                    documents[path] = Document(body if isinstance(body, bytes) else orjson.dumps(body))
                return documents

            return made

        replace(runtime, "documents", changed)

    return apply


def _less(name: str) -> Callable[[dict[str, Any]], dict[str, Any]]:
    return lambda document: {key: value for key, value in document.items() if key != name}


def _secured(document: dict[str, Any]) -> dict[str, Any]:
    scheme = {"type": "http", "scheme": "bearer"}
    parts = {**document.get("components", {}), "securitySchemes": {"key": scheme}}
    return {**document, "components": parts, "security": [{"key": []}]}


def _one_secured(document: dict[str, Any]) -> dict[str, Any]:
    found = _secured(document)
    del found["security"]
    found["paths"][SIGN]["post"]["security"] = [{"key": []}]
    return found


def _without_hint_operation(document: dict[str, Any]) -> dict[str, Any]:
    del document["paths"]["/a2a"]["get"]
    return document


def _version(version: str) -> Callable[[dict[str, Any]], dict[str, Any]]:
    return lambda document: {**document, "info": {**document["info"], "version": version}}


# --- the transport


def _credential_wanted() -> None:
    def guarded(charge: Callable[..., None]) -> Callable[..., None]:
        def charged(self: Any, scope: Any) -> None:
            charge(self, scope)
            named = {name for name, _ in scope["headers"]}
            if scope["path"] == SIGN and b"authorization" not in named:
                raise Refused(401, "unauthorized", "a credential is needed")

        return charged

    replace(RequestGuard, "_charge", guarded)


def _wrong_credential_refused() -> None:
    def guarded(charge: Callable[..., None]) -> Callable[..., None]:
        def charged(self: Any, scope: Any) -> None:
            charge(self, scope)
            if any(name == b"authorization" and value.startswith(b"Bearer") for name, value in scope["headers"]):
                raise Refused(403, "forbidden", "this credential is not known")

        return charged

    replace(RequestGuard, "_charge", guarded)


def _rpc(change: Callable[[Request, Reply, dict[str, Any]], Reply | None]) -> Callable[[], None]:
    """Return what changes answers of the transport; None leaves one as it is."""

    def changed(answer: Callable[..., Any]) -> Callable[..., Any]:
        async def answered(self: JsonRpcServer, request: Request) -> Reply:
            reply: Reply = await answer(self, request)
            return change(request, reply, orjson.loads(reply.body)) or reply

        return answered

    return lambda: replace(JsonRpcServer, "answer", changed)


def _error_is_400(_: Request, reply: Reply, body: dict[str, Any]) -> Reply | None:
    return dataclasses.replace(reply, status=400) if "error" in body else None


def _parse_error_is_invalid(_: Request, reply: Reply, body: dict[str, Any]) -> Reply:
    error = body.get("error", {})
    told = {**error, "code": ErrorCode.INVALID_REQUEST} if error.get("code") == ErrorCode.PARSE_ERROR else error
    return dataclasses.replace(reply, body=orjson.dumps({**body, "error": told} if error else body))


def _id_as_text(_: Request, reply: Reply, body: dict[str, Any]) -> Reply:
    return dataclasses.replace(reply, body=orjson.dumps({**body, "id": str(body["id"])}))


def _no_version(_: Request, reply: Reply, body: dict[str, Any]) -> Reply:
    return dataclasses.replace(reply, body=orjson.dumps(_less("jsonrpc")(body)))


def _wordless(_: Request, reply: Reply, body: dict[str, Any]) -> Reply | None:
    error = body.get("error", {})
    if error.get("code") != ErrorCode.PUSH_NOTIFICATION_NOT_SUPPORTED:
        return None
    return dataclasses.replace(reply, body=orjson.dumps({**body, "error": {**error, "message": None}}))


def _bare_result(_: Request, reply: Reply, body: dict[str, Any]) -> Reply | None:
    return dataclasses.replace(reply, body=orjson.dumps(body["result"])) if "result" in body else None


def _websocket_unhandled() -> None:
    """Let a handshake reach an app that has no answer to it."""
    replace(http1, "install", lambda _: lambda: None)

    def unhandled(serve: Callable[..., Any]) -> Callable[..., Any]:
        async def served(self: Envelope, scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] == "websocket":
                raise RuntimeError("not within a request")
            await serve(self, scope, receive, send)

        return served

    replace(Envelope, "__call__", unhandled)


def _hosts_unread() -> None:
    setattr(framing, "_HOST", re.compile(rb".*"))  # noqa: B010 - a rule that is dropped


MUTANTS = (
    agent_mutant("landing-page", "the landing document is JSON (6.1)", _document("/", lambda _: b"<html>hello</html>")),
    agent_mutant("credential-wanted", "no operation wants a credential (6.1)", _credential_wanted),
    agent_mutant("credential-judged", "no operation wants a credential (6.1)", _wrong_credential_refused),
    agent_mutant("card-nameless", "the card is a card (P-RA-01)", _document(CARD, _less("name"))),
    agent_mutant(
        "card-version-null", "the card is one of A2A 0.3 (P-RA-01)", _document(CARD, lambda one: {**one, **_NO_VERSION})
    ),
    agent_mutant("card-legacy-gone", "both card paths answer (6.6)", _document(LEGACY_CARD, lambda _: None)),
    agent_mutant(
        "card-other-name", "both cards are the same (6.6)", _document(LEGACY_CARD, lambda one: {**one, "name": "A"})
    ),
    agent_mutant("hint-gone", "GET /a2a is a hint (6.1)", _document("/a2a", lambda _: None)),
    agent_mutant("hint-silent", "GET /a2a points to POST (6.1)", _document("/a2a", lambda one: {"card": one["card"]})),
    agent_mutant("rpc-error-400", "every JSON-RPC answer is 200 (P-RA-04)", _rpc(_error_is_400)),
    agent_mutant("rpc-id-text", "the id is echoed (P-RA-04)", _rpc(_id_as_text)),
    agent_mutant("rpc-parse-as-invalid", "no JSON is -32700 (P-CV-13)", _rpc(_parse_error_is_invalid)),
    agent_mutant("rpc-no-version", "answers are JSON-RPC 2.0 (P-RA-04)", _rpc(_no_version)),
    agent_mutant("rpc-error-wordless", "every error has a message (P-RA-03, P-RA-04)", _rpc(_wordless)),
    agent_mutant("rpc-bare-result", "answers are envelopes (P-RA-04)", _rpc(_bare_result)),
    agent_mutant(
        "openapi-3-0", "OpenAPI is 3.1.0 (6.1)", _document("/openapi.json", lambda one: {**one, "openapi": "3.0.3"})
    ),
    agent_mutant("openapi-version", "info.version is 0.1.0 (6.1)", _document("/openapi.json", _version("1.0.0"))),
    agent_mutant("openapi-secured", "no security in OpenAPI (6.1)", _document("/openapi.json", _secured)),
    agent_mutant("openapi-one-secured", "no security in OpenAPI (6.1)", _document("/openapi.json", _one_secured)),
    agent_mutant(
        "websocket-unhandled", "no handshake of a WebSocket is a fault of ours (RFC 9110, 7.8)", _websocket_unhandled
    ),
    agent_mutant("host-unread", "a Host is a host, before anything is routed by it (RFC 9112, 3.2)", _hosts_unread),
    agent_mutant("openapi-short", "OpenAPI has all nine (6.1)", _document("/openapi.json", _without_hint_operation)),
)
