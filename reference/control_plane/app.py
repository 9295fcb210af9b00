"""The control plane: its routes (7.1)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from quart import Quart, Response, request
from werkzeug.exceptions import HTTPException

from reference.control_plane.audit_reading import AuditReading
from reference.control_plane.calls import Call, Operation, Registrant, read
from reference.control_plane.documents import Documents
from reference.control_plane.issuers import IssuerRegister, NewIssuer, TrustDocuments
from reference.control_plane.posture import Posture
from reference.control_plane.registering import Registering
from reference.control_plane.services import NewService, ServiceRegister
from reference.store.database import DatabaseUnavailable
from reference.web.errors import Refused
from reference.web.http.bearer_token import BearerToken
from reference.web.http.detail_faults import fault_reply
from reference.web.http.envelope import REQUEST_ID, Scope
from reference.web.http.exchange import read_request
from reference.web.http.quart_calls import read_current_body, to_response
from reference.web.http.single_task_connection import SingleTaskConnection
from reference.web.logs import get_logger

_log = get_logger()


def operations(
    documents: Documents,
    published: TrustDocuments,
    issuers: IssuerRegister,
    services: ServiceRegister,
    posture: Posture,
    audit: AuditReading,
) -> Sequence[Operation]:
    """Return every operation."""
    return (
        Operation("GET", "/health", documents.health),
        Operation("GET", "/openapi.json", documents.openapi),
        Operation("GET", "/v1/issuer-pks", published.trust_set),
        Operation("GET", "/.well-known/atb-keys.json", published.keys),
        Operation("GET", "/.well-known/pqc-keys.json", published.keys),
        Operation("GET", "/v1/posture", posture.show),
        Operation("POST", "/v1/issuers", issuers.register, admin=True, reads=NewIssuer),
        Operation("DELETE", "/v1/issuers/", issuers.revoke, admin=True),
        Operation("POST", "/v1/services", services.register, admin=True, reads=NewService),
        Operation("DELETE", "/v1/services/", services.remove, admin=True),
        Operation("GET", "/v1/audit", audit.show, admin=True),
    )


class Routes:
    """Finds operations. Paths are literal, as they were sent; only the segment behind a `/` at the end is anything."""

    def __init__(self, served: Sequence[Operation]) -> None:
        self._by_path: dict[str, dict[str, Operation]] = {}
        for one in served:
            self._by_path.setdefault(one.path, {})[one.method] = one

    def methods(self, path: str) -> frozenset[str] | None:
        """Return the methods that a path, as it was sent, answers; None when there is no such path."""
        found = self._by_path.get(_split(path)[0])
        if found is None:
            return None
        return frozenset({*found, *({"HEAD"} if "GET" in found else ())})

    def find(self, scope: Scope) -> tuple[Operation, bytes]:
        """Return the operation of a call that `methods` knows, and the free segment of its path."""
        path, segment = _split(sent_path(scope))
        method = "GET" if scope["method"] == "HEAD" else scope["method"]
        return self._by_path[path][method], segment


def build_app(routes: Routes, token: BearerToken, registering: Registering) -> Quart:
    """Return the control plane's app; a gate in front of it lets only calls through that some operation answers."""
    app = Quart(__name__, static_folder=None)
    app.asgi_http_class = SingleTaskConnection
    app.config.update(RESPONSE_TIMEOUT=None, BODY_TIMEOUT=None, PROVIDE_AUTOMATIC_OPTIONS=False)
    app.url_map.merge_slashes = False  # paths are literal

    async def view(path: str = "") -> Response:  # noqa: ARG001 - as it was sent it stands in the scope alone
        scope = cast("Scope", request.scope)
        operation, segment = routes.find(scope)
        body = await read_current_body()
        judged = operation.admin and registering.is_one(operation)
        by = registering.judge(scope, body) if judged else Registrant()
        content = None if operation.reads is None else read(operation.reads, body)
        call = Call(read_request(scope, request.path, body), token.is_sent_with(scope), segment, content, by)
        return to_response(await operation.run(call))

    for rule in ("/", "/<path:path>"):
        app.add_url_rule(
            rule, rule, view, methods=["GET", "POST", "DELETE"], provide_automatic_options=False, strict_slashes=True
        )
    app.register_error_handler(Exception, _fault)
    return app


def sent_path(scope: Scope) -> str:
    """Return the path of a call as it was sent, a character a byte."""
    sent: bytes = scope.get("raw_path") or scope["path"].encode()
    return sent.partition(b"?")[0].decode("latin-1")


def _split(path: str) -> tuple[str, bytes]:
    """Return the path that is looked up and its free segment."""
    for prefix in ("/v1/issuers/", "/v1/services/"):
        segment = path.removeprefix(prefix)
        if path.startswith(prefix) and segment and "/" not in segment:
            return prefix, segment.encode("latin-1")
    return ("" if path.endswith("/") else path), b""


async def _fault(fault: Exception) -> Response:
    if isinstance(fault, HTTPException):  # what the gate in front of the app did not see
        fault = Refused(fault.code or 500, fault.name.lower().replace(" ", "_"), fault.name)
    if isinstance(fault, DatabaseUnavailable):
        _log.error("database_unavailable", request_id=request.scope.get(REQUEST_ID, ""), reason=str(fault))
        fault = Refused(503, "store_unavailable", "store_unavailable", {"Retry-After": "5"})
    return to_response(fault_reply(fault, str(request.scope.get(REQUEST_ID, ""))))
