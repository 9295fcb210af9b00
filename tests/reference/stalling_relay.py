"""A relay before a PostgreSQL server that can stand still: connections stay open, and nothing comes through."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from sqlalchemy.engine import make_url

_PORT = 5432
_CHUNK = 65536


class StallingRelay:
    """Passes bytes on in both directions for as long as it flows.

    Attributes:
        address: The database by way of the relay.
        flowing: Set while bytes pass.
    """

    def __init__(self, address: str, folder: Path) -> None:
        url = make_url(address)
        host = str(url.query.get("host") or url.host)
        port = url.port or _PORT
        self._server: str | tuple[str, int] = f"{host}/.s.PGSQL.{port}" if host.startswith("/") else (host, port)
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(folder / f".s.PGSQL.{_PORT}"))
        self._listener.listen()
        self._open: list[socket.socket] = []
        self.flowing = threading.Event()
        self.flowing.set()
        url = url.set(host=None, port=_PORT).update_query_dict({"host": str(folder)})
        self.address = url.render_as_string(hide_password=False)
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.socket(socket.AF_UNIX if isinstance(self._server, str) else socket.AF_INET)
                server.connect(self._server)
                self._open += [client, server]
                for pair in ((client, server), (server, client)):
                    threading.Thread(target=self._pass_on, args=pair, daemon=True).start()

    def _pass_on(self, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(_CHUNK):
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
def stalling_relay(address: str, folder: Path) -> Iterator[StallingRelay]:
    """Run a relay before a database, listening in a folder whose path is short enough for a socket."""
    relay = StallingRelay(address, folder)
    try:
        yield relay
    finally:
        relay.close()
