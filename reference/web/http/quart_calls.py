"""Adapters to Quart: the body of the current call, and replies as Quart responses."""

from __future__ import annotations

from quart import Quart, Response, request

from reference.web.http.cached_document import Document
from reference.web.http.exchange import Reply


async def read_current_body() -> bytes:
    """Return the body of the call that is being answered."""
    data = await request.get_data(as_text=False)
    return data if isinstance(data, bytes) else data.encode()


def list_paths(app: Quart) -> frozenset[str]:
    """Return the paths that an app answers, all of which are literal."""
    return frozenset(rule.rule for rule in app.url_map.iter_rules())


def to_document_response(document: Document) -> Response:
    """Return a document, or 304 if the current call has it already."""
    return to_response(document.reply(request.headers.get("If-None-Match")))


def to_response(reply: Reply) -> Response:
    """Return a reply as Quart sends it."""
    response = Response(reply.body, reply.status, dict(reply.headers))
    # A 204 has no body, and so no headers of one (RFC 9110, 15.3.5).
    if reply.status == 204:
        del response.headers["Content-Type"], response.headers["Content-Length"]
    return response
