"""Bodies drawn from the schema of an operation."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.discovery.member_variations import vary_body

PATH = "/pay/v1/x"


def bodies(schema: Any, body: Any) -> Any:
    """Return what is drawn for a body of an operation with such a schema."""
    media = {"application/json": {"schema": schema}}
    return vary_body({"paths": {PATH: {"post": {"requestBody": {"content": media}}}}}, PATH, "post", body)


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"type": "integer"}, 7),
        ({"type": ["integer", "null"], "maximum": 5, "minimum": 2}, 3),
        ({"anyOf": [{"type": "integer", "minimum": 0}, {"type": "null"}], "default": None}, 7),
        ({"type": "string", "minLength": 12}, "weldproofxxx"),
        ({"type": "boolean", "default": True}, False),
        ({"enum": ["a", "b"], "default": "a"}, "b"),
        ({"type": "string", "pattern": "^0x", "example": "0x1"}, "0x1"),
        ({"type": "array", "items": {"type": "string"}}, ["weldproof"]),
        ({"type": "object", "properties": {"n": {"type": "number"}}}, {"n": 7}),
        ({"type": "object", "additionalProperties": {"type": "string"}}, {"weldproof": "weldproof"}),
    ],
)
def test_an_optional_member_is_added(schema: Any, value: Any) -> None:
    """It has a value that its schema takes."""
    assert bodies({"properties": {"text": {"type": "string"}, "more": schema}}, {"text": "a"}) == (
        {"text": "a", "more": value},
    )


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "boolean"},
        {"enum": ["a", "b"]},
        {"const": "a"},
        {"type": "null"},
        {"type": "string", "pattern": "^x"},
        {"type": "integer", "minimum": 4, "maximum": 4, "default": 4},
    ],
)
def test_nothing_is_added_that_may_be_the_default(schema: Any) -> None:
    """A rail that fills a default in before it hashes binds the same request, and is right."""
    assert bodies({"properties": {"more": schema}}, {}) == ()


def test_a_member_that_is_given_is_changed_wherever_it_stands() -> None:
    """Numbers, truth values, and what is inside objects and arrays; texts at the top are changed elsewhere."""
    example_body = {"text": "a", "n": 1, "yes": True, "in": {"t": "a"}, "list": [2, 3], "none": {}}
    schema = {"properties": {"none": {"type": "object", "additionalProperties": {"type": "string"}}}}
    assert bodies(schema, example_body) == (
        {**example_body, "n": 2},
        {**example_body, "yes": False},
        {**example_body, "in": {"t": "aA"}},
        {**example_body, "list": [3, 3]},
        {**example_body, "none": {"weldproof": "weldproof"}},
    )


def test_without_described_members_nothing_is_known() -> None:
    """That differs from having none to add."""
    assert bodies({"type": "object"}, {"text": "a"}) is None
    assert bodies({"properties": {"text": {"type": "string"}}}, {"text": "a"}) == ()
