"""One error tree for every surface, mapped to the wire once (P-ER-04, P-CV-18)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError

from reference.protocol.error_codes import WEB_LAYER, ErrorCode

_TYPES_WITHOUT_INPUT = ("loc", "msg", "type")


@dataclass(eq=False)  # not frozen: Python sets __traceback__ on an exception that passes through `async with`
class Refused(Exception):
    """A call that is refused, with its own code.

    Attributes:
        status: HTTP status.
        code: Code token, `^[a-z0-9_]+$`.
        message: What is wrong and what to do, for people; never a secret.
        headers: Further response headers.
        context: Further members of the body, on surfaces that return them.
    """

    status: int
    code: str
    message: str
    headers: Mapping[str, str] = field(default_factory=dict)
    context: Mapping[str, Any] = field(default_factory=dict)

    def body(self, request_id: str, *, context: bool = False) -> dict[str, Any]:
        """Return the error body, with its context or without (the rail's has none, P-ER-04)."""
        body = {"error": self.code, "message": self.message, "request_id": request_id}
        return {**body, **self.context} if context else body


@dataclass(eq=False)
class Unprocessable(Exception):
    """A body that the operation does not accept: 422 with `detail`.

    Attributes:
        detail: Items with `loc`, `msg` and `type`.
        headers: Further response headers.
    """

    detail: Sequence[Mapping[str, Any]]
    headers: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def not_json(cls, reason: str) -> Unprocessable:
        """Return the fault of a body that is not JSON (P-CV-13)."""
        return cls([{"loc": ["body"], "msg": f"the body is not JSON: {reason}", "type": "json_invalid"}])

    @classmethod
    def of(cls, fault: ValidationError) -> Unprocessable:
        """Return the faults that a model found, without the input."""
        return cls(
            [
                {"loc": ["body", *item["loc"]], "msg": item["msg"], "type": item["type"]}
                # Without the input, which may hold a secret (P-CV-12).
                for item in fault.errors(include_url=False, include_context=False, include_input=False)
            ]
        )

    def body(self) -> dict[str, Any]:
        """Return the error body."""
        return {"detail": [dict(item) for item in self.detail]}


def refusal(
    row: ErrorCode, headers: Mapping[str, str] | None = None, context: Mapping[str, Any] | None = None, **values: str
) -> Refused:
    """Return the refusal of a row of an error table.

    Args:
        row: The row.
        headers: Further headers; `Retry-After` is that of the row.
        context: Further members of the body.
        values: What the braces in the row's message stand for.
    """
    retry = {} if row.retry is None else {"Retry-After": str(row.retry)}
    return Refused(row.status, row.code, row.message.format(**values), {**retry, **(headers or {})}, context or {})


def internal_error() -> Refused:
    """Return the answer to an unexpected fault, without any detail of the fault."""
    return refusal(WEB_LAYER["internal_error"])
