"""The checks are imported while a run waits for its target."""

from __future__ import annotations

import subprocess
import sys

_PROGRAM = """
import asyncio, sys
from conformance.engine.check_loading import CHECK_PACKAGES, import_meanwhile

async def waits():
    async with import_meanwhile():
        assert not any(one in sys.modules for one in CHECK_PACKAGES), "before any check waits"
        turns = 0
        while not all(one in sys.modules for one in CHECK_PACKAGES):
            await asyncio.sleep(0.001)
            turns += 1
        return turns > len(CHECK_PACKAGES)

print(asyncio.run(waits()))
"""


def test_checks_are_imported_while_something_is_waited_for() -> None:
    """They come in while the caller waits, and the event loop goes on with others meanwhile."""
    result = subprocess.run([sys.executable, "-c", _PROGRAM], capture_output=True, text=True, check=False)
    assert (result.stdout.strip(), result.stderr) == ("True", "")
