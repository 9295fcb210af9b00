"""Unusual bodies that an operation does not refuse, found by probing before the suite pays for them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from conformance.discovery.body_probe import probe_body
from conformance.discovery.encoder_sensitive_bodies import MILDEST, repeated_bodies
from conformance.discovery.rail import Operation
from conformance.http.client import Client


async def unusual_bodies(client: Client, operation: Operation) -> list[Any]:
    """Return unusual bodies of an operation, the most informative first; none if it accepts none.

    The first has an unusual value in each member that accepts one. The second has one mild text, for an operation that
    checks the body only after the payment.

    Raises:
        Unreachable: It gave no answer.
    """
    body = operation.body
    for place in operation.unusual:
        for value in place.values:
            candidate = {**body, place.member: value}
            # Each member is probed with those before it in place, because the paid request has all of them at
            # once.
            if await probe_body(client, replace(operation, body=candidate)) is None:
                body = candidate
                break
    if body == operation.body:
        return []
    mild = (
        {**operation.body, place.member: value}
        for place in operation.unusual
        for value in place.values
        if isinstance(value, str) and value.endswith(MILDEST) and isinstance(operation.body.get(place.member), str)
    )
    second = next(mild, None)
    return [body] if second is None or second == body else [body, second]


async def repeated_body(client: Client, operation: Operation) -> Any:
    """Return a body whose unusual texts the operation may repeat in its result, or None if it accepts none.

    Raises:
        Unreachable: It gave no answer.
    """
    for body in repeated_bodies(operation.body):
        if await probe_body(client, replace(operation, body=body)) is None:
            return body
    return None
