"""A stack of our own as a child process, for tests that need a running rail."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests import prepared


@contextmanager
def running_stack(folder: Path, *options: str) -> Iterator[dict[str, str]]:
    """Bring a stack up in `folder` on free ports and yield its ready line; end it on leaving."""
    words = ["up", "--json", "--port-base", "0", "--no-working-profile", "--data-dir", str(folder), *options]
    reading, writing = os.pipe()
    assert sys.__stderr__ is not None
    with os.fdopen(reading, encoding="utf-8") as said:
        with os.fdopen(writing, "wb") as ready:
            process = prepared.start("localnet", *words, env=os.environ, stdout=ready, stderr=sys.__stderr__)
        try:
            line = said.readline()
            assert line, "the stack did not come up"
            yield json.loads(line)
        finally:
            process.terminate()
            assert process.wait(600) == 0
