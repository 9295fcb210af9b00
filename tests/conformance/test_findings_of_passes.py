"""What a check says that it found is of what it found: a pass bears no text of a failure."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import conformance

HOUSE = Path(conformance.__file__).parent
FILES = sorted(path for folder in ("checks", "webhooks") for path in (HOUSE / folder).rglob("*.py"))


def alike_either_way(text: str) -> list[int]:
    """Return the lines of judgements that may go either way and whose `found` is one literal text."""
    calls = [
        node
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "expect"
    ]
    return [
        call.lineno
        for call in calls
        if len(call.args) > 3
        and not isinstance(call.args[1], ast.Constant)
        and isinstance(call.args[3], ast.Constant)
        and isinstance(call.args[3].value, str)
    ]


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(HOUSE)))
def test_no_judgement_finds_the_same_whether_it_holds_or_not(path: Path) -> None:
    """A literal is a failure's text, and stood beside passes as well."""
    assert alike_either_way(path.read_text("utf-8")) == []


def test_such_a_judgement_is_found() -> None:
    """The control: the literal of a judgement that cannot hold is right, and one that may is found."""
    judgements = ('expect("A", False, "x", "none")', 'expect("A", done, "x", "none")', 'expect("A", done, "x", detail)')
    assert alike_either_way("\n".join(f"case.{one}" for one in judgements)) == [2]
