"""`python -m tests.reference.jumping MODULE`: a service on a machine whose clock is set while it runs.

The number in the file that WELDPROOF_TEST_WALL names is added to every reading of the machine's clock in this process,
as if the clock had been set; the monotonic clock goes on. The service does not notice it.
"""

from __future__ import annotations

import os
import runpy
import sys
import time
from pathlib import Path

_FILE = Path(os.environ["WELDPROOF_TEST_WALL"])
_seconds, _nanoseconds = time.time, time.time_ns


def _set_by() -> float:
    return float(_FILE.read_text("ascii") or 0)


def main(module: str, *arguments: str) -> None:
    """Run a module under such a clock."""
    time.time = lambda: _seconds() + _set_by()
    time.time_ns = lambda: _nanoseconds() + int(_set_by() * 10**9)
    sys.argv = [module, *arguments]
    runpy.run_module(module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
