"""Bearer tokens: a surface's token on disk, and its comparison with calls (P-CV-12)."""

from __future__ import annotations

import base64
import hmac
import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from reference.web.errors import Refused
from reference.web.http.asgi_envelope import Scope
from reference.web.keyring import make_secret, secret_id

_BYTES = 32
_FIELD = b"authorization"
_TOKEN = re.compile(r"[A-Za-z0-9_-]{43}")
_BEARER = re.compile(r"bearer +([^ ]+) *", re.IGNORECASE)


@dataclass(frozen=True, slots=True, repr=False)
class BearerToken:
    """A token of 43 base64url characters. It shows nothing of itself."""

    _token: bytes

    @classmethod
    def of(cls, path: Path) -> BearerToken:
        """Return the token of a file, made on the first run with mode 0600.

        Raises:
            ValueError: The file holds something else.
        """
        if not path.exists():
            make_secret(path, secrets.token_urlsafe(_BYTES).encode())
        token = path.read_text("utf-8").strip()
        # A file that was edited by hand must not lock out every caller without a reason being given.
        if _TOKEN.fullmatch(token) is None:
            raise ValueError(f"{path} does not hold a token of 43 base64url characters")
        return cls(token.encode())

    def derive(self, purpose: str) -> BearerToken:
        """Return the token for a purpose. It is computed from this token, which cannot be computed from it."""
        # One secret on disk gives a token for each purpose, and a leaked one reveals neither the secret nor the others.
        digest = hmac.digest(self._token, purpose.encode(), "sha256")
        return BearerToken(base64.urlsafe_b64encode(digest).rstrip(b"="))

    def text(self) -> str:
        """Return the token itself, for the client that is to use it."""
        return self._token.decode()

    @property
    def id(self) -> str:
        """A name of the token that reveals nothing of it."""
        return secret_id(self._token)

    def is_sent_with(self, scope: Scope) -> bool:
        """Return whether a call carries the token, by its head alone."""
        return self.is_in([value.decode("latin-1") for name, value in scope["headers"] if name.lower() == _FIELD])

    def is_in(self, fields: Sequence[str]) -> bool:
        """Return whether `Authorization` came once and with the token, compared in constant time."""
        # Exactly one field: with two, a proxy and this service could read different ones.
        bearer = _BEARER.fullmatch(fields[0]) if len(fields) == 1 else None
        return bearer is not None and hmac.compare_digest(bearer[1].encode(), self._token)


def has_token(scope: Scope) -> bool:
    """Return whether a call carries, once, anything of a token's form."""
    fields = [value.decode("latin-1") for name, value in scope["headers"] if name.lower() == _FIELD]
    bearer = _BEARER.fullmatch(fields[0]) if len(fields) == 1 else None
    return bearer is not None and _TOKEN.fullmatch(bearer[1]) is not None


def build_unauthorized() -> Refused:
    """Return the refusal of a call without the token."""
    return Refused(401, "unauthorized", "Unauthorized", {"WWW-Authenticate": "Bearer"})
