"""What holds of every answer of the rail holds at its A2A door (P-CV-10 to P-CV-16, P-CH-09)."""

from __future__ import annotations

import json
import re

import pytest

from tests.reference.rail.a2a.a2a_client import ORDER, call, envelope, message
from tests.reference.rail.rail_stack import Rail

CARDS = ("/.well-known/agent-card.json", "/.well-known/agent.json")
ORDERED = json.dumps(envelope("message/send", {"message": message(ORDER)})).encode()


def test_an_answer_is_nobody_else_s(rail: Rail) -> None:
    """Not stored, with an id of its own, open to scripts of any origin."""
    answers = [call(rail, "message/send", {"message": message(ORDER)}) for _ in range(2)]

    assert {"no-store"} == {answer.headers["Cache-Control"] for answer in answers}
    assert len({answer.headers["X-Request-Id"] for answer in answers}) == 2
    assert all(re.fullmatch("req_[0-9a-f]{32}", answer.headers["X-Request-Id"]) for answer in answers)
    assert {"*"} == {answer.headers["Access-Control-Allow-Origin"] for answer in answers}


@pytest.mark.parametrize(
    ("body", "headers", "status"),
    [
        (ORDERED + b" " * (65_536 - len(ORDERED)), {}, 200),
        (ORDERED + b" " * (65_537 - len(ORDERED)), {}, 413),
        (ORDERED, {"Content-Encoding": "gzip"}, 415),
        (ORDERED, {"Content-Encoding": "identity"}, 200),
        (ORDERED, {"X-Large": "x" * 16_384}, 431),
        (ORDERED, {"Content-Type": "application/x-www-form-urlencoded"}, 200),
        (ORDERED, {"Content-Type": ""}, 200),
    ],
)
def test_limits_of_size_and_form(rail: Rail, body: bytes, headers: dict[str, str], status: int) -> None:
    """By HTTP before JSON-RPC is read; the type of the body is not asked for."""
    assert status == rail.http.post("/a2a", content=body, headers=headers).status_code


@pytest.mark.parametrize("path", [*CARDS, "/a2a"])
def test_what_is_published_is_read_only(rail: Rail, path: str) -> None:
    """HEAD as GET without a body; other methods are refused with Allow."""
    head, got = rail.http.head(path), rail.http.get(path)
    assert (200, b"", got.headers["Content-Length"]) == (head.status_code, head.content, head.headers["Content-Length"])
    for method in ("PUT", "PATCH", "DELETE"):
        answer = rail.http.request(method, path)
        assert answer.status_code == 405
        assert {"GET", "HEAD"} <= set(answer.headers["Allow"].split(", "))
    assert (200 if path == "/a2a" else 405) == rail.http.post(path, content=b"{}").status_code


def test_a_script_may_ask(rail: Rail) -> None:
    """The preflight of a POST with the extension's header."""
    request_headers = {"Origin": "https://shop.example", "Access-Control-Request-Method": "POST"}
    answer = rail.http.options(
        "/a2a", headers={**request_headers, "Access-Control-Request-Headers": "x-a2a-extensions"}
    )

    assert answer.status_code == 204
    assert "x-a2a-extensions" in answer.headers["Access-Control-Allow-Headers"]
