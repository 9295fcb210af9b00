"""RULES.md, which comes with the vectors, names everything that they expect."""

from __future__ import annotations

import re
from importlib.resources import files

import pytest

from conformance import vectors

PAGE = files(vectors).joinpath("RULES.md").read_text("utf-8")
SECTIONS = dict(re.findall(r"(?ms)^## (.*?)\n(.*?)(?=^## |\Z)", PAGE))


def section(family: str) -> str:
    """Return what the page says of a family."""
    return str(next(text for title, text in SECTIONS.items() if family in title.split(" and ")))


@pytest.mark.parametrize("family", vectors.package().families)
def test_it_names_every_stage_code_and_value_of_a_family(family: str) -> None:
    """No word of an expectation is left to guess; the endings `_differs` and content_digest's are listed once."""
    text, expected_verdicts = section(family), [one.expected for one in vectors.of_family(family)]
    stages = {one.stage for one in expected_verdicts if one.stage is not None}
    codes = {
        code.removesuffix("_differs").removeprefix("content_digest") for one in expected_verdicts for code in one.codes
    }
    values = {name for one in expected_verdicts for name in one.values}
    assert [word for word in sorted(stages | codes | values) if word not in text] == []


@pytest.mark.parametrize("family", vectors.package().families)
def test_it_names_what_a_verifier_must_tell(family: str) -> None:
    """The values of a family that must be reported are in its section."""
    assert [name for name in vectors.package().families[family].told if f"`{name}`" not in section(family)] == []


def test_its_bounds_are_those_of_the_judges() -> None:
    """Numbers that decide verdicts."""
    bounds = ("16,384 characters", "at most 32 levels", "64 hex digits", "`length` (672 bytes)", "more than 60 seconds")
    assert [words for words in bounds if words not in PAGE] == []
