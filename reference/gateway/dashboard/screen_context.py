"""The context that all screens share: the services behind them, the frame of a page, and answers with a secret."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from reference.gateway import refusals
from reference.gateway.dashboard.forms import fresh_form_id, sent_before
from reference.gateway.dashboard.pages import Pages
from reference.gateway.dashboard.sign_in import ROOT, SignIn
from reference.gateway.dashboard.signed_in_request import SignedInRequest
from reference.gateway.tenant_administration import TenantAdministration
from reference.gateway.webhooks import Webhooks
from reference.web.clock import WpClock
from reference.web.http.exchange import Reply

# The screens of a tenant: path, name, and scopes. Any one of the scopes opens the screen.
SCREENS: Sequence[tuple[str, str, tuple[str, ...]]] = (
    ("links", "Links", ("tenants:admin", "payments:read")),
    ("payments", "Payments", ("payments:read",)),
    ("deliveries", "Deliveries", ("tenants:admin",)),
    ("keys", "Keys", ("tenants:admin", "apikeys:admin")),
    ("settings/networks", "Networks", ("tenants:admin",)),
    ("settings/notifications", "Notifications", ("tenants:admin",)),
    ("settings/checkout", "Checkout", ("tenants:admin",)),
    ("trial", "Trial", ("tenants:admin", "kyb:write")),
)
# The screens that a tenant sees when it signs in itself: path and name. Payout addresses are only shown there, so that
# a stolen API key does not redirect money (3.9).
SHOP_SCREENS: Sequence[tuple[str, str]] = (
    ("", "Start"),
    ("links", "Links"),
    ("payments", "Payments"),
    ("deliveries", "Deliveries"),
    ("settings/checkout", "Checkout"),
    ("settings/networks", "Networks"),
    ("trial", "Trial"),
)
OPENS: Mapping[str, tuple[str, ...]] = {path: scopes for path, _, scopes in SCREENS}
# The notices after a change. The address names one by its key, never by its text, so that a forged link cannot put
# words on the page.
_NOTICES = {
    "saved": "Saved.",
    "made": "The link is made. Send its address to the payer.",
    "deleted": "Deleted. It has ended at once.",
    "resent": "It is being sent again.",
    "refunded": "It is noted as given back. Nothing can be paid by it any more.",
    "judged": "The decision is in force.",
}


@dataclass(frozen=True, slots=True)
class Secret:
    """A secret that is shown once.

    Attributes:
        title: What was made.
        label: What the secret is.
        text: The secret.
        note: What to do with it.
        facts: Further things to know, by name.
        back: Path of the page to go on to.
        back_name: What that page is called.
    """

    title: str
    label: str
    text: str
    note: str
    facts: Mapping[str, str]
    back: str
    back_name: str


@dataclass(frozen=True, slots=True)
class ScreenContext:
    """The services behind the screens."""

    tenancy: TenantAdministration
    webhooks: Webhooks
    entrance: SignIn
    pages: Pages
    clock: WpClock

    async def page(
        self,
        request: SignedInRequest,
        template: str,
        current: str,
        tenant: Mapping[str, Any] | None = None,
        **values: Any,
    ) -> Reply:
        """Return a page of a tenant, with the navigation that the visitor's key opens.

        Args:
            request: The call.
            template: Name of the page's template.
            current: Path of the screen that it belongs to.
            tenant: The tenant's record, where it is known already.
            values: `status` and what the template shows.
        """
        record = tenant or await self.tenancy.record(request.tenant_id)
        operators = [(path, name) for path, name, scopes in SCREENS if request.visitor.may(*scopes)]
        # The same templates serve both kinds of visitors. The menu and the base of links depend on the session, not on
        # the path.
        is_shop = request.visitor.tenant_id is not None
        return self.pages.page(
            template,
            visitor=request.visitor,
            tenant=record,
            base=request.base if is_shop else f"{ROOT}/tenants/{record['tenant_id']}",
            is_shop=is_shop,
            screens=SHOP_SCREENS if is_shop else operators,
            current=current,
            form_id=fresh_form_id(),
            **{"done": _NOTICES.get(request.read_parameter("done") or ""), **values},
        )

    async def send_once(self, request: SignedInRequest) -> None:
        """Accept a form that can be sent only once.

        Raises:
            Refused: 409, it was sent before. So a reload of the answer creates nothing again.
        """
        if not await self.entrance.accept_form_once(request.visitor, request.form.form_id()):
            raise sent_before()

    async def secret(
        self, request: SignedInRequest, current: str, secret: Secret, tenant: Mapping[str, Any] | None = None
    ) -> Reply:
        """Return the only answer that shows a secret."""
        return await self.page(request, "secret.html", current, tenant, status=201, secret=secret)


def screen_path(request: SignedInRequest, screen: str, notice: str = "") -> str:
    """Return the address of a tenant's screen."""
    return f"{request.base}/{screen}" + (f"?done={notice}" if notice else "")


def find_row(rows: Sequence[Mapping[str, Any]], name: str, row_id: str) -> Mapping[str, Any]:
    """Return the row of an id.

    Raises:
        Refused: 404, no row has the id.
    """
    for row in rows:
        if row[name] == row_id:
            return row
    raise refusals.not_found()
