"""An HTTP message as RFC 9421 looks at it, with the values of its derived components."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final
from urllib.parse import parse_qsl, quote

Fields = tuple[tuple[str, str], ...]

_DEFAULT_PORTS: Final = {"http": "80", "https": "443"}
_FOLD = re.compile(r"[ \t]*\r?\n[ \t]+")
_OWS: Final = " \t"


class NoStatus(LookupError):
    """`@status` of a message that has none."""


class NotThisKind(LookupError):
    """A derived component that this kind of message does not have."""


@dataclass(frozen=True, slots=True)
class Message:
    """A request, or a response when it has a status.

    Attributes:
        method: Method with its case kept; empty for a response.
        authority: Host and port as the caller addressed them; empty for a response.
        scheme: Scheme of the target URI.
        target: Path and query of the target URI, before any decoding.
        request_target: Request target as sent, where that is another form than path and query (RFC 9112 3.2).
        headers: Header fields in order, one pair a field line, values as they came.
        trailers: Trailer fields in order; None where the carrier of the message has no place for them.
        body: Content as sent, after any content coding.
        status: Status code; None for a request.
        request: The request that a response answers; None where it is not known.
    """

    method: str = ""
    authority: str = ""
    scheme: str = "https"
    target: str = "/"
    headers: Fields = ()
    trailers: Fields | None = None
    body: bytes = b""
    status: int | None = None
    request: Message | None = None
    request_target: str | None = None

    @property
    def is_response(self) -> bool:
        """Whether the message answers a request."""
        return self.status is not None

    def field_lines(self, name: str, *, trailer: bool = False) -> list[str]:
        """Return the values of a field, one a line, trimmed and with line folds made one space (RFC 9421, 2.1)."""
        fields = (self.trailers or ()) if trailer else self.headers
        # RFC 9421, 2.1: obsolete line folds become one space, and white space around a value
        # is removed.
        return [_FOLD.sub(" ", value).strip(_OWS) for given, value in fields if given.lower() == name]

    def field(self, name: str, *, trailer: bool = False) -> str | None:
        """Return a field's lines joined by a comma and a space; None when there is no such field."""
        lines = self.field_lines(name, trailer=trailer)
        return ", ".join(lines) if lines else None

    @property
    def path(self) -> str:
        """The path of the target, before any decoding; `/` where it is empty."""
        return self.target.partition("?")[0] or "/"

    @property
    def query(self) -> str | None:
        """The query of the target without its `?`, before any decoding; None when there is no `?`."""
        _, mark, query = self.target.partition("?")
        return query if mark else None

    def normal_authority(self) -> str:
        """Return host and port in lower case, without the scheme's default port (RFC 9110, 4.2.3)."""
        # The last colon separates the port. An IPv6 address has more of them, in brackets.
        host, colon, port = self.authority.lower().rpartition(":")
        if not colon or not (port.isdecimal() or not port):
            return self.authority.lower()
        return host if port in {"", _DEFAULT_PORTS.get(self.scheme.lower())} else f"{host}:{port}"

    def derived_value(self, name: str) -> str:
        """Return the value of a derived component other than `@query-param`.

        Raises:
            KeyError: There is no derived component of that name.
            NoStatus: It is `@status` and the message has none.
            NotThisKind: It belongs to a request and this is a response.
        """
        derive = _DERIVED_VALUES[name]
        if name == "@status" and not self.is_response:
            raise NoStatus("the message has no status: it is a request")
        if name != "@status" and self.is_response:
            raise NotThisKind(f"{name} belongs to a request")
        return derive(self)

    def query_parameters(self, name: str) -> list[str]:
        """Return the values of a query parameter, re-encoded, for its encoded name (RFC 9421, 2.2.8).

        Raises:
            NotThisKind: The message is a response.
        """
        if self.is_response:
            raise NotThisKind("@query-param belongs to a request")
        # RFC 9421, 2.2.8: names and values are decoded and encoded again, so that their
        # percent-encoding has one form.
        pairs = parse_qsl(self.query or "", keep_blank_values=True, errors="replace")
        return [encode_form(value) for key, value in pairs if encode_form(key) == name]


def encode_form(text: str) -> str:
    """Percent-encode as HTML forms do, with a space as %20."""
    return quote(text, safe="*-._", errors="surrogatepass").replace("~", "%7E")


def _target_uri(message: Message) -> str:
    query = "" if message.query is None else f"?{message.query}"
    # The target URI of CONNECT, and of OPTIONS for a whole server, ends after the authority (RFC 9112 3.3).
    bare = message.request_target is not None and not message.target and message.method in {"CONNECT", "OPTIONS"}
    path = "" if bare else message.path
    return f"{message.scheme.lower()}://{message.authority}{path}{query}"


def _request_target(message: Message) -> str:
    if message.request_target is not None:
        return message.request_target
    return f"/{message.target}" if message.target[:1] in {"", "?"} else message.target


# The derived components of RFC 9421, 2.2. A query parameter is apart, because it needs the name of the parameter.
_DERIVED_VALUES: Final[dict[str, Callable[[Message], str]]] = {
    "@method": lambda message: message.method,
    "@target-uri": _target_uri,
    "@authority": Message.normal_authority,
    "@scheme": lambda message: message.scheme.lower(),
    "@request-target": _request_target,
    "@path": lambda message: message.path,
    "@query": lambda message: f"?{message.query or ''}",
    "@status": lambda message: str(message.status),
}
DERIVED_NAMES: Final = frozenset({*_DERIVED_VALUES, "@query-param"})
