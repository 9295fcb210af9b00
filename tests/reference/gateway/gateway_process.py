"""Gateways as processes of their own, for what only a process shows."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx

from tests.reference.gateway.gateway_stack import EVM, NOWHERE, Tenant

READY_SECONDS = 100.0


class GatewayProcess:
    """One worker, on a socket that is handed down to it."""

    def __init__(self, folder: Path, settings: Mapping[str, str], *, public: socket.socket | None = None) -> None:
        """Take the folder of its log, and its settings; workers of one gateway share the public address."""
        folder.mkdir(parents=True, exist_ok=True)
        self._log = folder / f"log{len(list(folder.glob('log*')))}"
        self.socket = socket.create_server(("127.0.0.1", 0), backlog=512)
        self.socket.set_inheritable(True)
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith("WP_")} | {
            "WP_GATEWAY_FD": str(self.socket.fileno()),
            "WP_GATEWAY_PUBLIC_URL": f"http://localhost:{(public or self.socket).getsockname()[1]}",
            "WP_GATEWAY_DATA_DIR": str(folder / "data"),
            "WP_NODE_BASE_SEPOLIA": NOWHERE,
            "WP_CHAIN_POLL_SECONDS": "3600",
            "WP_RATE_LIMITS": "off",
            **settings,
        }
        self.process: subprocess.Popen[bytes] | None = None
        self.data = Path(self.environment["WP_GATEWAY_DATA_DIR"])
        self.http = httpx.Client(
            base_url=f"http://127.0.0.1:{self.socket.getsockname()[1]}", trust_env=False, timeout=60
        )

    def start(self) -> GatewayProcess:
        """Start the process."""
        with self._log.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "reference.gateway"],
                env=self.environment,
                pass_fds=[self.socket.fileno()],
                stdout=log,
                stderr=log,
            )
        return self

    @property
    def running(self) -> bool:
        """Whether the process runs."""
        return self.process is not None and self.process.poll() is None

    def ready(self) -> GatewayProcess:
        """Wait until the process is healthy."""
        deadline = time.monotonic() + READY_SECONDS
        while time.monotonic() < deadline and self.running:
            with contextlib.suppress(httpx.TransportError):
                if self.http.get("/health", timeout=2).status_code == 200:
                    return self
            time.sleep(0.02)
        raise AssertionError(f"the gateway did not start: {self.log()}")

    def command(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run a command of the gateway with its settings."""
        return subprocess.run(
            [sys.executable, "-m", "reference.gateway", *words],
            env=self.environment,
            pass_fds=[self.socket.fileno()],
            check=False,
            capture_output=True,
            text=True,
        )

    def log(self) -> str:
        """Return what the process wrote."""
        return self._log.read_text("utf-8")

    def internal(self, method: str, path: str, body: Any = None) -> Any:
        """Carry out one call as an administrator."""
        headers = {"Authorization": f"Bearer {(self.data / 'admin_key').read_text('ascii')}"}
        answer = self.http.request(method, f"/internal/tenants{path}", json=body, headers=headers)
        assert answer.status_code in {200, 201}, answer.text
        return answer.json()

    def tenant(self) -> Tenant:
        """Make a tenant that is paid on Base's test network."""
        made = self.internal("POST", "", {"name": "shop"})
        body = {"base_sepolia": {"payout_address": EVM}}
        self.internal("PUT", f"/{made['tenant_id']}/networks", body)
        return Tenant(made["tenant_id"], made["api_key"])

    def stop(self) -> None:
        """End the process as an operator would."""
        assert self.process is not None
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(30) == 0, self.log()

    def close(self) -> None:
        """End the process, if it still runs, and give its socket back."""
        if self.running:
            self.stop()
        self.http.close()
        self.socket.close()
