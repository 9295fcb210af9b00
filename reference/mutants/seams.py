"""How a mutant gets in: it replaces one attribute of the clean code, before the service starts."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Mutant:
    """One deliberately broken variant.

    Attributes:
        id: Its name on the command line.
        rule: The rule it drops, as a sentence with its clause.
        apply: Puts it into the running process.
        surface: The service it goes into; others of the same stack stay clean.
    """

    id: str
    rule: str
    apply: Callable[[], None]
    surface: str = "rail"


def replace(owner: Any, name: str, made: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
    """Replace `owner.name` by what `made` makes of the original.

    Raises:
        AttributeError: The seam is gone: a mutant that changes nothing must not pass for one that was caught.
    """
    original = getattr(owner, name)
    setattr(owner, name, functools.wraps(original)(made(original)))
