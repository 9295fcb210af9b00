"""The environments of the A2A SDK's two lines, each in the project's cache under the digest of its pins.

They are made at first use, or ahead of it by `python -m tests.prefetch`; later runs need no network. Nothing of them
ever gets into the project's environment.
"""

from __future__ import annotations

from pathlib import Path

from programs import python_packages

LINES = ("1", "0.3")
_FOLDER = Path(__file__).parent


def python_of(line: str) -> Path:
    """Return the interpreter of a line's environment, making it at first use.

    Raises:
        Missing: It could not be made; the text says what to do.
    """
    pins = _FOLDER / f"requirements-{line}.txt"
    return python_packages.environment("a2a", pins, description=f"the A2A SDK, line {line}") / "bin" / "python"
