# ruff: noqa: INP001 - pytest imports it by its name, from its folder
"""A pytest plugin: writes each test that fails, with the first line of its docstring, to a file as a line of JSON.

The file is named by the environment variable MUTANT_FAILURES. There is no file if every test passes.
"""

from __future__ import annotations

import json
import os
from collections.abc import Generator
from pathlib import Path

import pytest

_DOCS: dict[str, str] = {}


def pytest_itemcollected(item: pytest.Item) -> None:
    """Keep the first line of the docstring of a test."""
    docstring = getattr(getattr(item, "obj", None), "__doc__", None) or ""
    _DOCS[item.nodeid] = docstring.strip().partition("\n")[0]


def pytest_collectreport(report: pytest.CollectReport) -> None:
    """Note a file that cannot be read."""
    if report.failed:
        _note(report.nodeid, "its file cannot be imported")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Note a test that fails, or whose fixtures do."""
    report = yield
    if report.failed:
        _note(item.nodeid, _DOCS.get(item.nodeid, ""))
    return report


def _note(node: str, behaviour: str) -> None:
    with Path(os.environ["MUTANT_FAILURES"]).open("a", encoding="utf-8") as file:
        file.write(json.dumps({"node": node, "behaviour": behaviour}) + "\n")
