"""The pay rail: its routes (5.1)."""

from __future__ import annotations

from typing import cast

from quart import Quart, Response, request
from werkzeug.exceptions import HTTPException, MethodNotAllowed

from reference.protocol.a2a_card import ENDPOINT
from reference.rail.a2a.endpoint import A2aEndpoint
from reference.rail.documents.published import Documents, read_page
from reference.rail.error_replies import fault_reply, json_reply
from reference.rail.paid_endpoint import PaidEndpoint
from reference.web.http.asgi_envelope import ANSWER_HEADERS, REQUEST_ID, Scope
from reference.web.http.exchange import read_request
from reference.web.http.quart_calls import read_current_body, to_document_response, to_response
from reference.web.http.single_task_connection import SingleTaskConnection

_METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"]
# P-RL-05 counts calls "under /pay/v1/ and at /a2a".
_COUNTED_PREFIX = "/pay/v1/"


def build_app(paid_endpoint: PaidEndpoint, a2a: A2aEndpoint, documents: Documents) -> Quart:
    """Return the rail's app."""
    app = Quart(__name__, static_folder=None)
    # The envelope has read the whole body already, so one task for each request is enough.
    app.asgi_http_class = SingleTaskConnection
    # The envelope limits the time of bodies, and Deadlines the time of answers; Quart's timers would only cost time.
    # OPTIONS is answered by the envelope (P-CH-09).
    app.config.update(RESPONSE_TIMEOUT=None, BODY_TIMEOUT=None, PROVIDE_AUTOMATIC_OPTIONS=False)

    async def serve_paid() -> Response:
        return to_response(
            await paid_endpoint.call(
                read_request(cast("Scope", request.scope), request.path, await read_current_body())
            )
        )

    async def serve_message() -> Response:
        return to_response(
            await a2a.call(read_request(cast("Scope", request.scope), request.path, await read_current_body()))
        )

    async def serve_document() -> Response:
        return to_document_response(documents.build_documents()[request.path])

    async def serve_resources() -> Response:
        return to_document_response(documents.build_resources(read_page(request.args)))

    async def serve_health() -> Response:
        return Response(await documents.build_health(), 200, {"Content-Type": "application/json"})

    _count_other_calls(app, paid_endpoint)
    for path in paid_endpoint.paths:
        app.add_url_rule(path, path, serve_paid, methods=_METHODS, provide_automatic_options=False)
    for path in documents.paths:
        app.add_url_rule(path, path, serve_document, methods=["GET"], provide_automatic_options=False)
    app.add_url_rule(ENDPOINT, f"POST {ENDPOINT}", serve_message, methods=["POST"], provide_automatic_options=False)
    app.add_url_rule(
        "/discovery/resources", "resources", serve_resources, methods=["GET"], provide_automatic_options=False
    )
    app.add_url_rule("/health", "health", serve_health, methods=["GET"], provide_automatic_options=False)

    # P-CH-11: another method of a paid path still gets the 402. TRACE does not, because it asks for an echo of the
    # message and never for the resource (RFC 9110, 9.3.8).
    async def handle_not_routed(fault: HTTPException) -> Response:
        if isinstance(fault, MethodNotAllowed) and request.path in paid_endpoint.paths and request.method != "TRACE":
            return await serve_paid()
        return _build_not_routed(fault)

    app.register_error_handler(HTTPException, handle_not_routed)
    app.register_error_handler(Exception, _handle_fault)
    return app


def _count_other_calls(app: Quart, paid_endpoint: PaidEndpoint) -> None:
    """Count calls of the limited paths that are neither paid calls nor messages (P-RL-05)."""

    async def count_call() -> None:
        # Paid operations and messages are counted where they are answered: an operation that is switched off is not.
        is_message = request.path == ENDPOINT and request.method == "POST"
        if request.path in paid_endpoint.paths or is_message:
            return
        if request.path.startswith(_COUNTED_PREFIX) or request.path == ENDPOINT:
            scope = cast("Scope", request.scope)
            call = read_request(scope, request.path, b"")
            allowance = await paid_endpoint.admit(call, has_proof="x-payment" in call.headers)
            if allowance is not None:
                scope[ANSWER_HEADERS] = allowance.headers()

    app.before_request(count_call)


def _build_not_routed(fault: HTTPException) -> Response:
    headers = {}
    if isinstance(fault, MethodNotAllowed) and fault.valid_methods:
        headers["Allow"] = ", ".join(sorted(fault.valid_methods))
    return to_response(json_reply(fault.code or 500, {"detail": fault.name}, headers))


async def _handle_fault(fault: Exception) -> Response:
    return to_response(fault_reply(fault, str(request.scope.get(REQUEST_ID, ""))))
