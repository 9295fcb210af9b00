"""How a variant gets into the clean code: it replaces one attribute or one rule, before the service starts."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import ModuleType
from typing import Any

Rule = Callable[..., bool]


def replace(owner: Any, name: str, made: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
    """Replace `owner.name` by what `made` makes of the original.

    Raises:
        AttributeError: The seam is gone: a variant that changes nothing must not pass for one that was tried.
    """
    original = getattr(owner, name)
    setattr(owner, name, functools.wraps(original)(made(original)))


def swap(owner: Any, name: str, made: Callable[[Callable[..., Any]], Callable[..., Any]]) -> Callable[[], None]:
    """Return what replaces `owner.name` as `replace` does, for a table of variants."""
    return lambda: replace(owner, name, made)


def replace_rule(owner: ModuleType, rule: Rule, other: Rule) -> None:
    """Put another rule into a rule's place, in the table of its module.

    Raises:
        LookupError: No table holds the rule, or several do.
    """
    setattr(owner, *table_with(owner, rule, other))


def table_with(owner: ModuleType, rule: Rule, other: Rule) -> tuple[str, tuple[tuple[Rule, str], ...]]:
    """Return the name of a module's table that holds a rule, and that table with another one in its place.

    Tables are tuples of (rule, what a rule that does not hold means), in the order in which they are asked.

    Raises:
        LookupError: No table holds the rule, or several do.
    """
    found = [(name, held) for name, held in vars(owner).items() if _holds(held, rule)]
    if len(found) != 1:
        raise LookupError(f"{len(found)} tables of {owner.__name__} hold {rule.__name__}")
    [(name, held)] = found
    return name, tuple((other if one is rule else one, means) for one, means in held)


def _holds(held: object, rule: Rule) -> bool:
    return isinstance(held, tuple) and any(isinstance(one, tuple) and one[:1] == (rule,) for one in held)
