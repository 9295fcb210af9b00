"""The dashboard of one gateway: its parts and its routes."""

from __future__ import annotations

from collections.abc import Mapping

from quart import Quart

from reference.gateway.credentials import Credentials
from reference.gateway.dashboard.deliveries import DeliveryScreen
from reference.gateway.dashboard.keys import KeyScreens
from reference.gateway.dashboard.link_creation import ShopLinks
from reference.gateway.dashboard.links import LinkScreen
from reference.gateway.dashboard.networks import NetworkScreen
from reference.gateway.dashboard.notifications import NotificationScreens
from reference.gateway.dashboard.pages import Pages
from reference.gateway.dashboard.payments import PaymentScreens
from reference.gateway.dashboard.routes import Routes
from reference.gateway.dashboard.screen_context import ScreenContext
from reference.gateway.dashboard.shop_home import ShopHome
from reference.gateway.dashboard.sign_in import SignIn
from reference.gateway.dashboard.storefront import StorefrontScreen
from reference.gateway.dashboard.tenants import TenantScreens
from reference.gateway.dashboard.trial import TrialScreen
from reference.gateway.merchant_branding import Storefronts
from reference.gateway.payment_links import PaymentLinks
from reference.gateway.rate_limits import Limits
from reference.gateway.received_payments import Receipts
from reference.gateway.settings import GatewaySettings
from reference.gateway.tenant_administration import TenantAdministration
from reference.gateway.webhooks import Webhooks
from reference.store.sessions import Sessions
from reference.web.clock import WpClock
from reference.web.errors import Refused
from reference.web.http.asgi_envelope import Scope


class Dashboard:
    """Serves the browsers of administrators and tenants."""

    def __init__(
        self,
        settings: GatewaySettings,
        clock: WpClock,
        credentials: Credentials,
        sessions: Sessions,
        limits: Limits,
        tenancy: TenantAdministration,
        webhooks: Webhooks,
        storefronts: Storefronts,
        payment_links: PaymentLinks,
        receipts: Receipts,
    ) -> None:
        """Put the parts together.

        Args:
            settings: The settings of the process.
            clock: The service's clock.
            credentials: Judges keys.
            sessions: The sessions that are signed in.
            limits: Charges calls without a session (P-RL-03).
            tenancy: What can be done with tenants.
            webhooks: What can be done with their webhooks.
            storefronts: What they show payers of themselves.
            payment_links: Creates their links.
            receipts: What they were paid, and the receipts of it.
        """
        pages = Pages(settings)
        self._entrance = SignIn(settings, clock, credentials, sessions)
        context = ScreenContext(tenancy, webhooks, self._entrance, pages, clock)
        # Each screen has its routes, with the scopes that open them. The route table adds session, form token and
        # limits.
        screens = (
            TenantScreens(context),
            LinkScreen(context),
            DeliveryScreen(context),
            KeyScreens(context, settings.key_overlap_days),
            NetworkScreen(context),
            NotificationScreens(context),
            TrialScreen(context),
            StorefrontScreen(context, storefronts),
            ShopHome(context, storefronts, receipts),
            ShopLinks(context, settings, storefronts, payment_links),
            PaymentScreens(context, settings.word, receipts),
        )
        routes = [route for screen in screens for route in screen.routes()]
        self._routes = Routes(self._entrance, pages, limits, routes)

    def add_routes(self, app: Quart) -> None:
        """Add the dashboard's routes to an app."""
        self._routes.add_to(app)

    def refusal_page(self, scope: Scope, fault: Refused) -> tuple[Mapping[str, str], bytes] | None:
        """Return the page of what was refused before any route saw it, None where it is not the dashboard's."""
        return self._routes.refusal_page(scope, fault)

    async def forget(self) -> None:
        """Drop sessions that are over."""
        await self._entrance.forget()
