"""Rules for the members of JSON objects: each member has a rule, and a member without a rule is a fault.

A list of rules is closed. So a test that applies it to an honest answer shows the members that no rule explains, and a
member that a rule names cannot be left out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

_LONGEST_TEXT = 120


@dataclass(frozen=True, slots=True)
class Rule:
    """What one member must be.

    Attributes:
        text: The requirement in words.
        holds: Whether a value keeps it.
    """

    text: str
    holds: Callable[[Any], bool]


Rules = Mapping[str, Rule]


def is_equal(left: Any, right: Any) -> bool:
    """Return whether two JSON values are equal and of the same types: `true` is not 1."""
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        return left.keys() == right.keys() and all(is_equal(left[name], right[name]) for name in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(is_equal, left, right))
    # Python has `True == 1`. JSON has two values of two types.
    return isinstance(left, bool) == isinstance(right, bool) and bool(left == right)


def equals(value: Any) -> Rule:
    """Return the rule that a member has one value."""
    return Rule(repr(value), lambda member: is_equal(member, value))


def one_of(values: Collection[Any]) -> Rule:
    """Return the rule that a member has one of several values."""
    # Not `member in values`, which would take `true` for 1.
    return Rule(f"one of {sorted(values, key=str)}", lambda member: any(is_equal(member, one) for one in values))


def matches(pattern: str) -> Rule:
    """Return the rule that a member is a text of a form."""
    # Without ASCII, `\d` and `\w` would accept the digits and letters of every script.
    expression = re.compile(pattern, re.ASCII)
    return Rule(f"a text {pattern}", lambda member: isinstance(member, str) and bool(expression.fullmatch(member)))


def between(least: float, most: float) -> Rule:
    """Return the rule that a member is a whole number in a range, both ends included."""
    return Rule(
        f"a whole number from {least} to {most}",
        lambda member: isinstance(member, int) and not isinstance(member, bool) and least <= member <= most,
    )


def is_an(kind: type) -> Rule:
    """Return the rule that a member has a JSON type and is not empty."""
    return Rule(f"a {kind.__name__} that is not empty", lambda member: isinstance(member, kind) and bool(member))


def find_member_faults(value: Any, rules: Rules, place: str) -> list[str]:
    """Return what is wrong with the members of an object, in words; empty if each keeps its rule.

    Args:
        value: The object.
        rules: The rules by member. A member that has none is a fault.
        place: Where the object is, for the words.
    """
    further_names = [name for name in value if name not in rules] if isinstance(value, Mapping) else []
    faults = find_listed_faults(value, rules, place)
    return faults + [f"{place} has the further member {name}" for name in further_names]


def find_listed_faults(value: Any, rules: Rules, place: str) -> list[str]:
    """Return what is wrong with the members that have a rule, as `find_member_faults`; further members may be there."""
    if not isinstance(value, Mapping):
        return [f"{place} is not an object"]
    return [f"{place} has no {name}" for name in rules if name not in value] + [
        f"{place}.{name} is {_shorten(value[name])}, not {_shorten(rule.text, quote=False)}"
        for name, rule in rules.items()
        if name in value and not rule.holds(value[name])
    ]


def _shorten(value: Any, *, quote: bool = True) -> str:
    text = repr(value) if quote else str(value)
    return text if len(text) <= _LONGEST_TEXT else text[:_LONGEST_TEXT] + "…"
