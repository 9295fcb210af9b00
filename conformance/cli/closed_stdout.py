"""Standard output after its reader has closed it, as `head` does."""

from __future__ import annotations

import os
import sys
from typing import Final

# Exit code that a shell shows for a program that SIGPIPE ended: 128 plus the number of the signal.
SIGPIPE_CODE: Final = 141


def discard_output() -> None:
    """Redirect standard output to the null device."""
    # Python flushes standard output when it exits. On a closed pipe that would print an exception
    # and replace the exit code.
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
