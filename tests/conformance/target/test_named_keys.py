"""Keys of the profile that reasons and hints name: each is one that a profile may have."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import conformance
from conformance.target.bindings_page import page

ROOT = Path(conformance.__file__).parent
_PARTS = ("checks", "checkout", "agent", "hub")
SOURCES = sorted([*ROOT.glob("*.py"), *(path for part in _PARTS for path in ROOT.glob(f"{part}/**/*.py"))])
# A table, and what follows it: a key, or what is filled in when the text is printed.
_NAMED_KEY = re.compile(r"\[([a-z_]+(?:\.[a-zA-Z_{}]+)*)\](?: ([a-z_]{3,}))?")
# Words that follow a table in a sentence and are no keys of it.
_WORDS = frozenset(
    {"and", "with", "url", "for", "has", "gives", "claims", "serves", "says", "the", "table", "nor", "that"}
)
# An extra of the distribution, and attributes of HTML.
_NO_TABLES = frozenset({"browser", "style", "src", "data", "href"})


def texts(source: Path) -> Iterator[str]:
    """Yield the texts of a module that users read, `{}` for what is filled in; not its docstrings."""
    tree = ast.parse(source.read_text("utf-8"))
    documents = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            yield "".join(str(one.value) if isinstance(one, ast.Constant) else "{}" for one in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documents:
            yield node.value


@cache
def documented_keys() -> Mapping[str, set[str]]:
    """Return the keys of each table of the page, by its path with names of the operator's choice as `NAME`."""
    keys_by_table: dict[str, set[str]] = {}
    for section in page().split("\n## ")[1:]:
        head = re.match(r"`\[+([^\]]+)\]+`", section)
        keys_by_table[head[1] if head else ""] = set(re.findall(r"(?m)^- `(\w+)`", section))
    return keys_by_table


def fits(table: str, known_table: str) -> bool:
    """Return whether a table that a text names may be a table of the page."""
    ours, theirs = table.split("."), known_table.split(".")
    return len(ours) == len(theirs) and all(
        first_part == second_part or second_part.isupper() or "{" in first_part
        for first_part, second_part in zip(ours, theirs, strict=True)
    )


@pytest.mark.parametrize("source", SOURCES, ids=lambda one: str(one.relative_to(ROOT)))
def test_every_key_that_a_text_names_is_documented(source: Path) -> None:
    """An operator who is asked to bind a key finds it on the page."""
    tables: Mapping[str, Any] = documented_keys()
    for text in texts(source):
        for table, key in _NAMED_KEY.findall(text):
            if table in _NO_TABLES:
                continue
            fitting_keys = [keys for known, keys in tables.items() if fits(table, known)]
            # A table whose keys have names of the operator's choice, such as [rail.bodies], is a key of another one.
            above, _, last = table.rpartition(".")
            inner = any(last in keys for known, keys in tables.items() if fits(above, known))
            begins = any(known.startswith(f"{table}.") for known in tables)
            assert fitting_keys or inner or begins, f"{table}: {text}"
            if key and key not in _WORDS and fitting_keys:
                assert any(key in keys for keys in fitting_keys), f"[{table}] {key}: {text}"
