"""A call with a signed-in session, and the routes that answer such calls."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from urllib.parse import parse_qs

from reference.gateway import refusals
from reference.gateway.dashboard.forms import Form
from reference.gateway.dashboard.sign_in import ROOT, Visitor
from reference.web.http.exchange import Reply, Request


@dataclass(frozen=True, slots=True)
class SignedInRequest:
    """A call with a signed-in session. Its form, if it has one, came from a page of this dashboard.

    Attributes:
        call: As it came.
        arguments: Named parts of its path.
        visitor: Who calls.
        form: What he sent.
    """

    call: Request
    arguments: Mapping[str, str]
    visitor: Visitor
    form: Form = field(default_factory=Form)

    @property
    def tenant_id(self) -> str:
        """The tenant that the call is about: for a tenant itself, whatever the path names."""
        # A tenant's session decides which tenant it sees. Whatever id a path contains, it never reaches another
        # tenant's data.
        return self.visitor.tenant_id or self.arguments["tenant_id"]

    @property
    def base(self) -> str:
        """Where the pages about that tenant begin."""
        return self.visitor.home if self.visitor.tenant_id is not None else f"{ROOT}/tenants/{self.tenant_id}"

    def read_parameter(self, name: str, longest: int = 64) -> str | None:
        """Return a parameter of the query, or None if it is missing.

        Raises:
            Refused: 400, it is there several times, or is no text that an id may be.
        """
        values = parse_qs(self.call.query, keep_blank_values=True, errors="replace").get(name, [])
        if not values:
            return None
        if len(values) > 1 or len(values[0]) > longest or not values[0].isprintable():
            raise refusals.invalid_request(f"the address names no usable {name}")
        return values[0]

    def require_scope(self, scope: str) -> None:
        """Go on when the key has a scope.

        Raises:
            Refused: 403, it has not.
        """
        if not self.visitor.may(scope):
            raise refusals.forbidden_scope(scope)


ScreenHandler = Callable[[SignedInRequest], Awaitable[Reply]]


@dataclass(frozen=True, slots=True)
class Route:
    """One method of one path below /dashboard.

    Attributes:
        method: GET or POST.
        below: The path behind /dashboard.
        handler: Answers.
        scopes: One of them is wanted; none when every administrator may call.
        for_tenants: Whether it is a tenant's own page, and no administrator's.
        takes_file: Whether its form sends a file.
    """

    method: str
    below: str
    handler: ScreenHandler
    scopes: tuple[str, ...] = ()
    for_tenants: bool = False
    takes_file: bool = False


def redirect_to(path: str, headers: Mapping[str, str] | None = None) -> Reply:
    """Return the answer that sends a browser to another page, to be read there."""
    return Reply(303, b"", {"Location": path, "Cache-Control": "no-store", **(headers or {})})
