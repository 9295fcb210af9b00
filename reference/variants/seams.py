"""Seams of variants: functions that replace one attribute or one rule before the service starts."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import ModuleType
from typing import Any

Rule = Callable[..., bool]


def replace(owner: Any, name: str, make_replacement: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
    """Replace `owner.name` by what `make_replacement` makes of the original.

    Raises:
        AttributeError: The owner has no such attribute.
    """
    # No default: if the attribute was renamed, the variant must fail. A variant that changes nothing must not pass
    # for one that was tried.
    original = getattr(owner, name)
    setattr(owner, name, functools.wraps(original)(make_replacement(original)))


def replace_rule(owner: ModuleType, rule: Rule, new_rule: Rule) -> None:
    """Replace a rule by another one in the table of its module.

    Raises:
        LookupError: No table holds the rule, or several do.
    """
    setattr(owner, *table_with(owner, rule, new_rule))


def table_with(owner: ModuleType, rule: Rule, new_rule: Rule) -> tuple[str, tuple[tuple[Rule, str], ...]]:
    """Return the name of a module's table that holds a rule, and that table with another one in its place.

    Tables are tuples of (rule, reason if it does not hold), in the order of the checks.

    Raises:
        LookupError: No table holds the rule, or several do.
    """
    tables = [(name, table) for name, table in vars(owner).items() if _holds(table, rule)]
    # A rule in several tables would be replaced in one of them only, and the variant would be half of what it
    # claims.
    if len(tables) != 1:
        raise LookupError(f"{len(tables)} tables of {owner.__name__} hold {rule.__name__}")
    [(name, table)] = tables
    return name, tuple((new_rule if one is rule else one, means) for one, means in table)


def _holds(table: object, rule: Rule) -> bool:
    return isinstance(table, tuple) and any(isinstance(one, tuple) and one[:1] == (rule,) for one in table)
