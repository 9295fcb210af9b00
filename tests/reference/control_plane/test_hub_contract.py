"""The control plane's code and its document move together: operations, bodies it takes, answers it gives."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import jsonschema_rs
import pytest
from openapi_spec_validator import OpenAPIV31SpecValidator

from reference.control_plane import app
from reference.control_plane.issuer_registration import NewIssuer
from reference.control_plane.service_registration import NewService
from reference.protocol.audit_chain import Action
from reference.web.errors import Unprocessable
from reference.web.http.json_body import as_model
from tests.reference.control_plane.hub_stack import DID, Hub, falcon_key
from tests.reference.control_plane.scripted_service import answers, service

DOCUMENT: dict[str, Any] = json.loads((Path(__file__).parents[3] / "openapi" / "control_plane.json").read_text("utf-8"))
OPERATIONS = [(path, method) for path, item in DOCUMENT["paths"].items() for method in item]
ADMIN = {
    ("/v1/issuers", "post"),
    ("/v1/issuers/{did}", "delete"),
    ("/v1/services", "post"),
    ("/v1/services/{name}", "delete"),
    ("/v1/audit", "get"),
}
KEY = falcon_key("contract")
EXAMPLES: dict[str, Any] = {
    "/v1/issuers": (NewIssuer, {"did": DID, "public_key_b64": KEY}),
    "/v1/services": (
        NewService,
        {"name": "a", "type": "addon", "base_url": "http://localhost:8095", "health_path": "/health"},
    ),
}
VALUES: tuple[Any, ...] = (
    *(None, True, 0, 1, 0.5, "", "a", "a b", "é", "a\n", "/", "/a", "/a?b", "/a#b", "a" * 64, "a" * 65, DID, KEY),
    *(
        "did:web:",
        "did:Web:a",
        "did:web:a/b",
        "did:web:" + "a" * 504,
        "did:web:" + "a" * 505,
        KEY[:-1],
        KEY + "=",
        KEY[1:],
    ),
    *(
        "http://h",
        "https://h/a",
        "ftp://h",
        "http://",
        "http://u@h",
        "http://h?a",
        "http://h#a",
        "http://h/" + "a" * 2040,
    ),
    *([], ["a"], {}, {"a": "b"}),
)
# What no schema says: what an address must hold.
JUDGED_BY_CONTENT = {"base_url", "health_path"}


def resolve_node(node: dict[str, Any]) -> dict[str, Any]:
    if "$ref" not in node:
        return node
    match: dict[str, Any] = DOCUMENT
    for name in node["$ref"].removeprefix("#/").split("/"):
        match = match[name]
    return match


def validator(schema: dict[str, Any]) -> Any:
    return jsonschema_rs.Draft202012Validator({**schema, "components": DOCUMENT["components"]})


def of_body(path: str) -> dict[str, Any]:
    schema: dict[str, Any] = DOCUMENT["paths"][path]["post"]["requestBody"]["content"]["application/json"]["schema"]
    return schema


def check_documented(path: str, method: str, answer: httpx.Response) -> None:
    """Judge an answer by the document: status, headers, body."""
    responses = DOCUMENT["paths"][path][method]["responses"]
    assert str(answer.status_code) in responses, f"{method} {path}: {answer.status_code} is not documented"
    report = resolve_node(responses[str(answer.status_code)])
    for name, header in report["headers"].items():
        text = answer.headers[name]
        schema = resolve_node(header)["schema"]
        assert validator(schema).is_valid(int(text) if schema.get("type") == "integer" else text), (name, text)
    if "content" not in report:
        assert answer.content == b""
        return
    ((media, content),) = report["content"].items()
    assert answer.headers["content-type"] == media
    assert not list(validator(content["schema"]).iter_errors(answer.json())), answer.text
    named = resolve_node(content["schema"])
    if "properties" in named and answer.status_code < 300:
        assert set(answer.json()) == set(named["properties"])


def test_the_document_is_openapi_3_1() -> None:
    """Valid by the standard; the token is wanted where the interface says so, and only there."""
    OpenAPIV31SpecValidator(DOCUMENT).validate()
    assert DOCUMENT["openapi"] == "3.1.0"
    wanted_methods = {
        (path, method)
        for path, method in OPERATIONS
        if DOCUMENT["paths"][path][method].get("security", [{}]) == [{"adminToken": []}]
    }
    assert wanted_methods == ADMIN


def test_every_operation_is_documented() -> None:
    """What is served and what is documented are the same, and so is who may call it."""
    parts: list[Any] = [AnyPart() for _ in range(6)]
    served = app.list_operations(*parts)
    free = {"/v1/issuers/": "/v1/issuers/{did}", "/v1/services/": "/v1/services/{name}"}
    assert {(free.get(one.path, one.path), one.method.lower()) for one in served} == set(OPERATIONS)
    assert {(free.get(one.path, one.path), one.method.lower()) for one in served if one.is_for_admin} == ADMIN
    assert {one.path for one in served if one.body_model} == set(EXAMPLES)


class AnyPart:
    """Has every operation."""

    def __getattr__(self, name: str) -> str:
        return name


def test_every_action_is_documented() -> None:
    """The log's actions are the protocol's."""
    assert DOCUMENT["components"]["schemas"]["AuditEntry"]["properties"]["action"]["enum"] == [
        one.value for one in Action
    ]


@pytest.mark.parametrize("path", EXAMPLES)
def test_code_and_schema_take_the_same_bodies(path: str) -> None:
    """Required members, types and bounds: what one refuses, the other refuses."""
    model, example = EXAMPLES[path]
    check = validator(of_body(path))
    bodies: list[Any] = [example, {**example, "unknown": 1}, {}, [], None, "x", [example]]
    bodies += [{name: value for name, value in example.items() if name != left} for left in example]
    bodies += [{**example, name: value} for name in example for value in VALUES]
    apart = []
    for body in bodies:
        by_schema, by_code = check.is_valid(body), is_accepted(model, body)
        changed_names = {
            name for name in JUDGED_BY_CONTENT if isinstance(body, dict) and body.get(name) != example.get(name)
        }
        if by_schema != by_code and not (by_schema and changed_names):
            apart.append((body, f"schema {by_schema}, code {by_code}"))
    assert not apart, apart[:10]
    assert check.is_valid(example)
    assert set(resolve_node(of_body(path))["properties"]) == set(model.model_fields)


def is_accepted(model: Any, body: Any) -> bool:
    try:
        as_model(model, body)
    except Unprocessable:
        return False
    return True


async def test_answers_are_as_documented(plane: Hub) -> None:
    """Each operation's answers, when it succeeds, is refused, or meets what is not there."""
    async with service(answers(200)) as service_process:
        for path, method, url, body, headers in calls(plane, service_process.url):
            check_documented(path, method, await plane.http.request(method.upper(), url, json=body, headers=headers))
    check_documented("/v1/audit", "get", await plane.http.get("/v1/audit?verify=full&limit=2", headers=plane.admin))


def calls(plane: Hub, url: str) -> Iterator[tuple[str, str, str, Any, dict[str, str]]]:
    """Yield calls in an order in which each meets what it needs."""
    admin = plane.admin
    issuer, rotated_issuer = {"did": DID, "public_key_b64": KEY}, {"did": DID, "public_key_b64": falcon_key("other")}
    record = {"name": "a", "base_url": url}
    for body in (issuer, issuer, rotated_issuer, {}):
        yield "/v1/issuers", "post", "/v1/issuers", body, admin
    for body in (record, record, {**record, "health_path": "/up"}, {}):
        yield "/v1/services", "post", "/v1/services", body, admin
    reads = [path for path, method in OPERATIONS if method == "get" and (path, method) not in ADMIN]
    for path in reads:
        yield path, "get", path, None, {}
        if "304" in DOCUMENT["paths"][path]["get"]["responses"]:
            yield path, "get", path, None, {"If-None-Match": "*"}
    yield "/v1/posture", "get", "/v1/posture", None, admin
    for query in ("", "?after=1&limit=1", "?limit=0", "?verify=x"):
        yield "/v1/audit", "get", f"/v1/audit{query}", None, admin
    for path, method in sorted(ADMIN):
        yield path, method, path.format(did=DID, name="a"), None, {}
    for _ in range(2):
        yield "/v1/issuers/{did}", "delete", f"/v1/issuers/{DID}", None, admin
        yield "/v1/services/{name}", "delete", "/v1/services/a", None, admin


async def test_it_is_served_as_it_is(plane: Hub) -> None:
    """What is served is the document."""
    assert (await plane.http.get("/openapi.json")).json() == DOCUMENT
