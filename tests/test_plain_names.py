"""Names in the product and its tests are nouns and verbs, not participles and pointing words."""

from __future__ import annotations

import ast

import pytest

from tests.plain_names import is_bare, names, variables

LARGEST_SHARE = 0.05


def test_names_say_what_they_hold_or_do() -> None:
    """No function, and at most one variable in twenty of a package, is a bare participle or a pointing word."""
    functions = [place for package in names().values() for place in package.functions]
    assert functions == [], "begin these with a verb in the imperative, or with `is`, `has` or `may`"
    many = {name: package.bare for name, package in names().items() if package.share > LARGEST_SHARE}
    assert many == {}, "name these by what they hold"


@pytest.mark.parametrize(
    ("name", "is_bad"),
    [("made", True), ("_told", True), ("ONE", True), ("signed", True), ("signed_receipt", False), ("string", False)],
)
def test_a_bare_name_is_recognised(name: str, is_bad: bool) -> None:
    """A participle with a noun is a name; some nouns only end like participles."""
    assert is_bare(name) is is_bad


def test_a_comprehension_on_one_line_may_use_a_short_variable() -> None:
    """Parameters and stored variables count; the variable of a comprehension that fits on one line does not."""
    tree = ast.parse("def read(path):\n    lines = [one for one in path]\n    for made in lines:\n        pass\n")
    assert sorted(variables(tree)) == ["lines", "made", "path"]
