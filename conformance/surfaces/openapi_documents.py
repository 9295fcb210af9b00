"""OpenAPI documents that surfaces publish: where they are, with their operations at the paths to call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from conformance.discovery.openapi_paths import apply_server_paths
from conformance.engine.check import Case
from conformance.http.client import Answer, Client

# Usual places of a document, tried if the profile binds none.
_USUAL_PATHS = ("/openapi.json", "/v1/openapi.json", "/.well-known/openapi.json", "/api/openapi.json", "/swagger.json")


async def published_document(case: Case, surface: str) -> Mapping[str, Any] | None:
    """Return the OpenAPI document of a surface, with every operation at its path below the surface's address.

    None if no known place has one.

    Raises:
        Unreachable: It gave no answer.
    """
    place_and_answer = await _fetch_published(case, surface)
    if place_and_answer is None:
        return None
    place, answer = place_and_answer
    return apply_server_paths(answer.read_object(), case.profile.surfaces[surface].url.rstrip("/"), place)


async def published_answer(case: Case, surface: str) -> Answer | None:
    """Return the answer with the OpenAPI document of a surface; None if no known place has one.

    The interface fixes the rail's place. The other surfaces have `openapi_path`; if unbound, usual places are tried.

    Raises:
        Unreachable: It gave no answer.
    """
    place_and_answer = await _fetch_published(case, surface)
    return None if place_and_answer is None else place_and_answer[1]


async def document_below(client: Client, base: str, paths: Sequence[str]) -> Mapping[str, Any] | None:
    """Return the first OpenAPI document below an address, with every operation at its path, or None.

    Raises:
        Unreachable: It gave no answer.
    """
    place_and_answer = await _first_below(client, base, paths)
    return (
        None
        if place_and_answer is None
        else apply_server_paths(place_and_answer[1].read_object(), base, place_and_answer[0])
    )


def places_of(bound_path: str | None) -> tuple[str, ...]:
    """Return the paths to try for a document: the bound one, else the usual ones."""
    return _USUAL_PATHS if bound_path is None else (bound_path,)


async def _fetch_published(case: Case, surface: str) -> tuple[str, Answer] | None:
    return await _first_below(case.client, case.profile.surfaces[surface].url.rstrip("/"), _places(case, surface))


async def _first_below(client: Client, base: str, paths: Sequence[str]) -> tuple[str, Answer] | None:
    for path in paths:
        answer = await client.call("GET", base + path)
        document = answer.read_object()
        # A server that answers every path with 200 and a page has no document there. Version 2
        # names itself `swagger`.
        if answer.status == 200 and isinstance(document.get("openapi", document.get("swagger")), str):
            return path, answer
    return None


def _places(case: Case, surface: str) -> tuple[str, ...]:
    if surface == "rail":
        # The interface fixes the rail's path, so no other path is tried.
        return _USUAL_PATHS[:1]
    bindings = {
        "agent": case.profile.agent_bindings.openapi_path,
        "gateway": case.profile.gateway_bindings.openapi_path,
        "control_plane": case.profile.hub_bindings.openapi_path,
    }
    return places_of(bindings.get(surface))


def operation_count(document: Mapping[str, Any]) -> int:
    """Return how many operations a document describes."""
    paths = document.get("paths")
    items = paths.values() if isinstance(paths, dict) else ()
    return sum(1 for item in items if isinstance(item, dict) for one in item.values() if _is_operation(one))


def _is_operation(value: object) -> bool:
    return isinstance(value, dict) and "responses" in value
