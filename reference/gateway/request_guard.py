"""The request guard: checks route, method and the limit of the address before the body is read (3.1)."""

from __future__ import annotations

from collections.abc import Mapping

from werkzeug.exceptions import MethodNotAllowed, NotFound
from werkzeug.routing import Map, RequestRedirect

from reference.gateway import refusals
from reference.gateway.call_admission import Access, Operation
from reference.gateway.rate_limits import Limits
from reference.web.http.asgi_envelope import ROUTE, Scope

_READS = frozenset({"GET", "HEAD"})
_PUBLIC = ("/checkout/", "/.well-known/", "/health")


class RequestGuard:
    """Admits the calls that some operation answers.

    Operations that it does not know, those of the checkout, take the limits themselves: theirs depends on the token.
    """

    def __init__(self, rules: Map, operations: Mapping[str, Operation], limits: Limits, *, edge: bool) -> None:
        """Take the routes.

        Args:
            rules: Every route of the app.
            operations: By endpoint.
            limits: Charges calls.
            edge: Whether this is an edge host, which serves public reads only (P-GW-04).
        """
        self._rules = rules.bind("gateway")
        self._operations = operations
        self._limits = limits
        self._edge = edge

    async def __call__(self, scope: Scope) -> None:
        """Judge one call.

        Raises:
            Refused: 404, 405 or 429.
        """
        # An edge host serves public reads only. Anything else does not exist there, whether or not the route is known.
        if self._edge and not (scope["method"] in _READS and scope["path"].startswith(_PUBLIC)):
            raise refusals.not_found()
        if not _is_plain(scope["path"]):
            raise refusals.not_found()
        try:
            rule, _ = self._rules.match(scope["path"], scope["method"], return_rule=True)
        except MethodNotAllowed as fault:
            raise refusals.method_not_allowed(fault.valid_methods or ()) from None
        # The router offers redirects to similar paths. Paths are literal here, so such a path is unknown.
        except (NotFound, RequestRedirect):
            raise refusals.not_found() from None
        # The rule and not the path, because a path may contain the token of a checkout.
        scope[ROUTE] = rule.rule
        operation = self._operations.get(rule.endpoint)
        if operation is not None:
            await self._charge(operation.access, scope)

    async def _charge(self, access: Access, scope: Scope) -> None:
        # Calls with a credential are charged to their tenant later. Without one, only the address can be charged.
        if access is Access.RECEIPTS:
            await self._limits.charge_receipt(scope)
        elif access is Access.OPEN or not _has_credential(scope):
            await self._limits.charge_address(scope)


def presents_payment(scope: Scope, body: bytes) -> bool:
    """Return whether a call presents a payment of a link, good or not (P-CV-25)."""
    del body
    path: str = scope["path"]
    return scope["method"] == "POST" and path.startswith("/checkout/") and path.endswith("/verify")


def _is_plain(path: str) -> bool:
    """Return whether a path can be one of the gateway's: without two slashes at its start, and without NUL."""
    # The router treats two slashes as one. PostgreSQL has no text with NUL in it, so a query with such a name would
    # fail and look like an unavailable database.
    return not path.startswith("//") and "\x00" not in path


def _has_credential(scope: Scope) -> bool:
    return any(name.lower() == b"authorization" for name, _ in scope["headers"])
