"""Schemas as the oracles hold values against them, beside another implementation."""

from __future__ import annotations

import copy
import json
import random
from importlib.resources import files
from typing import Any

import jsonschema_rs
import pytest

from conformance.oracles.json_schema import Schema
from tests.conformance.oracles.test_challenge_oracle import CHALLENGE

SCHEMA: dict[str, Any] = json.loads(files("conformance.oracles").joinpath("challenge.schema.json").read_text("utf-8"))
_ODD: tuple[Any, ...] = (None, True, 0, 1.0, -1, 10**40, "", "0", "10\n", "x" * 400, [], {}, ["a"], {"a": 1})


def places(value: Any) -> list[tuple[Any, Any]]:
    """Return every container of a document with each of its keys."""
    if not isinstance(value, dict | list):
        return []
    keys = [*value] if isinstance(value, dict) else [*range(len(value))]
    return [*((value, key) for key in keys), *(pair for key in keys for pair in places(value[key]))]


@pytest.mark.parametrize("seed", range(150))
def test_it_finds_fault_with_what_another_implementation_does(seed: int) -> None:
    """A 402 with one value changed, or taken out, has faults to both or to neither, and at the same places."""
    rng = random.Random(seed)
    document = copy.deepcopy(CHALLENGE)
    holder, key = rng.choice(places(document))
    if rng.random() < 0.2:
        del holder[key]
    else:
        old = holder[key]
        holder[key] = f"{old}\n" if isinstance(old, str) and rng.random() < 0.3 else rng.choice(_ODD)
    ours = {place for place, _ in Schema(SCHEMA).faults(document)}
    theirs = {tuple(one.instance_path) for one in jsonschema_rs.validator_for(SCHEMA).iter_errors(document)}
    assert ours == theirs, document


def test_a_pattern_ends_at_the_end_of_a_text() -> None:
    """A line feed behind what a pattern takes is no part of it."""
    schema = Schema({"pattern": "^[0-9]+$"})
    assert [*schema.faults("12")] == []
    assert [*schema.faults("12\n")] == [((), "'12\\n' does not match '^[0-9]+$'")]
    assert [*Schema({"propertyNames": {"pattern": "^a\\$$"}}).faults({"a$": 1})] == []


def test_what_is_no_schema_is_refused() -> None:
    """A schema with an invalid type is refused."""
    with pytest.raises(ValueError, match="no JSON Schema"):
        Schema({"type": "text"})
