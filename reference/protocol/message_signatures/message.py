"""A message as a signature sees it: a request, or a response with the request that it answers (RFC 9421 section 2)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from urllib.parse import parse_qsl, quote

from reference.protocol.message_signatures.fields import Fields


# Mutable and not frozen: building one must be cheap, because every verification builds one. The diagnosis changes
# copies of it.
@dataclass
class Message:
    """One message.

    Attributes:
        fields: Its header fields.
        content: Its content, as it is sent.
        method: A request's method, its case kept; None in a response, like all members up to `scheme`.
        authority: Host and port as they are sent.
        path: The path of its target, without `?`; an empty one is `/` (P-AG-01).
        query: The query without `?`, or None when the target has none.
        scheme: The scheme of its target.
        status: A response's status.
        trailers: Its trailer fields; None if they are unknown.
        related_request: The request that a response answers; None when it is not known.
    """

    fields: Fields
    content: bytes = b""
    method: str | None = None
    authority: str | None = None
    path: str | None = None
    query: str | None = None
    scheme: str | None = None
    status: int | None = None
    trailers: Fields | None = None
    related_request: Message | None = None

    @cached_property
    def query_parameters(self) -> Mapping[str, list[str]]:
        """The query read as a form: encoded name to encoded values (RFC 9421 section 2.2.8)."""
        parameters: dict[str, list[str]] = {}
        for name, value in parse_qsl(self.query or "", keep_blank_values=True):
            parameters.setdefault(_form_encoded(name), []).append(_form_encoded(value))
        return parameters


def _form_encoded(text: str) -> str:
    # RFC 9421 2.2.8 decodes the query as a form and encodes name and value again with the
    # application/x-www-form-urlencoded percent-encode set. Python's `quote` leaves the tilde alone, that set does
    # not.
    return quote(text, safe="*").replace("~", "%7E")
