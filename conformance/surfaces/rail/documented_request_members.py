"""Members that the target's OpenAPI document names for the request of a paid operation."""

from __future__ import annotations

from conformance.discovery.openapi_bodies import body_schema, members
from conformance.discovery.openapi_paths import apply_server_paths
from conformance.discovery.rail import OPENAPI, Operation
from conformance.engine.check import Case


async def described_members(case: Case, operation: Operation) -> frozenset[str]:
    """Return the names of the described members; none if the document describes no request."""
    # The document of the target is read again, because the catalog keeps only what a purchase
    # needs.
    rail = case.session.rail
    document = apply_server_paths((await case.client.call("GET", rail + OPENAPI)).read_object(), rail)
    return frozenset(members(document, body_schema(document, operation.path)))
