"""A program that was found, and where it is looked for."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

_SECONDS = 60
_NUMBERS = re.compile(r"\d+(?:\.\d+)+")


@dataclass(frozen=True, slots=True)
class Program:
    """A program of others that can be run here.

    Attributes:
        name: What it is.
        path: The file to run; of several, the main one.
        version: As it tells itself; empty where it tells none.
        of_machine: Whether the machine has it; else it lies in the project's cache.
        environment: Variables that it needs beside one's own.
    """

    name: str
    path: Path
    version: str
    of_machine: bool
    environment: Mapping[str, str] = field(default_factory=dict)

    @property
    def description(self) -> str:
        """Version and place in a line."""
        return f"{self.version or 'of an unknown version'}, {self.path}{'' if self.of_machine else ' (of our cache)'}"


def machine_counts() -> bool:
    """Return whether programs of the machine may be taken: not with WELDPROOF_PROGRAMS=own."""
    return os.environ.get("WELDPROOF_PROGRAMS") != "own"


def version_of(path: str | Path, environment: Mapping[str, str] | None = None) -> str:
    """Return the version that a program tells with `--version`, such as `20.20.2`; empty where it tells none."""
    try:
        process = subprocess.run(  # noqa: S603 - a program that was looked up
            [str(path), "--version"],
            env={**os.environ, **(environment or {})},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    numbers = _NUMBERS.search(process.stdout) if process.returncode == 0 else None
    return numbers[0] if numbers else ""
