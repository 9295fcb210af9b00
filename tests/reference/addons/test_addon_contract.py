"""The addons' code and their documents move together: operations, bodies they take, answers they give."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import httpx
import jsonschema_rs
import pytest
from openapi_spec_validator import OpenAPIV31SpecValidator
from pydantic import BaseModel, ValidationError

from reference.addons.atb_verifier.verifier import ADDON as ATB
from reference.addons.atb_verifier.verifier import VerifyRequest
from reference.addons.federation_validator.credentials_and_tokens import ADDON as FEDERATION
from reference.addons.federation_validator.credentials_and_tokens import TokenRequest, ValidateRequest
from reference.addons.kit import Addon
from reference.addons.zkp_receipt.receipts import ADDON as ZKP
from reference.addons.zkp_receipt.requests import IssueRequest
from reference.addons.zkp_receipt.requests import VerifyRequest as ReceiptRequest
from reference.protocol.credentials import REASONS
from tests.reference.addons.conftest import ISSUER, Opener

FOLDER = Path(__file__).parents[3] / "openapi"
ADDONS = {"atb": ATB, "federation": FEDERATION, "zkp": ZKP}
MODELS: dict[tuple[str, str], type[BaseModel]] = {
    ("atb", "/v1/verify"): VerifyRequest,
    ("federation", "/v1/validate"): ValidateRequest,
    ("federation", "/v1/tokens/verify"): TokenRequest,
    ("zkp", "/v1/receipts"): IssueRequest,
    ("zkp", "/v1/receipts/verify"): ReceiptRequest,
}
VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 0.5, 1.5, 2**53 - 1, "", "a", "é", "2026-01-01T00:00:00Z"),
    *("a" * n for n in (511, 512, 513)),
    *([], ["a"], [""], [1], [None], ["a"] * 16, ["a"] * 17, {}, {"a": "b"}),
)
# What the code refuses and no schema says: what a text must hold.
JUDGED_BY_CONTENT = {"now", "settled_at"}


def document(name: str) -> dict[str, Any]:
    value: dict[str, Any] = json.loads((FOLDER / ADDONS[name].openapi).read_text("utf-8"))
    return value


def operations(name: str) -> list[tuple[str, str]]:
    return [(path, method) for path, item in document(name)["paths"].items() for method in item]


def validator(name: str, schema: dict[str, Any]) -> Any:
    return jsonschema_rs.Draft202012Validator({**schema, "components": document(name)["components"]})


def of_body(name: str, path: str) -> dict[str, Any]:
    content: dict[str, Any] = document(name)["paths"][path]["post"]["requestBody"]["content"]["application/json"]
    return content


def of_answer(name: str, path: str, method: str, status: int) -> dict[str, Any]:
    answer = document(name)["paths"][path][method]["responses"][str(status)]
    if "$ref" in answer:
        answer = document(name)["components"]["responses"][answer["$ref"].rpartition("/")[2]]
    schema: dict[str, Any] = answer["content"]["application/json"]["schema"]
    return schema


@pytest.mark.parametrize("name", ADDONS)
def test_the_document_is_openapi_3_1(name: str) -> None:
    """Valid by the standard; only who issues receipts wants a credential of the caller."""
    body = document(name)
    OpenAPIV31SpecValidator(body).validate()
    assert body["openapi"] == "3.1.0"
    guarded_paths = [path for path, method in operations(name) if "security" in body["paths"][path][method]]
    assert guarded_paths == (["/v1/receipts"] if name == "zkp" else [])


@pytest.mark.parametrize(("name", "addon"), ADDONS.items())
async def test_every_operation_is_documented(opener: Opener, name: str, addon: Addon) -> None:
    """What is served is documented, and the other way round; the document is served as it is."""
    client = await opener(addon)
    body = (await client.get("/openapi.json")).json()
    assert body == document(name)
    for path, method in operations(name):
        wrong = await client.delete(path)
        assert (wrong.status_code, method.upper() in wrong.headers["Allow"]) == (405, True)
    paths = {path for path, _ in operations(name)}
    documented_models = {path for one, path in MODELS if one == name}
    assert documented_models <= paths
    assert paths - documented_models <= {"/health", "/.well-known/pqc-keys.json"}


def test_every_reason_is_documented() -> None:
    """In the order in which they are looked for; between them the documents name all."""
    report = [
        document("atb")["components"]["schemas"]["Verdict"]["properties"]["reason"]["enum"],
        document("federation")["components"]["schemas"]["Result"]["properties"]["reason"]["enum"],
        document("federation")["components"]["schemas"]["TokenVerdict"]["properties"]["reason"]["enum"],
        document("zkp")["components"]["schemas"]["Verdict"]["properties"]["reason"]["enum"],
    ]
    assert {reason for some in report for reason in some} == {*REASONS, None}
    for some in report:
        assert some == [*(reason for reason in REASONS if reason in some), None]


@pytest.mark.parametrize(("name", "path"), MODELS)
def test_code_and_schema_take_the_same_bodies(name: str, path: str) -> None:
    """Required members, types and bounds: what one refuses, the other refuses."""
    schema, example = of_body(name, path)["schema"], of_body(name, path)["example"]
    model = MODELS[name, path]
    check = validator(name, schema)
    parsed_document = document(name)["components"]["schemas"][schema["$ref"].rpartition("/")[2]]["properties"]
    bodies: list[Any] = [example, {**example, "unknown_member": 1}]
    bodies += [{one: value for one, value in example.items() if one != left} for left in example]
    bodies += [{**example, one: value} for one in parsed_document for value in VALUES]
    apart = []
    for body in bodies:
        changed_names = {one for one in JUDGED_BY_CONTENT if body.get(one) != example.get(one)}
        if check.is_valid(body) != is_accepted(model, body) and not (check.is_valid(body) and changed_names):
            apart.append(body)
    assert not apart, apart[:10]
    assert check.is_valid(example)
    assert set(parsed_document) == set(model.model_fields)


def is_accepted(model: type[BaseModel], body: Any) -> bool:
    try:
        model.model_validate(body)
    except ValidationError:
        return False
    return True


@pytest.mark.parametrize("name", ADDONS)
async def test_answers_are_as_documented(opener: Opener, name: str) -> None:
    """Of every operation: the example's answer, that of a good credential, and that of a body that is refused."""
    client: httpx.AsyncClient = await opener(ADDONS[name])
    good = ISSUER.issue(ISSUER.passport(expires_at="2127-01-01T00:00:00Z"))
    for path, method in operations(name):
        if method == "get":
            assert validator(name, of_answer(name, path, method, 200)).is_valid((await client.get(path)).json())
            continue
        if path == "/v1/receipts":
            continue  # it wants a token: test_zkp_receipt
        texts = {"credential": good, "credentials": [good], "token": good, "receipt": good}
        bodies = [of_body(name, path)["example"], texts, {"x": 1}]
        answers = await asyncio.gather(*(client.post(path, json=body) for body in bodies))
        assert [answer.status_code for answer in answers] == [200, 200, 422]
        for answer in answers:
            schema = of_answer(name, path, method, answer.status_code)
            assert validator(name, schema).is_valid(answer.json()), answer.text
            parsed_document = document(name)["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
            if answer.status_code == 200:
                assert set(answer.json()) == set(parsed_document["properties"])
