"""Standard output that nobody reads any more."""

from __future__ import annotations

import os
import sys
from typing import Final

# What a shell shows for a program that SIGPIPE ended: 128 and the signal's number.
SIGPIPE_CODE: Final = 141


def discard_output() -> None:
    """Let what is still to be printed go nowhere: whoever read standard output has left."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
