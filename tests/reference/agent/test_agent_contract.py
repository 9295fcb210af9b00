"""The agent's code and its document move together: operations, bodies it takes, answers it gives."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx
import jsonschema_rs
import pytest
from openapi_spec_validator import OpenAPIV31SpecValidator

from reference.agent.app import methods_of
from reference.agent.documents import build_documents
from reference.agent.settings import AgentSettings
from reference.agent.skills import SKILL_PATHS, Moment
from reference.protocol.message_signatures import faults
from reference.web.errors import Unprocessable

DOCUMENT: dict[str, Any] = json.loads((Path(__file__).parents[3] / "openapi" / "agent.json").read_text("utf-8"))
METHODS = {"get", "post", "put", "patch", "delete"}
OPERATIONS = [(path, method) for path, item in DOCUMENT["paths"].items() for method in item]
DID_KEY = "did:key:z6MkiTBz1ymuepAQ4HEHYSF1H8quG5GLVVQR3djdX3mDooWp"
VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 2**53 - 1, 2**53, -(2**53), 10**15, 0.5, "", "a", "abcd", "AA==", "AB==", DID_KEY),
    *("a" * n for n in (63, 64, 65)),
    *("GET", "é", "a\n", "Sig", "*a.b-c_1", 'x"y', "@method", '"@method";req'),
    *([], ["a"], [""], [1], [None], {}, {"a": "b"}, {"a": ["b"]}, {"a": [1]}, {"a": 1}, {"a": None}),
)
# What the code refuses and no schema says: what a text must hold, and what can be signed.
JUDGED_BY_CONTENT = {
    *("did_key", "public_key_hex", "headers", "body", "body_b64", "covered_components", "method", "path"),
    *("authority", "query", "scheme"),
}


def validator(schema: dict[str, Any]) -> Any:
    return jsonschema_rs.Draft202012Validator({**schema, "components": DOCUMENT["components"]})


def of_body(path: str) -> dict[str, Any]:
    content: dict[str, Any] = DOCUMENT["paths"][path]["post"]["requestBody"]["content"]["application/json"]
    return content


def of_answer(path: str, method: str, status: int) -> dict[str, Any]:
    answer = DOCUMENT["paths"][path][method]["responses"][str(status)]
    if "$ref" in answer:
        answer = DOCUMENT["components"]["responses"][answer["$ref"].rpartition("/")[2]]
    schema: dict[str, Any] = answer["content"]["application/json"]["schema"]
    return schema


def test_the_document_is_openapi_3_1() -> None:
    """Version 0.1.0 by the interface, valid by the standard, and no operation wants a credential."""
    OpenAPIV31SpecValidator(DOCUMENT).validate()
    assert (DOCUMENT["openapi"], DOCUMENT["info"]["version"]) == ("3.1.0", "0.1.0")
    assert "securitySchemes" not in DOCUMENT["components"]
    assert not [
        one
        for one in (DOCUMENT, *(DOCUMENT["paths"][path][method] for path, method in OPERATIONS))
        if "security" in one
    ]


def test_every_operation_is_documented() -> None:
    """The nine operations of the interface and no other, beside the document itself."""
    methods = methods_of(build_documents(AgentSettings()))
    operations = {(path, name.lower()) for path, names in methods.items() for name in names if name != "HEAD"}

    assert operations - {("/openapi.json", "get")} == set(OPERATIONS)
    assert len(OPERATIONS) == 9


def test_every_error_code_is_documented() -> None:
    """The codes of a verdict are those of the library."""
    assert DOCUMENT["components"]["schemas"]["ErrorCode"]["enum"] == list(faults.ALL_CODES)


@pytest.mark.parametrize("path", SKILL_PATHS)
def test_code_and_schema_take_the_same_bodies(path: str) -> None:
    """Required members, types and bounds: what one refuses, the other refuses."""
    schema, example = of_body(path)["schema"], of_body(path)["example"]
    known = DOCUMENT["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    check = validator(schema)
    bodies: list[Any] = [example, {**example, "unknown_member": 1}, {}, [], None, "x", [example]]
    bodies += [{name: value for name, value in example.items() if name != left} for left in example]
    bodies += [{**example, name: value} for name in known["properties"] for value in VALUES]
    bodies += [{**example, name: "k"} for name in ("private_key", "private_key_hex", "secret_key", "signing_key")]
    apart = []
    for body in bodies:
        by_schema, by_code = check.is_valid(body), is_accepted(path, body)
        changed_names = {
            name for name in JUDGED_BY_CONTENT if isinstance(body, dict) and body.get(name) != example.get(name)
        }
        if by_schema != by_code and not (by_schema and changed_names):
            apart.append((body, f"schema {by_schema}, code {by_code}"))

    assert not apart, apart[:10]
    assert check.is_valid(example)
    assert set(known["properties"]) == set(SKILL_PATHS[path].model.model_fields)


def is_accepted(path: str, body: Any) -> bool:
    try:
        SKILL_PATHS[path].call(body, Moment(1618884473, 60))
    except Unprocessable:
        return False
    return True


@pytest.mark.parametrize(("path", "method"), OPERATIONS)
async def test_answers_are_as_documented(agent: httpx.AsyncClient, path: str, method: str) -> None:
    """The example's answer, and that of a body which is refused, fit their schemas, also with every member named."""
    if method == "get":
        assert validator(of_answer(path, method, 200)).is_valid((await agent.get(path)).json())
        return
    bodies: list[Any] = [of_body(path)["example"], {}]
    for body in bodies:
        answer = await agent.post(path, json=body)
        schema = of_answer(path, method, answer.status_code)
        assert validator(schema).is_valid(answer.json()), answer.text
        named = DOCUMENT["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
        if answer.status_code == 200 and path in SKILL_PATHS:
            assert set(answer.json()) == set(named["properties"])


async def test_it_is_served_with_the_operator_s_address(agent: httpx.AsyncClient) -> None:
    """What is served is the document, with where it is."""
    body = (await agent.get("/openapi.json")).json()

    assert body == {**DOCUMENT, "servers": [{"url": "http://localhost:8403"}]}
