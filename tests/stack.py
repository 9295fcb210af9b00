"""A stack of our own as a child process, for tests that need a running rail."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def running_stack(folder: Path, *options: str) -> Iterator[dict[str, str]]:
    """Bring a stack up in `folder` on free ports and yield its ready line; end it on leaving."""
    words = [sys.executable, "-m", "localnet", "up", "--json", "--port-base", "0", "--no-working-profile"]
    with subprocess.Popen([*words, "--data-dir", str(folder), *options], stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            assert line, "the stack did not come up"
            yield json.loads(line)
        finally:
            process.terminate()
            assert process.wait(600) == 0
