"""Quart's side of a call: the body as it came, and a reply as Quart sends it."""

from __future__ import annotations

from quart import Response, request

from reference.web.http.cached_document import Document
from reference.web.http.exchange import Reply


async def read_current_body() -> bytes:
    """Return the body of the call that is being answered."""
    data = await request.get_data(as_text=False)
    return data if isinstance(data, bytes) else data.encode()


def to_document_response(document: Document) -> Response:
    """Return a document as the call that is being answered wants it."""
    return to_response(document.reply(request.headers.get("If-None-Match")))


def to_response(reply: Reply) -> Response:
    """Return a reply as Quart sends it."""
    response = Response(reply.body, reply.status, dict(reply.headers))
    if reply.status == 204:  # it says nothing of a body
        del response.headers["Content-Type"], response.headers["Content-Length"]
    return response
