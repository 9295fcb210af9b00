"""The checks are imported while a run waits for its target."""

from __future__ import annotations

import subprocess
import sys

_PROGRAM = """
import asyncio, sys
from conformance.runner import CHECK_PACKAGES, brought_in

async def waits():
    async with brought_in():
        assert not any(one in sys.modules for one in CHECK_PACKAGES), "before anybody waits for anything"
        for _ in range(len(CHECK_PACKAGES) + 2):
            await asyncio.sleep(0)
        return [one for one in CHECK_PACKAGES if one not in sys.modules]

print(asyncio.run(waits()))
"""


def test_checks_are_imported_while_something_is_waited_for() -> None:
    done = subprocess.run([sys.executable, "-c", _PROGRAM], capture_output=True, text=True, check=False)
    assert (done.stdout.strip(), done.stderr) == ("[]", "")
