"""The agent: its routes (6.1)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from quart import Quart, Response, request
from werkzeug.exceptions import HTTPException

from reference.agent.skills import SKILL_PATHS, Moment
from reference.protocol.a2a_card import ENDPOINT
from reference.web.a2a.json_rpc import JsonRpcServer
from reference.web.clock import WpClock
from reference.web.errors import Refused
from reference.web.http.asgi_envelope import REQUEST_ID, Scope
from reference.web.http.cached_document import Document
from reference.web.http.detail_error_replies import fault_reply, json_reply
from reference.web.http.exchange import read_request
from reference.web.http.json_body import read_json
from reference.web.http.quart_calls import read_current_body, to_document_response, to_response
from reference.web.http.single_task_connection import SingleTaskConnection


def methods_of(documents: Mapping[str, Document]) -> dict[str, frozenset[str]]:
    """Return the methods of each path."""
    reads = dict.fromkeys(documents, frozenset({"GET", "HEAD"}))
    writes = dict.fromkeys((*SKILL_PATHS, ENDPOINT), frozenset({"POST"}))
    return {path: reads.get(path, frozenset()) | writes.get(path, frozenset()) for path in (*reads, *writes)}


def build_app(documents: Mapping[str, Document], rpc: JsonRpcServer, clock: WpClock, *, skew: int) -> Quart:
    """Return the agent's app."""
    app = Quart(__name__, static_folder=None)
    app.asgi_http_class = SingleTaskConnection
    # The envelope limits the time of bodies; nothing here waits for a chain or a database.
    app.config.update(RESPONSE_TIMEOUT=None, BODY_TIMEOUT=None, PROVIDE_AUTOMATIC_OPTIONS=False)
    # Paths are compared literally, so that a filter in front and this app see the same path.
    app.url_map.merge_slashes = False

    async def serve_document() -> Response:
        return to_document_response(documents[request.path])

    async def serve_skill() -> Response:
        body = read_json(await read_current_body())
        return to_response(json_reply(SKILL_PATHS[request.path].call(body, Moment(clock.now(), skew))))

    async def serve_a2a() -> Response:
        return to_response(
            await rpc.answer(read_request(cast("Scope", request.scope), request.path, await read_current_body()))
        )

    for path in documents:
        app.add_url_rule(path, f"GET {path}", serve_document, methods=["GET"], provide_automatic_options=False)
    for path in SKILL_PATHS:
        app.add_url_rule(path, f"POST {path}", serve_skill, methods=["POST"], provide_automatic_options=False)
    app.add_url_rule(ENDPOINT, f"POST {ENDPOINT}", serve_a2a, methods=["POST"], provide_automatic_options=False)
    app.register_error_handler(Exception, _handle_fault)
    return app


async def _handle_fault(fault: Exception) -> Response:
    # The guard in front of the app has refused most of these already.
    if isinstance(fault, HTTPException):
        fault = Refused(fault.code or 500, fault.name.lower().replace(" ", "_"), fault.name)
    return to_response(fault_reply(fault, str(request.scope.get(REQUEST_ID, ""))))
