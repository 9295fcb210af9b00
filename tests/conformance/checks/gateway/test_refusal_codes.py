"""What the check of refusal codes finds wrong with an answer."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from multidict import CIMultiDict, CIMultiDictProxy

from conformance.assertions.gateway.refusals import Refusal, Request, find_faults
from conformance.http.client import Answer

CALL: Request = ("POST", "/v1/resources", b"{}", {})
EXISTING = Refusal("a resource id twice", CALL, 409, "resource_exists", {"resource_id": "book"})
BODY = {"error": "resource_exists", "message": "choose another", "request_id": "req_1", "resource_id": "book"}
INVALID = Refusal("a number as label", CALL, 422, "validation_error")
ITEM = {"loc": ["body", "label"], "msg": "give a text", "type": "string_type"}


def make_answer(status: int, body: Mapping[str, Any], **headers: str) -> Answer:
    """Return an answer with the request id of the bodies above."""
    fields = CIMultiDict({"X-Request-Id": "req_1", **headers})
    return Answer(1, status, CIMultiDictProxy(fields), json.dumps(body).encode())


def test_the_refusal_of_the_table_has_no_fault() -> None:
    """Further members are allowed."""
    assert find_faults(EXISTING, make_answer(409, {**BODY, "hint": 1})) == []


@pytest.mark.parametrize(
    ("status", "changes", "faults"),
    [
        (422, {}, ["status 422"]),
        (409, {"error": "exists"}, ["error 'exists'"]),
        (409, {"request_id": "req_2"}, ["request_id is not X-Request-Id"]),
        (409, {"resource_id": "other"}, ["resource_id"]),
    ],
)
def test_each_part_counts(status: int, changes: dict[str, Any], faults: list[str]) -> None:
    """Status, code, request id and context members are compared exactly."""
    assert find_faults(EXISTING, make_answer(status, {**BODY, **changes})) == faults


@pytest.mark.parametrize(
    ("detail", "faults"),
    [
        ([ITEM], []),
        ([], ["no detail"]),
        ([{**ITEM, "loc": ["label"]}], ["detail.loc"]),
        ([{**ITEM, "type": None}], ["detail.type"]),
        ([{**ITEM, "input": 5}], ["detail.input"]),
    ],
)
def test_the_items_of_a_422_have_their_form(detail: list[dict[str, Any]], faults: list[str]) -> None:
    """Each has a location, a sentence and a type, and not what was sent."""
    body = {"error": "validation_error", "message": "no", "request_id": "req_1", "detail": detail}
    assert find_faults(INVALID, make_answer(422, body)) == faults


def test_a_header_field_is_compared() -> None:
    """A 401 names its scheme."""
    refusal = Refusal("no key", CALL, 401, "invalid_api_key", headers={"WWW-Authenticate": "Bearer"})
    body = {"error": "invalid_api_key", "message": "no", "request_id": "req_1"}
    assert find_faults(refusal, make_answer(401, body)) == ["WWW-Authenticate"]
    assert find_faults(refusal, make_answer(401, body, **{"WWW-Authenticate": "Bearer"})) == []
