"""The control plane: its routes (7.1)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from quart import Quart, Response, request
from werkzeug.exceptions import HTTPException

from reference.control_plane.audit_reading import AuditEndpoint
from reference.control_plane.call_context import Call, Operation, Registrant, read_body
from reference.control_plane.health_and_openapi import Documents
from reference.control_plane.issuer_registration import IssuerRegister, NewIssuer, TrustDocuments
from reference.control_plane.registration_rights import RegistrationRights
from reference.control_plane.service_health import Posture
from reference.control_plane.service_registration import NewService, ServiceRegister
from reference.store.database import DatabaseUnavailable
from reference.web.errors import Refused
from reference.web.http.asgi_envelope import REQUEST_ID, Scope
from reference.web.http.bearer_token import BearerToken
from reference.web.http.detail_error_replies import fault_reply
from reference.web.http.exchange import read_request
from reference.web.http.quart_calls import read_current_body, to_response
from reference.web.http.single_task_connection import SingleTaskConnection
from reference.web.logs import get_logger

_log = get_logger()


def list_operations(
    documents: Documents,
    trust_documents: TrustDocuments,
    issuers: IssuerRegister,
    services: ServiceRegister,
    posture: Posture,
    audit: AuditEndpoint,
) -> Sequence[Operation]:
    """Return every operation."""
    return (
        Operation("GET", "/health", documents.serve_health),
        Operation("GET", "/openapi.json", documents.serve_openapi),
        Operation("GET", "/v1/issuer-pks", trust_documents.serve_trust_set),
        Operation("GET", "/.well-known/atb-keys.json", trust_documents.serve_keys),
        Operation("GET", "/.well-known/pqc-keys.json", trust_documents.serve_keys),
        Operation("GET", "/v1/posture", posture.show),
        Operation("POST", "/v1/issuers", issuers.register, is_for_admin=True, body_model=NewIssuer),
        Operation("DELETE", "/v1/issuers/", issuers.revoke, is_for_admin=True),
        Operation("POST", "/v1/services", services.register, is_for_admin=True, body_model=NewService),
        Operation("DELETE", "/v1/services/", services.remove, is_for_admin=True),
        Operation("GET", "/v1/audit", audit.show, is_for_admin=True),
    )


class Routes:
    """Finds operations. Paths are compared as they were sent; only a last segment after `/` is free."""

    def __init__(self, operations: Sequence[Operation]) -> None:
        self._by_path: dict[str, dict[str, Operation]] = {}
        for operation in operations:
            self._by_path.setdefault(operation.path, {})[operation.method] = operation

    def find_methods(self, path: str) -> frozenset[str] | None:
        """Return the methods that a path, as it was sent, answers; None when there is no such path."""
        operations = self._by_path.get(_split_path(path)[0])
        if operations is None:
            return None
        return frozenset({*operations, *({"HEAD"} if "GET" in operations else ())})

    def find(self, scope: Scope) -> tuple[Operation, bytes]:
        """Return the operation of a call that `find_methods` knows, and the free segment of its path."""
        path, segment = _split_path(raw_path_of(scope))
        # HEAD is routed as GET; the envelope removes the body.
        method = "GET" if scope["method"] == "HEAD" else scope["method"]
        return self._by_path[path][method], segment


def build_app(routes: Routes, token: BearerToken, rights: RegistrationRights) -> Quart:
    """Return the control plane's app; a gate in front of it lets only calls through that some operation answers."""
    app = Quart(__name__, static_folder=None)
    app.asgi_http_class = SingleTaskConnection
    app.config.update(RESPONSE_TIMEOUT=None, BODY_TIMEOUT=None, PROVIDE_AUTOMATIC_OPTIONS=False)
    app.url_map.merge_slashes = False  # paths are literal

    async def view(path: str = "") -> Response:  # noqa: ARG001 - as it was sent it stands in the scope alone
        scope = cast("Scope", request.scope)
        operation, segment = routes.find(scope)
        body = await read_current_body()
        is_registration = operation.is_for_admin and rights.is_registration(operation)
        # After the body was read: the token belongs to the name in it.
        by = rights.judge(scope, body) if is_registration else Registrant()
        content = None if operation.body_model is None else read_body(operation.body_model, body)
        call = Call(read_request(scope, request.path, body), token.is_sent_with(scope), segment, content, by)
        return to_response(await operation.answer(call))

    # One route for all: the framework would decode and normalise paths that must be compared as sent.
    for rule in ("/", "/<path:path>"):
        app.add_url_rule(
            rule, rule, view, methods=["GET", "POST", "DELETE"], provide_automatic_options=False, strict_slashes=True
        )
    app.register_error_handler(Exception, _handle_fault)
    return app


def raw_path_of(scope: Scope) -> str:
    """Return the path of a call as it was sent, one character for each byte."""
    # Not the decoded path: an encoded slash in a DID would otherwise read as a further segment.
    raw_path: bytes = scope.get("raw_path") or scope["path"].encode()
    return raw_path.partition(b"?")[0].decode("latin-1")


def _split_path(path: str) -> tuple[str, bytes]:
    """Return the path of the operation and the free segment."""
    for prefix in ("/v1/issuers/", "/v1/services/"):
        segment = path.removeprefix(prefix)
        if path.startswith(prefix) and segment and "/" not in segment:
            return prefix, segment.encode("latin-1")
    return ("" if path.endswith("/") else path), b""


async def _handle_fault(fault: Exception) -> Response:
    # The guard in front of the app has refused most of these already.
    if isinstance(fault, HTTPException):
        fault = Refused(fault.code or 500, fault.name.lower().replace(" ", "_"), fault.name)
    if isinstance(fault, DatabaseUnavailable):
        _log.error("database_unavailable", request_id=request.scope.get(REQUEST_ID, ""), reason=str(fault))
        fault = Refused(503, "store_unavailable", "store_unavailable", {"Retry-After": "5"})
    return to_response(fault_reply(fault, str(request.scope.get(REQUEST_ID, ""))))
