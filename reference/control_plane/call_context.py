"""Calls and operations: the caller's rights, the body and the query of a call (7.1)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl

from pydantic import BaseModel

from reference.protocol.audit_chain import ADMIN
from reference.web.errors import Refused, Unprocessable
from reference.web.http.cached_document import Document
from reference.web.http.exchange import Reply, Request
from reference.web.http.json_body import as_model, read_canonical


@dataclass(frozen=True, slots=True)
class Registrant:
    """The client that registers a service.

    Attributes:
        actor: Its name in the log.
        is_bound_to_address: Whether it registers only where the service is recorded already.
    """

    actor: str = ADMIN
    is_bound_to_address: bool = False

    @property
    def is_admin(self) -> bool:
        """Whether it is the administrator."""
        return self.actor == ADMIN


@dataclass(frozen=True, slots=True)
class Call:
    """A call whose credential and form were checked.

    Attributes:
        request: The HTTP request.
        is_admin: Whether it came with the admin token.
        segment: Last segment of its path as it was sent.
        content: The body as the operation's model.
        by: The registrant, if the call registers a service.
    """

    request: Request
    is_admin: bool
    segment: bytes
    content: Any = None
    by: Registrant = field(default_factory=Registrant)

    def reply_with_document(self, document: Document) -> Reply:
        """Return a document, or 304 when the caller has it already."""
        return document.reply(self.request.first_value("if-none-match"))

    def read_query(self) -> Mapping[str, str]:
        """Return the query by name.

        Raises:
            Unprocessable: It gives one name twice.
        """
        pairs = parse_qsl(self.request.query, keep_blank_values=True)
        values = dict(pairs)
        # Of two values one reader takes the first and another the last, so neither is taken.
        if len(values) != len(pairs):
            raise build_bad_query(
                next(name for name, _ in pairs if sum(name == one for one, _ in pairs) > 1), "is given twice"
            )
        return values


@dataclass(frozen=True, slots=True)
class Operation:
    """One method of one path.

    Attributes:
        method: HTTP method; HEAD goes with GET.
        path: Literal path, or one that ends in `/` for all with exactly one segment more.
        answer: Answers the call.
        is_for_admin: Whether it wants the admin token.
        body_model: Model of the body.
    """

    method: str
    path: str
    answer: Callable[[Call], Awaitable[Reply]]
    is_for_admin: bool = False
    body_model: type[BaseModel] | None = None


def read_body(model: type[BaseModel], body: bytes) -> BaseModel:
    """Return a body as the operation's model.

    Raises:
        Unprocessable: It is not JSON, has no canonical form, or does not fit the model (P-CV-13, P-CV-20).
    """
    # A body without a canonical form could not be written into the audit chain (P-CV-20).
    return as_model(model, read_canonical(body))


def build_bad_query(name: str, sentence: str) -> Unprocessable:
    """Return the fault of a query parameter."""
    return Unprocessable([{"loc": ["query", name], "msg": f"{name} {sentence}", "type": "value_error"}])


def build_not_found() -> Refused:
    """Return the refusal of an unknown issuer or service."""
    return Refused(404, "not_found", "Not Found")
