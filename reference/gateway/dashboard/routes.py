"""The dashboard's routes: the checks before a screen, and faults as pages (3.1, 3.9)."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import cast

from quart import Quart, Response, request

from reference.gateway import refusals
from reference.gateway.dashboard.forms import Form, check_csrf, csrf_token, foreign_form, read_form, read_upload
from reference.gateway.dashboard.pages import Pages, assets
from reference.gateway.dashboard.sign_in import ROOT, SHOP, SignIn, Visitor
from reference.gateway.dashboard.signed_in_request import Route, SignedInRequest, redirect_to
from reference.gateway.error_replies import refusal_of
from reference.gateway.rate_limits import Limits
from reference.web.errors import Refused
from reference.web.http.asgi_envelope import REQUEST_ID, Scope
from reference.web.http.exchange import Reply, Request, read_request
from reference.web.http.quart_calls import read_current_body, to_response

SIGN_IN = f"{ROOT}/sign-in"
_DASHBOARD_PATH = re.compile(r"/dashboard(/[a-z0-9_-]+)*")
_WRONG = (
    "This key is not accepted. It must be an administrator's key, or an API key that is neither deleted nor lapsed."
)
_CACHEABLE = {"Cache-Control": "public, max-age=86400", "X-Content-Type-Options": "nosniff"}

Answer = Callable[[Scope, Request, Mapping[str, str], Visitor | None], Awaitable[Reply]]


class Routes:
    """Answers calls at /dashboard and below."""

    def __init__(self, entrance: SignIn, pages: Pages, limits: Limits, screens: Sequence[Route]) -> None:
        self._entrance = entrance
        self._pages = pages
        self._limits = limits
        self._screens = screens

    def add_to(self, app: Quart) -> None:
        """Add the routes to an app."""
        self._add(app, "GET", f"{ROOT}/assets/<name>", self._asset)
        self._add(app, "GET", SIGN_IN, self._show_sign_in)
        self._add(app, "POST", SIGN_IN, self._sign_in)
        self._add(app, "POST", f"{ROOT}/sign-out", self._sign_out)
        for screen in self._screens:
            self._add(app, screen.method, ROOT + screen.below, self._build_answer(screen))

    def refusal_page(self, scope: Scope, fault: Refused) -> tuple[Mapping[str, str], bytes] | None:
        """Return the page of a refusal before the routing, or None if the path is not the dashboard's."""
        path = str(scope["path"])
        if path != ROOT and not path.startswith(f"{ROOT}/"):
            return None
        reply = self._pages.refusal(fault, str(scope.get(REQUEST_ID, "")))
        return reply.headers, reply.body

    def _add(self, app: Quart, method: str, rule: str, answer: Answer) -> None:
        async def view(**arguments: str) -> Response:
            scope = cast("Scope", request.scope)
            visitor: Visitor | None = None
            try:
                call = read_request(scope, request.path, await read_current_body())
                visitor = await self._entrance.visitor(call)
                reply = await answer(scope, call, arguments, visitor)
            except Exception as fault:  # noqa: BLE001 - every fault is answered with a page
                request_id = str(scope.get(REQUEST_ID, ""))
                reply = self._pages.refusal(refusal_of(fault, request_id), request_id, visitor)
            return to_response(reply)

        app.add_url_rule(rule, f"dashboard {method} {rule}", view, methods=[method], provide_automatic_options=False)

    def _build_answer(self, screen: Route) -> Answer:
        async def answer(scope: Scope, call: Request, arguments: Mapping[str, str], visitor: Visitor | None) -> Reply:
            reads = screen.method == "GET"
            if visitor is None:
                await self._limits.charge_address(scope)
                # A link from a mail leads to its page after the sign-in. Only paths of the dashboard are accepted
                # there, or the sign-in could be used to send people to a foreign site.
                if reads:
                    return redirect_to(f"{SIGN_IN}?to={call.path}" if _DASHBOARD_PATH.fullmatch(call.path) else SIGN_IN)
                raise _session_over()
            if visitor.tenant_id is not None:
                await self._limits.charge_tenant(scope, visitor.tenant_id)  # as its calls of the API (P-RL-01)
                if reads and screen.below == "":
                    return redirect_to(SHOP)
            _check_whose(screen, visitor)
            form = Form()
            if not reads:
                form = read_upload(call) if screen.takes_file else read_form(call)
                check_csrf(form, visitor.secret)
            return await screen.handler(SignedInRequest(call, arguments, visitor, form))

        return answer

    # Routes without a session.

    async def _asset(self, scope: Scope, _: Request, arguments: Mapping[str, str], __: Visitor | None) -> Reply:
        await self._limits.charge_address(scope)
        asset = assets().get(arguments["name"])
        if asset is None:
            raise refusals.not_found()
        return Reply(200, asset.data, {"Content-Type": asset.media, **_CACHEABLE})

    async def _show_sign_in(self, scope: Scope, call: Request, _: Mapping[str, str], visitor: Visitor | None) -> Reply:
        await self._limits.charge_address(scope)
        if visitor is not None:
            return redirect_to(visitor.home)
        target = re.search(r"(?:^|&)to=([^&]*)", call.query)
        return self._form(call, target[1] if target else "")

    async def _sign_in(self, scope: Scope, call: Request, _: Mapping[str, str], __: Visitor | None) -> Reply:
        await self._limits.charge_address(scope)
        form, guard = read_form(call), self._entrance.guard(call)
        if guard is None:
            raise foreign_form()
        check_csrf(form, guard)
        signed_in = await self._entrance.sign_in(call, form.value_of("key"))
        if signed_in is None:
            return self._form(call, form.value_of("to"), {"key": _WRONG})
        return redirect_to(_landing_path(form.value_of("to"), signed_in.home), signed_in.headers)

    async def _sign_out(self, scope: Scope, call: Request, _: Mapping[str, str], visitor: Visitor | None) -> Reply:
        if visitor is None:
            await self._limits.charge_address(scope)
        else:
            check_csrf(read_form(call), visitor.secret)
        return redirect_to(SIGN_IN, await self._entrance.sign_out(visitor))

    def _form(self, call: Request, to: str, faults: Mapping[str, str] | None = None) -> Reply:
        # The form and its cookie belong together. An existing cookie is kept, so that two open sign-in pages both work.
        guard, new_cookie = self._entrance.guard(call), None
        if guard is None:
            guard, new_cookie = self._entrance.fresh_guard()
        wrong = {"WWW-Authenticate": "Bearer"} if faults else {}
        return self._pages.page(
            "sign_in.html",
            status=401 if faults else 200,
            headers={**wrong, **(new_cookie or {})},
            csrf=csrf_token(guard),
            to=_own_path(to) or ROOT,
            faults=faults or {},
        )


def _check_whose(screen: Route, visitor: Visitor) -> None:
    """Accept a visitor on a screen: a tenant on its own pages, an administrator where the key has a scope.

    Raises:
        Refused: The screen is not for the visitor.
    """
    if visitor.tenant_id is not None and not screen.for_tenants:
        raise _operators_only()
    if visitor.tenant_id is None and screen.for_tenants:
        raise _tenants_only()
    if screen.scopes and not visitor.may(*screen.scopes):
        raise refusals.forbidden_scope(screen.scopes[0])


def _own_path(text: str) -> str:
    """Return the path of a page of the dashboard, or nothing if the text is another address."""
    return text if len(text) <= 255 and _DASHBOARD_PATH.fullmatch(text) else ""


def _landing_path(text: str, home: str) -> str:
    """Return the requested page, or the visitor's first one if the requested one is not for the visitor."""
    path = _own_path(text)
    is_shop = path == SHOP or path.startswith(f"{SHOP}/")
    return path if path and is_shop == (home == SHOP) else home


def _operators_only() -> Refused:
    return Refused(
        403, "operators_only", "this page is for operators of the gateway; your shop's pages are all in the menu"
    )


def _tenants_only() -> Refused:
    return Refused(
        403, "tenants_only", "this page is for a shop that signs in with its own key; open the tenant instead"
    )


def _session_over() -> Refused:
    message = "you are not signed in any more, and nothing was changed; sign in and do it again"
    return Refused(403, "session_over", message)
