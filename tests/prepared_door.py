"""The program behind a script of `tests.prepared.script`: has a parent fork, and ends as what was forked ends.

It is run as `python -I -S prepared_door.py PARENT MODULE WORDS…` and imports what it must alone.
"""

from __future__ import annotations

import json
import os
import socket
import struct
import sys


def main() -> int:
    """Ask for a fork with our outputs, input, folder and environment, and return how it ended."""
    parent, module, *words = sys.argv[1:]
    request = {
        "module": module,
        "words": words,
        "env": dict(os.environ),
        "cwd": os.getcwd(),  # noqa: PTH109 - pathlib would be half of what this imports
        "places": [0, 1, 2],
    }
    reading, write_end = os.pipe()
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as door:
        door.connect(f"\0{parent}")
        socket.send_fds(door, [json.dumps(request).encode()], [write_end, 0, 1, 2])
        os.close(write_end)
        if not door.recv(64):
            return 1
        (code,) = struct.unpack("!i", os.read(reading, 4))
    if code < 0:
        os.kill(os.getpid(), -code)
    return int(code)


if __name__ == "__main__":
    sys.exit(main())
