"""Request and reply: one call and its answer, as the code of an app sees them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field

from werkzeug.http import parse_options_header

from reference.fast_records import record
from reference.web.http.asgi_envelope import Scope

JSON = "application/json"


@record
class Request:
    """One call.

    Attributes:
        path: Its path.
        method: Its method.
        query: Raw query without `?`.
        headers: Every header field, names in lower case.
        body: Raw body.
        peer: Address of the other end of the connection.
        answer_headers: Headers that the handler of the call adds to the answer, also if it is an error; JSON-RPC only.
    """

    path: str
    method: str
    query: str
    headers: Mapping[str, Sequence[str]]
    body: bytes
    peer: str
    answer_headers: dict[str, str] = field(default_factory=dict, compare=False)

    def first_value(self, name: str) -> str:
        """Return the first value of a header, or the empty string."""
        return next(iter(self.headers.get(name, ())), "")

    @property
    def is_json(self) -> bool:
        """Whether the media type is JSON; a charset may only be utf-8."""
        fields = self.headers.get("content-type", ())
        # The usual case, without parsing the header.
        if fields == [JSON]:
            return True
        media, parameters = parse_options_header(fields[0] if len(fields) == 1 else "")
        return media.lower() == JSON and parameters.get("charset", "utf-8").lower() == "utf-8"


@record
class Reply:
    """One answer."""

    status: int
    body: bytes
    headers: Mapping[str, str]


def read_request(scope: Scope, path: str, body: bytes) -> Request:
    """Return the call that an ASGI scope describes."""
    headers: dict[str, list[str]] = {}
    for name, value in scope["headers"]:
        # Every field is kept, also repeated ones: which of two counts is decided where the header is used.
        headers.setdefault(name.decode("latin-1").lower(), []).append(value.decode("latin-1"))
    peer = scope.get("client") or ("", 0)
    query: bytes = scope["query_string"]
    return Request(path, scope["method"], query.decode("latin-1"), headers, body, str(peer[0]))
