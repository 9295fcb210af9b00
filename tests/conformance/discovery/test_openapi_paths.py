"""Where operations are by an OpenAPI document's servers."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.discovery.openapi_paths import apply_server_paths

BASE = "http://rail.test"
OPERATION: dict[str, Any] = {"responses": {"200": {"description": "served"}}}
V1 = [{"url": "/pay/v1"}]
DOCUMENTS: list[Any] = [
    {"servers": V1, "paths": {"/a": {"post": OPERATION}}},
    {"paths": {"/a": {"servers": V1, "post": OPERATION}}},
    {"paths": {"/a": {"post": OPERATION | {"servers": V1}}}},
    {"servers": [{"url": "/old"}], "paths": {"/a": {"servers": V1, "post": OPERATION}}},
    {"paths": {"/a": {"servers": [{"url": "/old"}], "post": {**OPERATION, "servers": V1}}}},
    {"servers": [{"url": "pay/v1/"}], "paths": {"/a": {"post": OPERATION}}},
    {"servers": [{"url": "https://elsewhere.example/pay/v1"}], "paths": {"/a": {"post": OPERATION}}},
    {
        "servers": [{"url": "https://sandbox.example/x"}, {"url": BASE + "/pay/v1"}],
        "paths": {"/a": {"get": OPERATION}},
    },
    {
        "servers": [{"url": "/{area}/v1", "variables": {"area": {"default": "pay", "enum": ["pay", "free"]}}}],
        "paths": {"/a": {"post": OPERATION}},
    },
    {
        "servers": V1,
        "paths": {"/a": {"$ref": "#/components/pathItems/A"}},
        "components": {"pathItems": {"A": {"post": OPERATION}}},
    },
]


def paths(document: dict[str, Any], base: str = BASE) -> list[str]:
    """Return the paths of a document's operations."""
    return list(apply_server_paths(document, base)["paths"])


@pytest.mark.parametrize("document", DOCUMENTS)
def test_the_nearest_servers_decide(document: dict[str, Any]) -> None:
    """An operation's servers go before its path item's, and these before the document's."""
    assert paths(document) == ["/pay/v1/a"]
    assert "servers" not in apply_server_paths(document, BASE)


@pytest.mark.parametrize(
    "document",
    [
        {"paths": {"/pay/v1/a": {"post": OPERATION}}},
        {"servers": [{"url": "/"}], "paths": {"/pay/v1/a": {"post": OPERATION}}},
        {"servers": [{"url": BASE}], "paths": {"/pay/v1/a": {"post": OPERATION}}},
        {"servers": [{"url": "/{no_default}"}], "paths": {"/pay/v1/a": {"post": OPERATION}}},
        {"servers": "none", "paths": {"/pay/v1/a": {"post": OPERATION}}},
        {"servers": [{"url": "http://[bad"}], "paths": {"/pay/v1/a": {"post": OPERATION}}},
        {"paths": "none"},
        {},
    ],
)
def test_a_document_without_another_place_stays_as_it_is(document: dict[str, Any]) -> None:
    """Nothing moves where no server has a path of its own."""
    assert apply_server_paths(document, BASE) is document


def test_operations_of_one_item_may_be_apart() -> None:
    """Each goes to its own place, and takes what the item says of both along."""
    item = {"parameters": [], "get": OPERATION, "post": {**OPERATION, "servers": V1}}
    paths = apply_server_paths({"paths": {"/a": item}}, BASE)["paths"]
    assert paths == {"/a": {"parameters": [], "get": OPERATION}, "/pay/v1/a": {"parameters": [], "post": OPERATION}}


def test_an_address_with_a_path_is_not_counted_twice() -> None:
    """A surface below a path is reported without it."""
    document = {"servers": [{"url": "https://rail.test/base/pay/v1"}], "paths": {"/a": {"post": OPERATION}}}
    assert paths(document, "http://rail.test/base") == ["/pay/v1/a"]
