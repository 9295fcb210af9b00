"""Requests that differ in little from a paid one."""

from __future__ import annotations

import json
from typing import Any

import pytest

from conformance.attacks.nearby_requests import (
    LONG_QUERY,
    add_nested_members,
    lengthen_texts,
    list_equivalent_queries,
    list_fine_changes,
    list_fine_queries,
)

BODY: dict[str, Any] = {
    "jws": "e30.e30.AA" + "Ab" * 1000,
    "who": "caf\u00e9",
    "headers": {"A": "Bc", "d": "E"},
    "list": ["a", "b"],
    "most": 7,
    "all": True,
}


def list_changed_bodies(body: Any, usual_body: Any = None) -> dict[str, Any]:
    """Return the changed bodies by their names."""
    return {change.name: change.body for change in list_fine_changes(body, usual_body or body)}


def test_every_change_is_another_body_with_a_name_of_its_own() -> None:
    """None is the paid body, and none comes twice."""
    changes = list_fine_changes(BODY, {"jws": "x"})
    texts = [json.dumps(change.body) for change in changes]
    assert json.dumps(BODY) not in texts
    assert len({change.name for change in changes}) == len(changes)


def test_a_long_text_is_changed_where_a_short_look_ends_before() -> None:
    """The end and the middle differ by a letter, and all before is the same."""
    bodies = list_changed_bodies(BODY)
    for name, least in (("another letter at the end of jws", 2000), ("another letter in the middle of jws", 1000)):
        text = bodies[name]["jws"]
        assert len(text) == len(BODY["jws"])
        assert text[:least] == BODY["jws"][:least]
        assert text.lower() != BODY["jws"].lower()


@pytest.mark.parametrize(
    ("name", "members"),
    [
        ("another letter at the end of headers/A", {"headers": {"A": "Bb", "d": "E"}}),
        ("the case of a letter of headers/A", {"headers": {"A": "BC", "d": "E"}}),
        ("d in headers renamed", {"headers": {"A": "Bc", "db": "E"}}),
        ("d in headers left out", {"headers": {"A": "Bc"}}),
        ("list the other way round", {"list": ["b", "a"]}),
        ("the last of list left out", {"list": ["a"]}),
        ("another letter at the end of list/1", {"list": ["a", "c"]}),
        ("one more at most", {"most": 8}),
        ("most as a text", {"most": "7"}),
        ("all as a text", {"all": "true"}),
        ("who in NFD", {"who": "cafe\u0301"}),
        ("jws also in another case", {"JWS": BODY["jws"]}),
    ],
)
def test_one_thing_is_changed(name: str, members: Any) -> None:
    """A name, a value, an order, a number or a form; the rest stays."""
    assert list_changed_bodies(BODY)[name] == {**BODY, **members}


def test_what_a_target_may_read_as_one_is_not_sure() -> None:
    """Letter case is distinguished surely if a standard says so; a different letter always is."""
    sure = {change.name: change.sure for change in list_fine_changes(BODY, {"jws": "x"})}
    assert sure["the case of a letter of jws"]
    assert not sure["the case of a letter of who"]
    assert sure["another letter at the end of headers/A"]
    assert sure["most left out"]
    assert not any(held for name, held in sure.items() if "NFD" in name or "space" in name or "as a text" in name)


def test_an_escaped_path_is_the_same_in_either_case() -> None:
    """`%2f` and `%2F` are equal to a server that normalises addresses."""
    sure_by_name = {change.name: change.sure for change in list_fine_changes({"path": "/a%2f"}, {})}
    assert not sure_by_name["the case of a letter of path"]


def test_a_body_is_made_fuller_inside_first() -> None:
    """A text inside an object is made long before those of the body itself; an object gets a further member."""
    first, second = lengthen_texts({"a": "x", "in": {"b": "y"}})
    assert len(first["in"]["b"]) > 4096
    assert first["a"] == "x"
    assert len(second["a"]) > 4096
    assert list(add_nested_members({"a": "x", "in": {"b": "y"}})) == [
        {"a": "x", "in": {"b": "y", "x-weldproof": "weldProof"}}
    ]
    assert list(add_nested_members("text")) == []


def test_queries_differ_in_little() -> None:
    """In one letter behind more than a KiB, in a letter's case, in the order or the number of their parts."""
    queries = list_fine_queries(LONG_QUERY)
    assert len(set(queries.values())) == len(queries)
    assert LONG_QUERY not in queries.values()
    assert queries["another last letter"][:1500] == LONG_QUERY[:1500]
    assert queries["its last letter in the other case"].lower() == LONG_QUERY.lower()


def test_queries_differ_in_what_is_encoded() -> None:
    """A delimiter that becomes data, and data that becomes a delimiter; a letter's encoding is the same letter."""
    queries = list_fine_queries("a=1&b=2%26c")
    assert queries["an ampersand percent-encoded"] == "a=1%26b=2%26c"
    assert queries["an equals sign percent-encoded"] == "a=1&b%3D2%26c"
    assert queries["an ampersand percent-decoded"] == "a=1&b=2&c"
    assert queries["a percent sign percent-encoded"] == "a=1&b=2%2526c"
    assert list_equivalent_queries("a=1&b=2") == {"a letter percent-encoded": "a=1&%62=2"}
    assert list_equivalent_queries("1=2") == {}
