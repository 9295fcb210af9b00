"""One worker of a service as a process of its own, for what only a process shows."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Self

import httpx

from tests import prepared

READY_SECONDS = 250.0
_END_SECONDS = 120.0
_OURS = ("WP_", "S2CP_", "S2_")


def environment(**settings: str) -> dict[str, str]:
    """Return this process's environment with these settings and no other of ours, in test mode unless they say."""
    own = {name: value for name, value in os.environ.items() if not name.startswith(_OURS)}
    return own | {"WP_MODE": "test"} | settings


class WorkerProcess:
    """One worker, on a socket that is handed down to it."""

    def __init__(self, folder: Path, program: Sequence[str], fd_setting: str, settings: Mapping[str, str]) -> None:
        """Take its folder, what Python runs, the setting that names the socket, and its other settings."""
        folder.mkdir(parents=True, exist_ok=True)
        self._log = folder / f"log{len(list(folder.glob('log*')))}"
        self._program = [*program]
        self.socket = socket.create_server(("127.0.0.1", 0), backlog=512)
        self.socket.set_inheritable(True)
        self.url = f"http://127.0.0.1:{self.socket.getsockname()[1]}"
        own_settings = {fd_setting: str(self.socket.fileno()), "WP_RATE_LIMITS": "off", **settings}
        self.environment = environment(**own_settings)
        self.process: subprocess.Popen[bytes] | prepared.Prepared | None = None
        self.http = httpx.Client(base_url=self.url, trust_env=False, timeout=100)

    def start(self) -> Self:
        """Start the process."""
        with self._log.open("ab") as log:
            passed_fds = [self.socket.fileno()]
            kind, *words = self._program
            if kind == "-m":
                self.process = prepared.start(*words, env=self.environment, pass_fds=passed_fds, stdout=log, stderr=log)
            else:
                command = [sys.executable, *self._program]
                self.process = subprocess.Popen(
                    command, env=self.environment, pass_fds=passed_fds, stdout=log, stderr=log
                )
        return self

    @property
    def pid(self) -> int:
        """Its process id."""
        assert self.process is not None
        return self.process.pid

    @property
    def is_running(self) -> bool:
        """Whether the process runs."""
        return self.process is not None and self.process.poll() is None

    def ready(self) -> Self:
        """Wait until it does what it is there for."""
        deadline = time.monotonic() + READY_SECONDS
        while time.monotonic() < deadline and self.is_running:
            with contextlib.suppress(httpx.TransportError):
                if self.is_ready():
                    return self
            time.sleep(0.02)
        raise AssertionError(f"it did not start: {self.log()}")

    def is_ready(self) -> bool:
        """Whether it says that it is healthy."""
        return self.http.get("/health", timeout=5).status_code == 200

    def command(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run a command of the same program with its settings."""
        kind, *program = self._program
        assert kind == "-m", "only a module has commands"
        return prepared.run(*program, *words, env=self.environment, pass_fds=[self.socket.fileno()])

    def log(self) -> str:
        """Return what the process wrote."""
        return self._log.read_text("utf-8")

    def kill(self) -> None:
        """End the process as a power cut would."""
        assert self.process is not None
        self.process.kill()
        self.process.wait(_END_SECONDS)

    def stop(self) -> None:
        """End the process as an operator would."""
        assert self.process is not None
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(_END_SECONDS) == 0, self.log()

    def close(self) -> None:
        """End the process, if it still runs, and give its socket back."""
        try:
            if self.is_running:
                self.stop()
        finally:
            if self.is_running:
                self.kill()
            self.http.close()
            self.socket.close()
