"""Calls of the API: the checks before an operation runs, in the order of specification 3.1.

`RequestGuard` checks route, method and the limit of the address before the body is read. The envelope checks the size
of the body. This module checks the rest: credential, limit of the tenant, media type, JSON, schema.
"""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from reference.gateway import refusals
from reference.gateway.credentials import Caller, Credentials
from reference.gateway.rate_limits import Limits
from reference.protocol.canonical_json import JsonValue, NotCanonical, NotJson, canonicalise, parse, whole_numbers
from reference.web.errors import Refused, Unprocessable
from reference.web.http.asgi_envelope import Scope
from reference.web.http.exchange import Reply, Request

ModelType = TypeVar("ModelType", bound=BaseModel)


class Access(Enum):
    """The callers that an operation admits."""

    OPEN = "open"
    RECEIPTS = "receipts"
    TENANT = "tenant"
    ADMIN = "admin"


@dataclass(frozen=True, slots=True)
class Body:
    """A JSON body.

    Attributes:
        value: The parsed value.
        data: The bytes as they were sent. They have the literal text of numbers, which the value lacks (P-MN-02).
        hash: `sha256:` and the hash of its canonical form.
    """

    value: JsonValue
    data: bytes
    hash: str


@dataclass(frozen=True, slots=True)
class Call:
    """A call whose credential and body were accepted.

    Attributes:
        request: The HTTP request.
        request_id: Its id.
        arguments: Named parts of its path.
        content: The body as read by the operation's reader.
        body: The body itself, for idempotency keys.
        caller: The tenant, for operations of tenants.
        scopes: Scopes of the administrator, for those of administrators.
    """

    request: Request
    request_id: str
    arguments: Mapping[str, str]
    content: Any
    body: Body
    caller: Caller | None = None
    scopes: frozenset[str] = frozenset()

    @property
    def tenant(self) -> Caller:
        """The tenant who calls an operation of tenants."""
        if self.caller is None:
            raise LookupError("the operation is not one of tenants")
        return self.caller


@dataclass(frozen=True, slots=True)
class Operation:
    """One method of one path.

    Attributes:
        method: GET, POST, …
        rule: Path, with `<name>` for its parts.
        handler: Does it.
        access: Who may call it.
        read_content: Makes the content of the body, or raises `Unprocessable`; None when the operation takes no body.
        scope: What an administrator's key must allow.
    """

    method: str
    rule: str
    handler: Callable[[Call], Awaitable[Reply]]
    access: Access = Access.OPEN
    read_content: Callable[[Body], Any] | None = None
    scope: str = ""

    @property
    def endpoint(self) -> str:
        """Its name in the app."""
        return f"{self.method} {self.rule}"


class Calls:
    """Takes calls to their operations."""

    def __init__(self, credentials: Credentials, limits: Limits) -> None:
        self._credentials = credentials
        self._limits = limits

    async def answer(self, operation: Operation, scope: Scope, request: Request, call: Mapping[str, Any]) -> Reply:
        """Answer one call.

        Args:
            operation: What was called.
            scope: The call's ASGI scope, which takes the headers of its limits.
            request: The call.
            call: `request_id` and `arguments`.

        Raises:
            Refused: By the first check that fails, or by the operation.
            Unprocessable: The body does not fit the operation's schema.
        """
        # The order is that of specification 3.1. A call without a credential learns nothing about the form of its body.
        caller, scopes = await self._admit(operation, scope, request)
        body = read_body(request, is_required=operation.read_content is not None)
        content = None if operation.read_content is None else operation.read_content(body)
        return await operation.handler(Call(request, content=content, body=body, caller=caller, scopes=scopes, **call))

    async def _admit(
        self, operation: Operation, scope: Scope, request: Request
    ) -> tuple[Caller | None, frozenset[str]]:
        try:
            if operation.access is Access.ADMIN:
                return None, await self._credentials.admin(request, operation.scope)
            if operation.access is not Access.TENANT:
                return None, frozenset()
            caller = await self._credentials.tenant(request)
        except Refused:
            # A call with an unaccepted credential counts as one without. The guard has charged calls without any, but
            # could not know that this one would fail. So guessing keys is limited by address (P-RL-03).
            if "authorization" in request.headers:
                await self._limits.charge_address(scope)
            raise
        await self._limits.charge_tenant(scope, caller.tenant.id)
        return caller, frozenset()


def read_body(request: Request, *, is_required: bool) -> Body:
    """Return the body of a call (P-GW-01, P-CV-02, P-CV-20).

    Raises:
        Refused: 415, or 400 `invalid_request` when it is not JSON or empty although required.
        Unprocessable: It has no canonical form.
    """
    # A browser can send a form of a foreign page here, but not JSON without asking first. So another media type is
    # refused before the body is parsed.
    if (request.body or "content-type" in request.headers) and not request.is_json:
        raise refusals.unsupported_media_type()
    if any(coding.strip().lower() != "identity" for coding in request.headers.get("content-encoding", ())):
        raise refusals.unsupported_media_type()
    # Operations with a schema need a body, the others do not.
    if not request.body:
        if is_required:
            raise refusals.invalid_request("send a body of JSON")
        return Body(None, b"", "")
    try:
        value = parse(request.body)
        body_hash = "sha256:" + hashlib.sha256(canonicalise(value)).hexdigest()
    except NotJson as fault:
        raise refusals.invalid_request(f"the body is not JSON: {fault}") from fault
    except NotCanonical as fault:
        raise Unprocessable([{"loc": ["body"], "msg": str(fault), "type": "not_canonical"}]) from fault
    return Body(value, request.body, body_hash)


def build_reader(model: type[ModelType]) -> Callable[[Body], ModelType]:
    """Return what reads a body as a model."""

    def read_model(body: Body) -> ModelType:
        return fit_model(model, body.value)

    return read_model


def fit_model(model: type[ModelType], value: Any) -> ModelType:
    """Return the model that a value fits.

    Raises:
        Unprocessable: It does not.
    """
    try:
        # JSON has no integers: 1.0 and 1 are the same number there, and the models are strict about Python's types.
        return model.model_validate(whole_numbers(value))
    except ValidationError as fault:
        raise Unprocessable.of(fault) from fault
