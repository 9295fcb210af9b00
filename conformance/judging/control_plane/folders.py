"""Folders for control planes that a check starts."""

from __future__ import annotations

from contextlib import AsyncExitStack
from pathlib import Path

from conformance.surfaces.control_plane.starting import data_folder


def folder(stack: AsyncExitStack) -> Path:
    """Return an empty data directory that is removed when the stack closes, with all that is written beside it."""
    return stack.enter_context(data_folder())
