"""What is judged by a call's head alone, before its body is read: limit of the address, route, method (P-RL-06)."""

from __future__ import annotations

from collections.abc import Mapping

from reference.web.envelope import ANSWER_HEADERS, Scope
from reference.web.errors import Refused
from reference.web.peers import Networks, client_address, hops
from reference.web.rate import RateLimit, too_many


class Gate:
    """Lets calls through that some operation answers."""

    def __init__(self, methods: Mapping[str, frozenset[str]], limit: RateLimit, proxies: Networks) -> None:
        """Take the routes.

        Args:
            methods: By path, the methods that it answers; paths are literal.
            limit: Charges each call to its address.
            proxies: Networks whose `X-Forwarded-For` is believed (P-CV-19).
        """
        self._methods = methods
        self._limit = limit
        self._proxies = proxies

    def __call__(self, scope: Scope) -> None:
        """Judge one call.

        Raises:
            Refused: 404, 405, 415 or 429.
        """
        self._charge(scope)
        methods = self._methods.get(scope["path"])
        if methods is None:
            raise Refused(404, "not_found", "Not Found")
        if scope["method"] == "OPTIONS":
            return
        if scope["method"] not in methods:
            allow = {"Allow": ", ".join(sorted({*methods, "OPTIONS"}))}
            raise Refused(405, "method_not_allowed", "Method Not Allowed", allow)
        coding = next((value for name, value in scope["headers"] if name == b"content-encoding"), b"identity")
        if coding.strip().lower() != b"identity":
            raise Refused(415, "unsupported_media_type", "send the body without a content coding")

    def _charge(self, scope: Scope) -> None:
        fields = [value.decode("latin-1") for name, value in scope["headers"] if name == b"x-forwarded-for"]
        peer = scope.get("client") or ("", 0)
        allowance = self._limit.take(client_address(str(peer[0]), hops(fields), self._proxies))
        if allowance is None:
            return
        scope[ANSWER_HEADERS] = allowance.headers()
        if not allowance.allowed:
            raise too_many(allowance)
