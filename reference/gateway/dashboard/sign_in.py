"""Sign-in by an administrator's or a tenant's key, sessions of half an hour, and sign-out (3.9)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from werkzeug.http import dump_cookie, parse_cookie

from reference.gateway.credentials import Credentials, digest_of, fresh_secret
from reference.gateway.dashboard.forms import csrf_token
from reference.gateway.settings import GatewaySettings
from reference.store.sessions import Sessions
from reference.web.clock import WpClock
from reference.web.http.exchange import Request

# The cookie lasts for half an hour (3.9). The session itself may end earlier, with its key.
SESSION_SECONDS = 1800
ROOT = "/dashboard"
SHOP = f"{ROOT}/shop"
_SECRET = re.compile(r"[A-Za-z0-9_-]{43}")
_LONGEST_KEY = 255


@dataclass(frozen=True, slots=True)
class Visitor:
    """The holder of a session.

    Attributes:
        digest: The session, as the store knows it.
        scopes: What his key may do, nothing for a tenant's.
        expires_at: Unix seconds at which he has to sign in again.
        secret: The text of his cookie.
        tenant_id: The tenant whose key it is; None for an administrator.
        mode: `test` or `live`, as a tenant's key is.
    """

    digest: str
    scopes: frozenset[str]
    expires_at: int
    secret: str = field(repr=False)
    tenant_id: str | None = None
    mode: str = ""

    @property
    def home(self) -> str:
        """Where his pages begin."""
        return ROOT if self.tenant_id is None else SHOP

    @property
    def csrf(self) -> str:
        """The token of his forms."""
        return csrf_token(self.secret)

    def may(self, *scopes: str) -> bool:
        """Return whether his key has one of some scopes."""
        return not self.scopes.isdisjoint(scopes)


@dataclass(frozen=True, slots=True)
class SignedIn:
    """A new session.

    Attributes:
        headers: What tells the browser.
        home: Where his pages begin.
    """

    headers: Mapping[str, str]
    home: str


class SignIn:
    """Begins and ends sessions of administrators and tenants, for all workers."""

    def __init__(self, settings: GatewaySettings, clock: WpClock, credentials: Credentials, sessions: Sessions) -> None:
        self._clock = clock
        self._credentials = credentials
        self._sessions = sessions
        self._secure = settings.public_url.startswith("https://")
        # With the prefix `__Host-`, no other host of the domain can plant a cookie. Browsers accept it over https only.
        prefix, self._path = ("__Host-", "/") if self._secure else ("", ROOT)
        self._session_name = f"{prefix}{settings.word.lower}-session"
        self._guard_name = f"{prefix}{settings.word.lower}-sign-in"

    async def visitor(self, call: Request) -> Visitor | None:
        """Return the holder of the session of a call, or None without a session."""
        secret = _cookie(call, self._session_name)
        session = None if secret is None else await self._sessions.find(digest_of(secret), now=self._clock.now())
        if session is None or secret is None:
            return None
        return Visitor(session.digest, session.scopes, session.expires_at, secret, session.tenant_id, session.mode)

    async def sign_in(self, request: Request, key: str) -> SignedIn | None:
        """Begin a session; None when the key is not accepted.

        A session that the browser had ends.
        """
        # Hashing is cheap, but a text of megabytes is no key. It is refused before it is hashed.
        if len(key) > _LONGEST_KEY:
            return None
        digest, expires_at = digest_of(secret := fresh_secret()), self._clock.now() + SESSION_SECONDS
        # A session that the browser had ends first, so that signing in as another does not leave a usable cookie
        # behind.
        if await self._credentials.scopes(key) is not None:
            await self.sign_out(await self.visitor(request))
            await self._sessions.begin(digest, digest_of(key), expires_at=expires_at)
            return SignedIn(self._set_cookie(self._session_name, secret), ROOT)
        api_key = await self._credentials.key_of_tenant(key)
        if api_key is None:
            return None
        await self.sign_out(await self.visitor(request))
        await self._sessions.begin_tenant(digest, api_key.id, expires_at=expires_at)
        return SignedIn(self._set_cookie(self._session_name, secret), SHOP)

    async def sign_out(self, visitor: Visitor | None) -> Mapping[str, str]:
        """End a session at once, on every worker, and return the header that tells the browser."""
        if visitor is not None:
            await self._sessions.end(visitor.digest)
        return self._set_cookie(self._session_name, "", seconds=0)

    async def accept_form_once(self, visitor: Visitor, form_id: str) -> bool:
        """Record that a form was sent, and return whether this was the first time, on any worker."""
        return await self._sessions.send(visitor.digest, form_id)

    async def forget(self) -> None:
        """Delete expired sessions."""
        await self._sessions.forget(now=self._clock.lapsed_until())

    # There is no session at the sign-in, so a separate cookie guards its form. Without it, a foreign page could sign a
    # browser in with a key of an attacker.

    def guard(self, request: Request) -> str | None:
        """Return the secret that the token of the sign-in form belongs to, None without one."""
        return _cookie(request, self._guard_name)

    def fresh_guard(self) -> tuple[str, Mapping[str, str]]:
        """Return a new one and the header that tells the browser."""
        secret = fresh_secret()
        return secret, self._set_cookie(self._guard_name, secret)

    def _set_cookie(self, name: str, value: str, seconds: int = SESSION_SECONDS) -> Mapping[str, str]:
        cookie = dump_cookie(
            name,
            value,
            max_age=seconds,
            path=self._path,
            secure=self._secure,
            httponly=True,
            samesite="Strict",
        )
        return {"Set-Cookie": cookie}


def _cookie(request: Request, name: str) -> str | None:
    """Return the value of a cookie, or None if it is missing or has another form."""
    # The cookies of this gateway are ASCII. Cookies of other services on the same host may contain anything.
    cookies = "; ".join(request.headers.get("cookie", ())).encode("ascii", "ignore").decode()
    value = parse_cookie(cookies).get(name, "")
    return value if _SECRET.fullmatch(value) else None
