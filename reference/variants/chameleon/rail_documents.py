"""Variants of the documents that the rail publishes."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Mapping
from typing import Any, cast

import orjson

from reference.rail.documents import published
from reference.rail.services import SERVICES, Service
from reference.variants.chameleon.answer_rewriter import Answer, change_texts
from reference.variants.chameleon.variant_shape import REFERENCE_PATHS, Shape
from reference.variants.seams import replace

OPENAPI = "/openapi.json"
_PREFIX = "/pay/v1"
_METHODS = frozenset({"get", "post", "put", "patch", "delete"})


def install(shape: Shape) -> None:
    """Move the paid operations to the variant's paths, in the service and in its OpenAPI document."""
    services = cast("dict[str, Service]", SERVICES)
    for service in tuple(services.values()):
        del services[service.path]
        moved_service = dataclasses.replace(service, path=shape.paths[service.id])
        services[moved_service.path] = moved_service
    replace(published, "files", lambda files: lambda package: _Moved(files(package), shape))


class _Moved:
    """The folder of the OpenAPI document, with the paid operations at the variant's paths."""

    def __init__(self, folder: Any, shape: Shape) -> None:
        self._folder = folder
        self._paths = {REFERENCE_PATHS[role]: path for role, path in shape.paths.items()}

    def joinpath(self, name: str) -> _Moved:
        """Return a file of the folder."""
        self._folder = self._folder.joinpath(name)
        return self

    def read_bytes(self) -> bytes:
        """Return the document."""
        contract = orjson.loads(self._folder.read_bytes())
        contract["paths"] = {self._paths.get(path, path): item for path, item in contract["paths"].items()}
        return orjson.dumps(contract)


def edit(answer: Answer, shape: Shape) -> None:
    """Change catalogs, index and OpenAPI document."""
    edits: Mapping[str, Callable[[dict[str, Any], Shape], dict[str, Any]]] = {
        "/.well-known/x402": _catalog,
        "/discovery/resources": _listing,
        "/pay/v1/index": _index,
        OPENAPI: _openapi,
    }
    change = edits.get(answer.request.path)
    if answer.status != 200 or not isinstance(answer.document, dict):
        return
    if answer.request.path in {*edits, "/.well-known/did.json"}:
        answer.document = change_texts(answer.document, lambda text: _replace_path(text, shape))
    if change is not None:
        answer.document = change(answer.document, shape)


def _replace_path(text: str, shape: Shape) -> str:
    """Return an address with the path of a paid operation replaced by the variant's."""
    for role, path in REFERENCE_PATHS.items():
        if text.endswith(path):
            return text.removesuffix(path) + shape.paths[role]
    return text


def _catalog(document: dict[str, Any], shape: Shape) -> dict[str, Any]:
    urls = document["resources"]
    if shape.catalog == "objects":
        return {**document, "resources": [{"url": url, "description": "a paid operation"} for url in urls]}
    if shape.catalog == "resource objects":
        return {"x402Version": 2, "resources": [{"resource": url, "type": "http"} for url in urls]}
    if shape.catalog == "by name":
        roles = dict(zip(shape.paths, urls, strict=True))
        return {
            "x402Version": 2,
            "operations": {role: {"endpoint": url, "method": "POST"} for role, url in roles.items()},
        }
    return document


def _listing(document: dict[str, Any], shape: Shape) -> dict[str, Any]:
    items = document["items"]
    if shape.listing == "resources":
        return {
            "resources": [
                {**{name: one[name] for name in one if name != "resource"}, "url": one["resource"]} for one in items
            ]
        }
    if shape.listing == "addresses":
        return {"x402Version": 2, "items": [one["resource"] for one in items]}
    if shape.listing == "nested":
        return {"data": {"listings": [{"http": {"href": one["resource"]}} for one in items]}}
    return document


def _index(document: dict[str, Any], shape: Shape) -> dict[str, Any]:
    services = document["services"]
    base = (os.environ.get("WP_RAIL_PUBLIC_URL") or "").rstrip("/")
    if shape.index == "paths":
        return {
            **document,
            "services": [{"id": one["service_id"], "path": one["url"].removeprefix(base)} for one in services],
        }
    if shape.index == "by name":
        return {"services": {one["service_id"]: {"href": one["url"]} for one in services}}
    if shape.index == "bare":
        return {"name": document["provider"], "documents": ["/openapi.json", "/.well-known/x402"]}
    return document


def _openapi(document: dict[str, Any], shape: Shape) -> dict[str, Any]:
    document = loosen_contract(document)
    for path in shape.paths.values():
        item = document["paths"][path]
        if shape.wrong_method == "405":
            item.pop("get", None)
        media = item["post"]["requestBody"]["content"]["application/json"]
        if shape.openapi == "named examples":
            media["examples"] = {"usual": {"summary": "a usual request", "value": media.pop("example")}}
        elif shape.openapi == "no examples":
            del media["example"]
        for name, operation in item.items():
            if name in _METHODS:
                operation["x-payment-info"] = _price(operation["x-payment-info"], shape)
    return _below_servers(document, shape)


def _below_servers(document: dict[str, Any], shape: Shape) -> dict[str, Any]:
    """Move the prefix of the paid paths into `servers` of their path items or operations."""
    if shape.servers == "document":
        return document
    address = document["servers"][0]["url"].rstrip("/")
    # OpenAPI 3.1, 4.8.9 and 4.8.10: servers of an operation replace those of the path item, which replace those of
    # the document. A reader that knows only the document's servers builds wrong addresses.
    variables = {"area": {"default": _PREFIX.strip("/"), "enum": [_PREFIX.strip("/")]}}
    paths: dict[str, Any] = {}
    for path, item in document["paths"].items():
        if path not in shape.paths.values():
            paths[path] = item
        elif shape.servers == "item":
            paths[path.removeprefix(_PREFIX)] = {"servers": [{"url": address + _PREFIX}], **item}
        else:
            servers = [{"url": address + "/{area}", "variables": variables}]
            operations = {name: {**one, "servers": servers} if name in _METHODS else one for name, one in item.items()}
            paths[path.removeprefix(_PREFIX)] = operations
    return {**document, "paths": paths}


def _price(info: Mapping[str, Any], shape: Shape) -> Any:
    offer = info["offers"][0]
    if shape.price_info == "flat":
        return {"amount": offer["amount"], "asset": offer["currency"], "scheme": "x402"}
    if shape.price_info == "text":
        return {"price": f"{info['price']['amount']} USDC per call"}
    return info


def loosen_contract(contract: dict[str, Any]) -> dict[str, Any]:
    """Return an OpenAPI document that allows any JSON in an answer, and further statuses."""
    # A variant changes answers, so a document that still described the reference's answers would be wrong.
    for item in contract["paths"].values():
        for name, operation in item.items():
            if name in _METHODS:
                operation["responses"] = {
                    status: _bare(response) for status, response in operation["responses"].items()
                } | {"default": {"description": "anything else"}}
    return contract


def _bare(response: Mapping[str, Any]) -> dict[str, Any]:
    kept_members = {name: response[name] for name in ("links",) if name in response}
    other_media = {media: one for media, one in response.get("content", {}).items() if "json" not in media}
    kept_members |= {"content": other_media} if other_media else {}
    return {"description": response.get("description", "as described"), **kept_members}
