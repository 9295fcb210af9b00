"""The pay rail: its routes (profile 5.1)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson
import structlog
from quart import Quart, Response, request
from werkzeug.exceptions import HTTPException, MethodNotAllowed

from reference.rail.documents import Document, Documents, page_of
from reference.rail.door import Door, Request
from reference.web.envelope import REQUEST_ID
from reference.web.errors import Refused, Unprocessable, internal_error

_log = structlog.get_logger()
_METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"]


def build_app(door: Door, documents: Documents) -> Quart:
    """Return the rail's app."""
    app = Quart(__name__, static_folder=None)
    app.config.update(RESPONSE_TIMEOUT=None, BODY_TIMEOUT=None, PROVIDE_AUTOMATIC_OPTIONS=False)

    async def paid() -> Response:
        reply = await door.call(_asked(await _body()))
        return Response(reply.body, reply.status, dict(reply.headers))

    async def document() -> Response:
        return _document(documents.fixed()[request.path])

    async def resources() -> Response:
        return _document(documents.resources(page_of(request.args)))

    async def health() -> Response:
        return Response(await documents.health(), 200, {"Content-Type": "application/json"})

    for path in door.paths:
        app.add_url_rule(path, path, paid, methods=_METHODS, provide_automatic_options=False)
    for path in documents.paths:
        app.add_url_rule(path, path, document, methods=["GET"], provide_automatic_options=False)
    app.add_url_rule("/discovery/resources", "resources", resources, methods=["GET"], provide_automatic_options=False)
    app.add_url_rule("/health", "health", health, methods=["GET"], provide_automatic_options=False)

    async def not_routed(fault: HTTPException) -> Response:
        if isinstance(fault, MethodNotAllowed) and request.path in door.paths:
            return await paid()
        return _not_routed(fault)

    app.register_error_handler(Refused, _refused)
    app.register_error_handler(Unprocessable, _unprocessable)
    app.register_error_handler(HTTPException, not_routed)
    app.register_error_handler(Exception, _fault)
    return app


async def _body() -> bytes:
    data = await request.get_data(as_text=False)
    return data if isinstance(data, bytes) else data.encode()


def _asked(body: bytes) -> Request:
    headers: dict[str, list[str]] = {}
    for name, value in request.headers:
        headers.setdefault(name.lower(), []).append(value)
    query: bytes = request.scope["query_string"]
    peer = request.scope.get("client") or ("", 0)
    return Request(request.path, request.method, query.decode("latin-1"), headers, body, str(peer[0]))


def _document(document: Document) -> Response:
    if request.headers.get("If-None-Match") == document.headers["ETag"]:
        return Response(b"", 304, document.headers)
    return Response(document.body, 200, document.headers)


def _json(status: int, value: Any, headers: Mapping[str, str] | None = None) -> Response:
    return Response(orjson.dumps(value), status, {"Content-Type": "application/json", **(headers or {})})


async def _refused(refusal: Refused) -> Response:
    return _json(refusal.status, refusal.body(str(request.scope.get(REQUEST_ID, ""))), refusal.headers)


async def _unprocessable(fault: Unprocessable) -> Response:
    return _json(422, fault.body(), fault.headers)


def _not_routed(fault: HTTPException) -> Response:
    headers = {}
    if isinstance(fault, MethodNotAllowed) and fault.valid_methods:
        headers["Allow"] = ", ".join(sorted(fault.valid_methods))
    return _json(fault.code or 500, {"detail": fault.name}, headers)


async def _fault(fault: Exception) -> Response:
    _log.error("unplanned_fault", request_id=request.scope.get(REQUEST_ID), kind=type(fault).__name__, exc_info=True)
    return await _refused(internal_error())
