"""The dashboard's routes: what every call meets before its screen, and that every answer is a page (3.1, 3.9)."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import cast

from quart import Quart, Response, request

from reference.gateway import refusals
from reference.gateway.dashboard.forms import Form, check_csrf, csrf_token, foreign_form, read_form, read_upload
from reference.gateway.dashboard.pages import Pages, assets
from reference.gateway.dashboard.sign_in import ROOT, SHOP, SignIn, Visitor
from reference.gateway.dashboard.signed_in_request import Route, SignedInRequest, gone_to
from reference.gateway.error_replies import refusal_of
from reference.gateway.rate_limits import Limits
from reference.web.errors import Refused
from reference.web.http.envelope import REQUEST_ID, Scope
from reference.web.http.exchange import Reply, Request, asked
from reference.web.http.quart_calls import current_body, replied

SIGN_IN = f"{ROOT}/sign-in"
_PLACE = re.compile(r"/dashboard(/[a-z0-9_-]+)*")
_WRONG = (
    "This key is not accepted. It must be an administrator's key, or an API key that is neither deleted nor lapsed."
)
_CACHED = {"Cache-Control": "public, max-age=86400", "X-Content-Type-Options": "nosniff"}

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
            self._add(app, screen.method, ROOT + screen.below, self._answering(screen))

    def refusal_page(self, scope: Scope, refused: Refused) -> tuple[Mapping[str, str], bytes] | None:
        """Return the page of what was refused before any route saw it, None for other people's paths."""
        path = str(scope["path"])
        if path != ROOT and not path.startswith(f"{ROOT}/"):
            return None
        reply = self._pages.refusal(refused, str(scope.get(REQUEST_ID, "")))
        return reply.headers, reply.body

    def _add(self, app: Quart, method: str, rule: str, answer: Answer) -> None:
        async def view(**arguments: str) -> Response:
            scope = cast("Scope", request.scope)
            visitor: Visitor | None = None
            try:
                call = asked(scope, request.path, await current_body())
                visitor = await self._entrance.visitor(call)
                reply = await answer(scope, call, arguments, visitor)
            except Exception as fault:  # noqa: BLE001 - whatever it is, the answer is a page
                request_id = str(scope.get(REQUEST_ID, ""))
                reply = self._pages.refusal(refusal_of(fault, request_id), request_id, visitor)
            return replied(reply)

        app.add_url_rule(rule, f"dashboard {method} {rule}", view, methods=[method], provide_automatic_options=False)

    def _answering(self, screen: Route) -> Answer:
        async def answer(scope: Scope, call: Request, arguments: Mapping[str, str], visitor: Visitor | None) -> Reply:
            reads = screen.method == "GET"
            if visitor is None:
                self._limits.address(scope)
                if reads:
                    return gone_to(f"{SIGN_IN}?to={call.path}" if _PLACE.fullmatch(call.path) else SIGN_IN)
                raise _session_over()
            if visitor.tenant_id is not None:
                self._limits.tenant(scope, visitor.tenant_id)  # as its calls of the API (P-RL-01)
                if reads and screen.below == "":
                    return gone_to(SHOP)
            _check_whose(screen, visitor)
            form = Form()
            if not reads:
                form = read_upload(call) if screen.takes_file else read_form(call)
                check_csrf(form, visitor.secret)
            return await screen.run(SignedInRequest(call, arguments, visitor, form))

        return answer

    # Without a session.

    async def _asset(self, scope: Scope, _: Request, arguments: Mapping[str, str], __: Visitor | None) -> Reply:
        self._limits.address(scope)
        found = assets().get(arguments["name"])
        if found is None:
            raise refusals.not_found()
        return Reply(200, found.data, {"Content-Type": found.media, **_CACHED})

    async def _show_sign_in(self, scope: Scope, call: Request, _: Mapping[str, str], visitor: Visitor | None) -> Reply:
        self._limits.address(scope)
        if visitor is not None:
            return gone_to(visitor.home)
        wanted = re.search(r"(?:^|&)to=([^&]*)", call.query)
        return self._form(call, wanted[1] if wanted else "")

    async def _sign_in(self, scope: Scope, call: Request, _: Mapping[str, str], __: Visitor | None) -> Reply:
        self._limits.address(scope)
        form, guard = read_form(call), self._entrance.guard(call)
        if guard is None:
            raise foreign_form()
        check_csrf(form, guard)
        entered = await self._entrance.sign_in(call, form.one("key"))
        if entered is None:
            return self._form(call, form.one("to"), {"key": _WRONG})
        return gone_to(_place(form.one("to"), entered.home), entered.headers)

    async def _sign_out(self, scope: Scope, call: Request, _: Mapping[str, str], visitor: Visitor | None) -> Reply:
        if visitor is None:
            self._limits.address(scope)
        else:
            check_csrf(read_form(call), visitor.secret)
        return gone_to(SIGN_IN, await self._entrance.sign_out(visitor))

    def _form(self, call: Request, to: str, faults: Mapping[str, str] | None = None) -> Reply:
        guard, new_cookie = self._entrance.guard(call), None
        if guard is None:
            guard, new_cookie = self._entrance.fresh_guard()
        wrong = {"WWW-Authenticate": "Bearer"} if faults else {}
        return self._pages.page(
            "sign_in.html",
            status=401 if faults else 200,
            headers={**wrong, **(new_cookie or {})},
            csrf=csrf_token(guard),
            to=_wanted(to) or ROOT,
            faults=faults or {},
        )


def _check_whose(screen: Route, visitor: Visitor) -> None:
    """Let a visitor pass to a screen of his: a tenant to its own pages, an administrator to what his key opens.

    Raises:
        Refused: It is not.
    """
    if visitor.tenant_id is not None and not screen.for_tenants:
        raise _operators_only()
    if visitor.tenant_id is None and screen.for_tenants:
        raise _tenants_only()
    if screen.scopes and not visitor.may(*screen.scopes):
        raise refusals.forbidden_scope(screen.scopes[0])


def _wanted(text: str) -> str:
    """Return a page of ours that somebody wanted to see, nothing if it is not ours."""
    return text if len(text) <= 255 and _PLACE.fullmatch(text) else ""


def _place(text: str, home: str) -> str:
    """Return the page that somebody wanted to see; his first one if it is not ours, or other people's."""
    wanted = _wanted(text)
    is_shop = wanted == SHOP or wanted.startswith(f"{SHOP}/")
    return wanted if wanted and is_shop == (home == SHOP) else home


def _operators_only() -> Refused:
    return Refused(
        403, "operators_only", "this page is for whoever runs the gateway; your shop's pages are all in the menu"
    )


def _tenants_only() -> Refused:
    return Refused(
        403, "tenants_only", "this page is for a shop that signs in with its own key; open the tenant instead"
    )


def _session_over() -> Refused:
    message = "you are not signed in any more, and nothing was changed; sign in and do it again"
    return Refused(403, "session_over", message)
