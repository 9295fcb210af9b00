"""A private Valkey server that keeps nothing on disk."""

from __future__ import annotations

import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from programs.valkey import valkey
from tests.reserved_port import reserved_port

_SECONDS = 200  # to start; a busy machine takes its time


class ValkeyServer:
    """One server on a port that stays its own, also while the server does not run."""

    def __init__(self, folder: Path, port: int) -> None:
        """Take the folder of its log, and its port."""
        self.port = port
        self.url = f"valkey://127.0.0.1:{port}/0"
        self._log = folder / "valkey.log"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, *options: str) -> None:
        """Start the server, and wait until it answers."""
        fixed = ("--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no")
        with self._log.open("ab") as log:
            words = [str(valkey().path), *fixed, "--dir", str(self._log.parent), *options]
            self._process = subprocess.Popen(words, stdout=log, stderr=log)
        deadline = time.monotonic() + _SECONDS
        while self.ask(b"PING") == b"":
            assert self._process.poll() is None, self._log.read_text("utf-8")
            assert time.monotonic() < deadline, self._log.read_text("utf-8")
            time.sleep(0.02)

    def ask(self, command: bytes) -> bytes:
        """Return the raw answer to a command; nothing if no server is there."""
        try:
            with socket.create_connection(("127.0.0.1", self.port), 60) as connection:
                connection.sendall(command + b"\r\n")
                return connection.recv(65536)
        except ConnectionRefusedError:
            return b""

    def send_signal(self, number: int) -> None:
        """Send the process a signal."""
        assert self._process is not None
        self._process.send_signal(number)

    def stop(self) -> None:
        """End the server at once, if it runs."""
        if self._process is not None:
            self._process.send_signal(signal.SIGCONT)
            self._process.kill()
            self._process.wait(60)
            self._process = None


@contextmanager
def valkey_server(folder: Path) -> Iterator[ValkeyServer]:
    """Run a server until the block is left.

    Raises:
        Missing: There is no Valkey, and it could not be downloaded.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with reserved_port() as port:
        server = ValkeyServer(folder, port)
        try:
            server.start()
            yield server
        finally:
            server.stop()
