"""The app around an addon's operations."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import cast

from quart import Quart, Response, request
from werkzeug.exceptions import HTTPException

from reference.addons.kit.handler_context import Call, Handler
from reference.web.errors import Refused
from reference.web.http.asgi_envelope import REQUEST_ID, Scope
from reference.web.http.cached_document import Document
from reference.web.http.detail_error_replies import fault_reply, json_reply
from reference.web.http.exchange import Reply, read_request
from reference.web.http.quart_calls import read_current_body, to_response
from reference.web.http.single_task_connection import SingleTaskConnection


def methods_of(routes: Mapping[str, object]) -> dict[str, frozenset[str]]:
    """Return the methods of each path; HEAD goes with GET (P-CV-10).

    Args:
        routes: Keys are a method and a path, like `POST /v1/verify`.
    """
    methods: dict[str, frozenset[str]] = {}
    for route in routes:
        method, path = route.split(" ")
        # P-CV-10: every GET answers HEAD, too; the envelope removes the body.
        names = {method, "HEAD"} if method == "GET" else {method}
        # Several operations may share a path with different methods.
        methods[path] = methods.get(path, frozenset()) | names
    return methods


def build_app(operations: Mapping[str, Handler]) -> Quart:
    """Return the app of operations, by method and path."""
    app = Quart(__name__, static_folder=None)
    app.asgi_http_class = SingleTaskConnection
    app.config.update(RESPONSE_TIMEOUT=None, BODY_TIMEOUT=None, PROVIDE_AUTOMATIC_OPTIONS=False)
    # Paths are compared literally, so that a filter in front and this app see the same path.
    app.url_map.merge_slashes = False
    for route in operations:
        method, path = route.split(" ")
        app.add_url_rule(path, route, _build_view(operations[route]), methods=[method], provide_automatic_options=False)
    app.register_error_handler(Exception, _handle_fault)
    return app


def build_document_handler(document: Document) -> Handler:
    """Return the operation that serves a document."""

    async def answer(call: Call) -> Reply:
        return document.reply(call.request.first_value("if-none-match"))

    return answer


def _build_view(handler: Handler) -> Callable[[], Awaitable[Response]]:
    async def view() -> Response:
        answer = await handler(
            Call(read_request(cast("Scope", request.scope), request.path, await read_current_body()))
        )
        return to_response(answer if isinstance(answer, Reply) else json_reply(dict(answer)))

    return view


async def _handle_fault(fault: Exception) -> Response:
    # The guard in front of the app has refused most of these already.
    if isinstance(fault, HTTPException):
        fault = Refused(fault.code or 500, fault.name.lower().replace(" ", "_"), fault.name)
    return to_response(fault_reply(fault, str(request.scope.get(REQUEST_ID, ""))))
