"""Servers as child processes: each on a socket bound for it, in a process group of its own, pinned to one processor."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tools.bench.load import LoadFault
from tools.bench.process_cpu_time import group_seconds

_READY_SECONDS = 60.0
_END_SECONDS = 10.0
_LAST_WORDS = 400


@dataclass(frozen=True, slots=True)
class Server:
    """A running server."""

    port: int
    process: subprocess.Popen[bytes]
    log: Path

    def seconds(self) -> float:
        """Return the CPU seconds of its whole group so far."""
        return group_seconds(self.process.pid)

    def read_last_words(self) -> str:
        """Return the end of what it wrote."""
        return self.log.read_text("utf-8", "replace").strip()[-_LAST_WORDS:] or "it said nothing"


@contextmanager
def run_server(
    words: Sequence[str], *, folder: Path, processors: set[int], environment: Mapping[str, str] | None = None
) -> Iterator[Server]:
    """Start a program that serves on a socket and end it on leaving.

    Args:
        words: The command; `{fd}` in it becomes the number of the socket, which listens already.
        folder: Its working folder, for its log.
        processors: Where it runs.
        environment: Further variables.
    """
    folder.mkdir(parents=True, exist_ok=True)
    log = folder / "log"
    with socket.create_server(("127.0.0.1", 0), backlog=512) as listener, log.open("wb") as output:
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        listener.set_inheritable(True)
        descriptor = listener.fileno()
        process = subprocess.Popen(  # noqa: S603 - fixed words
            [word.replace("{fd}", str(descriptor)) for word in words],
            cwd=folder,
            env={**_plain_environment(), **(environment or {})},
            pass_fds=[descriptor],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
        os.sched_setaffinity(process.pid, processors)
        port: int = listener.getsockname()[1]
    try:
        yield Server(port, process, log)
    finally:
        _end(process)


def await_ready(server: Server) -> None:
    """Wait until a server answers anything.

    Raises:
        LoadFault: It ended, or does not answer in a minute.
    """
    deadline = time.monotonic() + _READY_SECONDS
    while time.monotonic() < deadline and server.process.poll() is None:
        try:
            with socket.create_connection(("127.0.0.1", server.port), timeout=2) as connection:
                connection.sendall(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
                if connection.recv(1):
                    return
        except OSError:
            pass
        time.sleep(0.05)
    raise LoadFault(f"it did not start: {server.read_last_words()}")


def _plain_environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith("WP_")}


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
