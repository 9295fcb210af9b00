"""Secrets of a stack: made once, kept in files of the data directory with mode 0600."""

from __future__ import annotations

import os
from pathlib import Path


def write_secret(path: Path, text: str) -> None:
    """Write a file that only its owner can read."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        file.write(text + "\n")
