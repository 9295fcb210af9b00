"""A relay before a chain's node that can stand still: it takes every question and passes none on."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from urllib.parse import urlsplit

_CHUNK = 65536


class StallingNode:
    """Passes bytes on in both directions for as long as it flows.

    Attributes:
        url: The node by way of the relay.
        flowing: Set while bytes pass.
        held: How many questions were held back since it last stood still.
    """

    def __init__(self, behind: str) -> None:
        parts = urlsplit(behind)
        self._server = (parts.hostname or "127.0.0.1", parts.port or 80)
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=512)
        self._open: list[socket.socket] = []
        self._count = threading.Lock()
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self.held = 0
        self.flowing = threading.Event()
        self.flowing.set()
        threading.Thread(target=self._accept, daemon=True).start()

    def stall(self) -> None:
        """Stand still."""
        self.held = 0
        self.flowing.clear()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.create_connection(self._server)
                self._open += [client, server]
                for pair in ((client, server), (server, client)):
                    threading.Thread(target=self._pass_on, args=pair, daemon=True).start()

    def _pass_on(self, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(_CHUNK):
                if not self.flowing.is_set():
                    with self._count:
                        self.held += 1
                    self.flowing.wait()
                target.sendall(data)
        for stream in (source, target):
            with suppress(OSError):
                stream.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """End every connection."""
        self.flowing.set()
        for stream in (self._listener, *self._open):
            with suppress(OSError):
                stream.shutdown(socket.SHUT_RDWR)
            stream.close()


@contextmanager
def stalling_node(behind: str) -> Iterator[StallingNode]:
    """Run a relay before a node."""
    relay = StallingNode(behind)
    try:
        yield relay
    finally:
        relay.close()
