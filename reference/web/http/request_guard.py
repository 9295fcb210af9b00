"""Request guard: checks of a call's head before its body is read, which are address limit, route and method.

For the surfaces whose errors are `{"detail":…}` (P-RL-06, P-RL-07, P-CV-10).
"""

from __future__ import annotations

from collections.abc import Callable

from reference.web.errors import Refused
from reference.web.http.asgi_envelope import ANSWER_HEADERS, Scope
from reference.web.http.peers import Networks, client_address, read_hops
from reference.web.http.rate import AddressLimit, build_too_many


class RequestGuard:
    """Admits calls that an operation answers."""

    def __init__(
        self,
        methods_of: Callable[[str], frozenset[str] | None],
        limit: AddressLimit,
        proxies: Networks,
        *,
        exempt: Callable[[Scope], bool] | None = None,
        path_of: Callable[[Scope], str] = lambda scope: str(scope["path"]),
        options: bool = True,
    ) -> None:
        """Take the routes.

        Args:
            methods_of: Returns the methods that a path answers, None when there is no such path.
            limit: Charges each call to its address.
            proxies: Networks whose `X-Forwarded-For` is believed (P-CV-19).
            exempt: Returns whether a call is free of charge.
            path_of: Returns the path of a call as `methods_of` takes it.
            options: Whether OPTIONS is answered on every path.
        """
        self._methods_of = methods_of
        self._limit = limit
        self._proxies = proxies
        self._exempt = exempt
        self._path_of = path_of
        self._always = {"OPTIONS"} if options else set[str]()

    async def __call__(self, scope: Scope) -> None:
        """Judge one call.

        Raises:
            Refused: 404, 405, 415 or 429.
        """
        # First, so that probing for paths costs an attacker its allowance as well.
        await self._charge(scope)
        methods = self._methods_of(self._path_of(scope))
        if methods is None:
            raise Refused(404, "not_found", "Not Found")
        if scope["method"] in self._always:
            return
        if scope["method"] not in methods:
            allow = {"Allow": ", ".join(sorted({*methods, *self._always}))}
            raise Refused(405, "method_not_allowed", "Method Not Allowed", allow)
        content_coding = next((value for name, value in scope["headers"] if name == b"content-encoding"), b"identity")
        if content_coding.strip().lower() != b"identity":
            raise Refused(415, "unsupported_media_type", "send the body without a content coding")

    async def _charge(self, scope: Scope) -> None:
        if self._exempt is not None and self._exempt(scope):
            return
        fields = [value.decode("latin-1") for name, value in scope["headers"] if name == b"x-forwarded-for"]
        peer = scope.get("client") or ("", 0)
        allowance = await self._limit.charge(client_address(str(peer[0]), read_hops(fields), self._proxies))
        if allowance is None:
            return
        scope[ANSWER_HEADERS] = allowance.headers()
        if not allowance.is_allowed:
            raise build_too_many(allowance)
