"""A port that is reserved for as long as a test needs it, although no server listens there yet."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def reserved_port() -> Iterator[int]:
    """Keep a port of 127.0.0.1: connections are refused, and a server with this port in its settings can listen there.

    The socket is bound and does not listen. The system does not choose its port as a free one, so that no other test
    gets it meanwhile. A server that reuses addresses, as every server here does, may also bind it.
    """
    with socket.socket() as reserved_socket:
        reserved_socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        reserved_socket.bind(("127.0.0.1", 0))
        yield reserved_socket.getsockname()[1]
