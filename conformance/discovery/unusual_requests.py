"""The most unusual requests that an operation is not seen to refuse, found out before any client pays for them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from conformance.discovery.rail import Operation
from conformance.discovery.rehearsing import probe_body
from conformance.discovery.unusual_bodies import MILDEST, repeated_bodies
from conformance.http.client import Client


async def unusual_bodies(client: Client, operation: Operation) -> list[Any]:
    """Return unusual bodies of an operation in the order in which they are worth buying, none where it takes none.

    The first has an unusual value in each member that takes one. The second has one harmless text, for an operation
    that looks at a body only behind its payment.

    Raises:
        Unreachable: It gave no answer.
    """
    body = operation.body
    for place in operation.unusual:
        for value in place.values:
            candidate = {**body, place.member: value}
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
    """Return a body whose unusual texts the operation may repeat in its result, None where it takes none.

    Raises:
        Unreachable: It gave no answer.
    """
    for body in repeated_bodies(operation.body):
        if await probe_body(client, replace(operation, body=body)) is None:
            return body
    return None
