"""Variants of the OpenAPI documents of control plane and addons."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from reference.variants.chameleon.answer_rewriter import Answer
from reference.variants.chameleon.rail_documents import loosen_contract
from reference.variants.chameleon.variant_shape import Shape

OPENAPI = "/openapi.json"


def elsewhere(shape: Shape) -> Callable[[str], str]:
    """Return a function from the variant's path to the service's path, which itself answers 404 then."""
    if shape.hub_openapi_path == OPENAPI:
        return str
    own_paths = {shape.hub_openapi_path: OPENAPI, OPENAPI: "/nothing-here"}
    return lambda path: own_paths.get(path, path)


def edit(answer: Answer, shape: Shape) -> None:
    """Change the control plane's OpenAPI document so that it describes the variant."""
    if not _is_contract(answer, shape.hub_openapi_path):
        return
    document = loosen_contract(answer.document)
    paths: dict[str, Any] = document["paths"]
    # X-OAS-01: an operation in the document must work, so operations that the variant lacks are taken out.
    if not shape.hub_service_removal:
        paths.pop("/v1/services/{name}", None)
    if shape.hub_service_request != "base_url":
        open_body = {"required": True, "content": {"application/json": {"schema": {"type": "object"}}}}
        paths["/v1/services"]["post"]["requestBody"] = open_body
    document["paths"] = {shape.hub_openapi_path if path == OPENAPI else path: item for path, item in paths.items()}
    if shape.hub_openapi == "bare":
        document["info"] = {name: document["info"][name] for name in ("title", "version")}
        answer.document = {name: document[name] for name in ("openapi", "info", "paths", "components")}


def edit_of_an_addon(answer: Answer) -> None:
    """Change an addon's OpenAPI document so that it describes the variant."""
    if _is_contract(answer, OPENAPI):
        loosen_contract(answer.document)


def _is_contract(answer: Answer, path: str) -> bool:
    return answer.request.path == path and answer.status == 200 and isinstance(answer.document, dict)
