"""No function of the product is longer than a page, its docstring not counted."""

from __future__ import annotations

import ast
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGES = ("conformance", "localnet", "openapi", "reference", "sim", "tools")
LONGEST = 45


def _length(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Return the lines of a function without its docstring and its decorators."""
    lines = (function.end_lineno or 0) - function.lineno + 1
    first = function.body[0]
    if ast.get_docstring(function) is None:
        return lines
    return lines - ((first.end_lineno or 0) - first.lineno + 1)


def test_no_function_is_longer_than_a_page() -> None:
    files = [path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))]
    long = {
        f"{path.relative_to(ROOT)}:{found.lineno} {found.name}": _length(found)
        for path in files
        for found in ast.walk(ast.parse(path.read_bytes()))
        if isinstance(found, ast.FunctionDef | ast.AsyncFunctionDef) and _length(found) > LONGEST
    }
    assert files
    assert long == {}
