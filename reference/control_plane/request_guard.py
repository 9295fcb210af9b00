"""Request guard: checks of a call's head before its body is read: limit, route, method, admin token (P-RL-07, 7.1)."""

from __future__ import annotations

from reference.control_plane.app import Routes, raw_path_of
from reference.control_plane.registration_rights import RegistrationRights
from reference.web.http.asgi_envelope import ROUTE, Scope
from reference.web.http.bearer_token import BearerToken, build_unauthorized, has_token
from reference.web.http.peers import Networks
from reference.web.http.rate import AddressLimit
from reference.web.http.request_guard import RequestGuard


class ControlPlaneGuard:
    """Admits calls that an operation answers, from callers that may use it."""

    def __init__(
        self, routes: Routes, token: BearerToken, limit: AddressLimit, proxies: Networks, rights: RegistrationRights
    ) -> None:
        """Take the rules.

        Args:
            routes: Every operation.
            token: The admin token; its calls are not counted.
            limit: Counts every other call under its address.
            proxies: Networks whose `X-Forwarded-For` is believed (P-CV-19).
            rights: Judges registrations of services, once their bodies are read.
        """
        self._routes = routes
        self._token = token
        self._rights = rights
        self._gate = RequestGuard(
            routes.find_methods, limit, proxies, exempt=token.is_sent_with, path_of=raw_path_of, options=False
        )

    async def __call__(self, scope: Scope) -> None:
        """Judge one call.

        Raises:
            Refused: 401, 404, 405, 415 or 429.
        """
        # Limit and route first, so that guesses of tokens are counted.
        await self._gate(scope)
        operation, _ = self._routes.find(scope)
        scope[ROUTE] = operation.path
        if operation.is_for_admin and not self._token.is_sent_with(scope):
            if self._rights.is_registration(operation) and has_token(scope):
                # The name in the body decides whose token it is, so the registration is judged after reading it.
                return
            raise build_unauthorized()
