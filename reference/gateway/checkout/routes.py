"""The checkout's routes (3.1, 3.5)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, cast

import orjson
from quart import Quart, Response, request

from reference.gateway import refusals
from reference.gateway.call_admission import Body, fit_model, read_body
from reference.gateway.checkout import qr
from reference.gateway.checkout.link_actions import AbandonRequest, CancelRequest, LinkActions, VerifyRequest
from reference.gateway.checkout.link_announcements import LinkAnnouncements
from reference.gateway.checkout.link_settlement import LinkSettlement
from reference.gateway.checkout.page import SECURITY, Page, assets
from reference.gateway.checkout.status_events import statuses
from reference.gateway.merchant_branding import Storefronts
from reference.gateway.rate_limits import Limits
from reference.gateway.settings import GatewaySettings
from reference.protocol.link_payment import LinkState
from reference.store.links import Link
from reference.web.errors import Unprocessable
from reference.web.http.asgi_envelope import Scope
from reference.web.http.exchange import JSON, read_request
from reference.web.http.quart_calls import read_current_body

_PATH = "/checkout/<token>"
_NO_STORE = {"Cache-Control": "no-store"}
_CACHEABLE = {"Cache-Control": "public, max-age=86400", "X-Content-Type-Options": "nosniff"}
# A logo is a file of a tenant. The policy keeps a browser from running anything in it if it is opened by its address.
_LOGO = {**_CACHEABLE, "Content-Security-Policy": "default-src 'none'; sandbox", "Content-Disposition": "inline"}

Handler = Callable[[Link, Body], Awaitable[Response]]


class Routes:
    """Answers calls below /checkout/."""

    def __init__(
        self,
        settings: GatewaySettings,
        settlement: LinkSettlement,
        announcements: LinkAnnouncements,
        page: Page,
        actions: LinkActions,
        limits: Limits,
        storefronts: Storefronts,
    ) -> None:
        self._settings = settings
        self._settlement = settlement
        self._announcements = announcements
        self._page = page
        self._actions = actions
        self._limits = limits
        self._storefronts = storefronts

    def add_to(self, app: Quart) -> None:
        """Add the routes to an app."""
        self._add(app, "GET", "", self._show)
        self._add(app, "GET", "/status", self._status)
        self._add(app, "GET", "/events", self._events)
        self._add(app, "GET", "/qr", self._qr)
        self._add(app, "POST", "/verify", self._verify, is_required=True)
        self._add(app, "POST", "/cancel", self._cancel, is_required=True)
        self._add(app, "POST", "/abandon", self._abandon)
        for folder, view in (("assets", self._asset), ("logos", self._logo)):
            app.add_url_rule(
                f"/checkout/{folder}/<name>",
                f"checkout-{folder}",
                view,
                methods=["GET"],
                provide_automatic_options=False,
            )

    def _add(self, app: Quart, method: str, below: str, handler: Handler, *, is_required: bool = False) -> None:
        async def view(token: str) -> Response:
            link = await self._link(token)
            call = read_request(cast("Scope", request.scope), request.path, await read_current_body())
            return await handler(link, read_body(call, is_required=is_required))

        app.add_url_rule(
            _PATH + below, f"{method} {_PATH}{below}", view, methods=[method], provide_automatic_options=False
        )

    async def _link(self, token: str) -> Link:
        """Return the link of a token, and charge the call (P-RL-03, P-RL-04).

        Raises:
            Refused: There is no such link, or there were too many calls.
        """
        scope = cast("Scope", request.scope)
        link = await self._settlement.links.by_token(token)
        # An unknown token counts against the address, so that tokens cannot be guessed at speed. A known one counts
        # against the token (P-RL-03, P-RL-04).
        if link is None:
            await self._limits.charge_address(scope)
            raise refusals.not_found()
        await self._limits.charge_token(scope, token)
        return link

    # Read operations.

    async def _show(self, link: Link, body: Body) -> Response:
        del body
        status = await self._settlement.status(link)
        payment = await self._settlement.find_payment(link) if status.state is LinkState.PAID else None
        merchant, price = await self._storefronts.of(link.tenant_id), await self._settlement.links.price(link.id)
        html = self._page.html(link, status, merchant, payment, price)
        return Response(html, 200, {"Content-Type": "text/html; charset=utf-8", **SECURITY})

    async def _status(self, link: Link, body: Body) -> Response:
        del body
        return _json(await self._actions.status(link))

    async def _events(self, link: Link, body: Body) -> Response:
        del body
        headers = {"Content-Type": "text/event-stream; charset=utf-8", "X-Accel-Buffering": "no", **_NO_STORE}
        if request.method == "HEAD":
            return Response(b"", 200, headers)
        stream: AsyncIterator[bytes] = statuses(
            self._settlement, self._announcements, link, every=self._settings.chain_poll_seconds
        )
        response = Response(stream, 200, headers)
        response.timeout = None
        return response

    async def _qr(self, link: Link, body: Body) -> Response:
        del body
        data = self._read_data_parameter()
        if data is None:
            if not self._page.is_open(link, await self._settlement.status(link)):
                raise refusals.not_found()
            data = self._page.payload(link)
        return Response(qr.png(data), 200, {"Content-Type": "image/png", **_NO_STORE})

    def _read_data_parameter(self) -> str | None:
        """Return the text that a caller asks to encode instead of the payload, or None if that is off (P-CK-05).

        Raises:
            Unprocessable: It is empty, or too long.
        """
        text = request.args.get("data")
        if text is None or not self._settings.qr_data:
            return None
        if not 1 <= len(text.encode(errors="replace")) <= qr.MAX_DATA_BYTES:
            message = f"give 1 to {qr.MAX_DATA_BYTES} bytes"
            raise Unprocessable([{"loc": ["query", "data"], "msg": message, "type": "data_length"}])
        return str(text)

    async def _asset(self, name: str) -> Response:
        await self._limits.charge_address(cast("Scope", request.scope))
        asset = assets().get(name)
        if asset is None:
            raise refusals.not_found()
        return Response(asset.data, 200, {"Content-Type": asset.media, **_CACHEABLE})

    async def _logo(self, name: str) -> Response:
        await self._limits.charge_address(cast("Scope", request.scope))
        png = await self._storefronts.logo(name)
        if png is None:
            raise refusals.not_found()
        return Response(png, 200, {"Content-Type": "image/png", **_LOGO})

    # Actions.

    async def _verify(self, link: Link, body: Body) -> Response:
        return _json(await self._actions.verify(link, fit_model(VerifyRequest, body.value)))

    async def _cancel(self, link: Link, body: Body) -> Response:
        return _json(await self._actions.cancel(link, fit_model(CancelRequest, body.value)))

    async def _abandon(self, link: Link, body: Body) -> Response:
        if body.data:
            fit_model(AbandonRequest, body.value)
        return _json(await self._actions.abandon(link))


def _json(value: Any) -> Response:
    return Response(orjson.dumps(value), 200, {"Content-Type": JSON, **_NO_STORE})
