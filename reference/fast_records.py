"""Records of which a single call makes many."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar, dataclass_transform

T = TypeVar("T")


@dataclass_transform(frozen_default=True)
def record(cls: type[T]) -> type[T]:
    """Make a class a dataclass with slots that is frozen for the type checker alone.

    One that Python itself keeps frozen sets each field by a call of a function and takes three times as long to make.
    """
    return dataclass(slots=True, unsafe_hash=True)(cls)
