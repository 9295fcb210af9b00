"""A stack of our own as a child process, for tests that need a running rail."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests import prepared


@contextmanager
def running_stack(folder: Path, *options: str) -> Iterator[dict[str, str]]:
    """Bring a stack up in `folder` on free ports and yield its ready line; end it on leaving."""
    words = ["up", "--json", "--port-base", "0", "--no-working-profile", "--no-companions"]
    words += ["--data-dir", str(folder), *options]
    with prepared.run_ready("localnet", *words) as ready:
        yield ready
