"""The gateway: its routes (3.1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from quart import Quart, Response, request
from werkzeug.exceptions import HTTPException

from reference.gateway.admin_api import AdminApi, Decision, NewDestination, NewKey, NewTenant, Payouts
from reference.gateway.call_admission import Access, Calls, Operation, build_reader
from reference.gateway.documents import Documents
from reference.gateway.error_replies import fault_reply
from reference.gateway.payment_links import PaymentLinks
from reference.gateway.receipt_verification import ReceiptVerification
from reference.gateway.resources import ResourceRecords, ResourceRequest
from reference.gateway.screening import Screening
from reference.protocol.receipt_verification import ReceiptVerifyRequest
from reference.protocol.screening import ScreeningRequest
from reference.web.errors import Refused
from reference.web.http.asgi_envelope import REQUEST_ID, Scope
from reference.web.http.exchange import read_request
from reference.web.http.quart_calls import read_current_body, to_response

_TENANT = "/internal/tenants/<tenant_id>"
_KEY = f"{_TENANT}/api-keys/<key_id>"
_WEBHOOKS = f"{_TENANT}/webhooks"
_WEBHOOK = f"{_WEBHOOKS}/<destination_id>"
_DELIVERIES = f"{_TENANT}/deliveries"


def list_operations(
    links: PaymentLinks,
    resources: ResourceRecords,
    receipts: ReceiptVerification,
    screener: Screening,
    documents: Documents,
    internal: AdminApi,
) -> Sequence[Operation]:
    """Return every operation except those of the checkout."""
    # Each row has its access in it. The scopes of administrators follow the decisions of specification 3.9: calls about
    # keys need `apikeys:admin`, the decision about verification `kyb:write`, payments `payments:read`.
    tenant, admin = Access.TENANT, Access.ADMIN
    # The request guard reads methods and access from this table, so an operation cannot be added without an access
    # rule.
    return (
        Operation("POST", "/v1/payment-links", links.create, tenant, links.read_request),
        Operation("POST", "/v1/resources", resources.create, tenant, build_reader(ResourceRequest)),
        Operation("GET", "/v1/resources/<resource_id>", resources.show, tenant),
        Operation("POST", "/v1/receipt/verify", receipts.verify, Access.RECEIPTS, build_reader(ReceiptVerifyRequest)),
        Operation("POST", "/compliance/screen", screener.screen, read_content=build_reader(ScreeningRequest)),
        Operation("GET", "/health", documents.health),
        Operation("GET", "/openapi.json", documents.openapi),
        Operation("GET", "/.well-known/jwks.json", documents.jwks),
        Operation("GET", "/.well-known/did.json", documents.did),
        Operation("POST", "/internal/tenants", internal.create, admin, build_reader(NewTenant), "tenants:admin"),
        Operation("GET", _TENANT, internal.show, admin, None, "tenants:admin"),
        Operation("PUT", f"{_TENANT}/networks", internal.set_networks, admin, build_reader(Payouts), "tenants:admin"),
        Operation("POST", f"{_TENANT}/kyc", internal.judge, admin, build_reader(Decision), "kyb:write"),
        Operation("GET", f"{_TENANT}/payments", internal.payments, admin, None, "payments:read"),
        Operation("POST", f"{_TENANT}/api-keys", internal.add_key, admin, build_reader(NewKey), "apikeys:admin"),
        Operation("POST", f"{_KEY}/rotate", internal.rotate_key, admin, None, "apikeys:admin"),
        Operation("DELETE", _KEY, internal.delete_key, admin, None, "apikeys:admin"),
        Operation("POST", _WEBHOOKS, internal.add_webhook, admin, build_reader(NewDestination), "tenants:admin"),
        Operation("POST", f"{_WEBHOOK}/rotate", internal.rotate_webhook, admin, None, "tenants:admin"),
        Operation("DELETE", _WEBHOOK, internal.delete_webhook, admin, None, "tenants:admin"),
        Operation("GET", _DELIVERIES, internal.deliveries, admin, None, "tenants:admin"),
        Operation("POST", f"{_DELIVERIES}/<delivery_id>/retry", internal.retry_delivery, admin, None, "tenants:admin"),
    )


def build_app(calls: Calls, by_endpoint: Mapping[str, Operation]) -> Quart:
    """Return the app of operations by endpoint."""
    app = Quart(__name__, static_folder=None)
    # The envelope around the app bounds the time and size of a call, so the framework's own limits are off.
    app.config.update(RESPONSE_TIMEOUT=None, BODY_TIMEOUT=None, PROVIDE_AUTOMATIC_OPTIONS=False)
    # Paths are literal. A redirect to a path with fewer slashes would lose the body of a POST.
    app.url_map.merge_slashes = False

    async def view(**arguments: str) -> Response:
        operation = by_endpoint[str(request.endpoint)]
        scope = cast("Scope", request.scope)
        details = {"request_id": str(scope.get(REQUEST_ID, "")), "arguments": arguments}
        return to_response(
            await calls.answer(operation, scope, read_request(scope, request.path, await read_current_body()), details)
        )

    for endpoint, entry in by_endpoint.items():
        app.add_url_rule(entry.rule, endpoint, view, methods=[entry.method], provide_automatic_options=False)
    app.register_error_handler(Exception, _fault)
    return app


async def _fault(fault: Exception) -> Response:
    # The request guard in front of the app refuses unknown paths and methods. This handles what remains.
    if isinstance(fault, HTTPException):
        fault = Refused(fault.code or 500, fault.name.lower().replace(" ", "_"), fault.description or fault.name)
    return to_response(fault_reply(fault, str(request.scope.get(REQUEST_ID, ""))))
