"""How a variant gets into the clean code: it replaces one attribute, before the service starts."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any


def replace(owner: Any, name: str, made: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
    """Replace `owner.name` by what `made` makes of the original.

    Raises:
        AttributeError: The seam is gone: a variant that changes nothing must not pass for one that was tried.
    """
    original = getattr(owner, name)
    setattr(owner, name, functools.wraps(original)(made(original)))
