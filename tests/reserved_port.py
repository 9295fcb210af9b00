"""A port that is somebody's for as long as a test needs it, though nobody listens there yet."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def reserved_port() -> Iterator[int]:
    """Keep a port of 127.0.0.1: connections are refused, and a server that is told the port can listen there.

    The socket is bound and does not listen. The system gives its port to nobody who asks for any free one, so that no
    other test is there meanwhile; a server that reuses addresses, as every server here does, may bind it beside us.
    """
    with socket.socket() as held:
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        held.bind(("127.0.0.1", 0))
        yield held.getsockname()[1]
