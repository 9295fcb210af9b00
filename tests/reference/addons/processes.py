"""Hub and services as processes of their own, at addresses that stay theirs while they are dead."""

from __future__ import annotations

import signal
import socket
import subprocess
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx

from tests import prepared
from tests.reference.worker_process import environment

LONG_SECONDS = 120.0


def until(part: Callable[[], object], text: Callable[[], str] = str) -> None:
    """Wait long for something that is due; an address that does not answer means not yet."""
    deadline = time.monotonic() + LONG_SECONDS
    while True:
        with suppress(httpx.TransportError):
            if part():
                return
        assert time.monotonic() < deadline, f"it did not happen: {text()}"
        time.sleep(0.05)


class Service:
    """A program that serves on a port; after a kill no process listens there, and the port stays reserved."""

    def __init__(self, folder: Path, module: str, port_setting: str, settings: Mapping[str, str]) -> None:
        """Take its folder, its module and its settings."""
        folder.mkdir(parents=True, exist_ok=True)
        # Bound and not listening: connections are refused, and the system assigns the port to no other process.
        self._kept = socket.socket()
        self._kept.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._kept.bind(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._kept.getsockname()[1]}"
        self.module = module
        self.settings = {port_setting: str(self._kept.getsockname()[1]), "WP_RATE_LIMITS": "off", **settings}
        self.http = httpx.Client(base_url=self.url, trust_env=False, timeout=30)
        self._log = folder / "log"
        self._process: prepared.Prepared | subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it."""
        with self._log.open("ab") as log:
            self._process = prepared.start(self.module, env=environment(**self.settings), stdout=log, stderr=log)

    def ready(self) -> None:
        """Wait until it answers."""
        until(self.is_up, self.log)

    def is_up(self) -> bool:
        """Whether it answers."""
        return self.http.get("/health").status_code == 200

    def health(self) -> dict[str, Any]:
        """Return what it says of itself."""
        document: dict[str, Any] = self.http.get("/health").json()
        return document

    def kill(self) -> None:
        """End it as a power cut does."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    def end(self) -> int:
        """End it as an operator does, and return its exit status."""
        assert self._process is not None
        self._process.send_signal(signal.SIGTERM)
        return self._process.wait(LONG_SECONDS)

    def log(self) -> str:
        """Return what it wrote."""
        return self._log.read_text("utf-8") if self._log.exists() else ""

    def close(self) -> None:
        """End it, if it still runs, and give its port back."""
        if self._process is not None and self._process.poll() is None:
            self.kill()
        self.http.close()
        self._kept.close()


class HubService(Service):
    """A control plane."""

    def __init__(self, folder: Path) -> None:
        """Take its folder; its admin token is there before it runs, so that services can be started before it."""
        self.token = "t" * 43
        data = folder / "data"
        data.mkdir(parents=True)
        (data / "admin_token").touch(mode=0o600)
        (data / "admin_token").write_text(self.token, "ascii")
        super().__init__(folder, "reference.control_plane", "S2CP_PORT", {"S2CP_DATA_DIR": str(data)})

    @property
    def admin(self) -> dict[str, str]:
        """Headers of an administrator."""
        return {"Authorization": f"Bearer {self.token}"}

    def join_settings(self, **settings: str) -> dict[str, str]:
        """Return the settings with which a service joins."""
        return {"S2_HUB_URL": self.url, "S2_HUB_TOKEN": self.token, "S2_HUB_POLL_SECONDS": "1", **settings}

    def trust(self, did: str, key: str) -> None:
        """Register an issuer."""
        body = {"did": did, "public_key_b64": key}
        answer = self.http.post("/v1/issuers", json=body, headers=self.admin)
        assert answer.status_code in {200, 201}, answer.text

    def revoke(self, did: str) -> None:
        """Revoke an issuer."""
        assert self.http.delete(f"/v1/issuers/{did}", headers=self.admin).status_code == 204

    def healthy(self) -> dict[str, tuple[str, str]]:
        """Return type and address of every service that the posture shows healthy."""
        services = self.http.get("/v1/posture", headers=self.admin).json()["services"]
        return {one["name"]: (one["type"], one["base_url"]) for one in services if one["healthy"]}


class AddonService(Service):
    """A bundled addon that joins a hub."""

    def __init__(self, folder: Path, name: str, hub: HubService, **settings: str) -> None:
        """Take its folder, its package and its hub."""
        told = {"WP_ADDON_DATA_DIR": str(folder / "data"), **hub.join_settings(), **settings}
        super().__init__(folder, f"reference.addons.{name}", "WP_ADDON_PORT", told)
        self.name = name

    def judge_credential(self, credential: str) -> tuple[str, str | None]:
        """Return status and reason of a credential, or of a receipt."""
        if self.name == "atb_verifier":
            document = self.http.post("/v1/verify", json={"credential": credential}).json()
        elif self.name == "zkp_receipt":
            document = self.http.post("/v1/receipts/verify", json={"receipt": credential}).json()
        else:
            document = self.http.post("/v1/validate", json={"credentials": [credential]}).json()["results"][0]
        return document["status"], document["reason"]
