"""A forwarder in front of PostgreSQL that counts round trips, from the protocol's messages.

A client waits for the answer after a Query or a Sync. It may send other messages together with the next one of these.
"""

from __future__ import annotations

import socket
import socketserver
import threading
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy.engine import make_url

_SOCKET_NAME = ".s.PGSQL.5432"
_AWAITED_KINDS = (b"Q", b"S")


@dataclass
class RoundTrips:
    """The address of the forwarder, and the round trips since `count` was last set to zero.

    Attributes:
        address: The address of the same database through the forwarder.
        count: Round trips on all connections.
    """

    address: str
    count: int = 0


@contextmanager
def counted_round_trips(address: str, folder: Path) -> Iterator[RoundTrips]:
    """Forward to a server that listens on a Unix socket."""
    url = make_url(address)
    target = str(Path(str(url.query["host"])) / _SOCKET_NAME)
    trips = RoundTrips(url.update_query_dict({"host": str(folder)}).render_as_string(hide_password=False))

    class Forwarder(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            client: socket.socket = self.request
            with socket.socket(socket.AF_UNIX) as server:
                server.connect(target)
                answers = threading.Thread(target=_forward_answers, args=(server, client), daemon=True)
                answers.start()
                kinds = _message_kinds()
                next(kinds)
                while data := client.recv(65536):
                    trips.count += sum(kind in _AWAITED_KINDS for kind in kinds.send(data))
                    server.sendall(data)
                server.shutdown(socket.SHUT_RDWR)
                answers.join()

    with socketserver.ThreadingUnixStreamServer(str(folder / _SOCKET_NAME), Forwarder) as forwarder:
        forwarder.daemon_threads = True
        thread = threading.Thread(target=forwarder.serve_forever, daemon=True)
        thread.start()
        yield trips
        forwarder.shutdown()
        thread.join()


def _forward_answers(server: socket.socket, client: socket.socket) -> None:
    while data := server.recv(65536):
        client.sendall(data)


def _message_kinds() -> Generator[list[bytes], bytes, None]:
    """Take the data that a client sends, and yield the kinds of the messages that are complete."""
    buffer, kinds = b"", list[bytes]()
    kind_length = 0  # the first message of a connection has no kind
    while True:
        buffer += yield kinds
        kinds = []
        while len(buffer) >= kind_length + 4:
            end = kind_length + int.from_bytes(buffer[kind_length : kind_length + 4], "big")
            if len(buffer) < end:
                break
            kinds.append(buffer[:kind_length])
            buffer, kind_length = buffer[end:], 1
