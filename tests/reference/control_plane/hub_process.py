"""Control planes as processes of their own, for what only a process shows."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import httpx

from tests.reference.control_plane.hub_stack import AUDIT, falcon_key
from tests.reference.worker_process import WorkerProcess

MODULE = ("-m", "reference.control_plane")


class HubProcess(WorkerProcess):
    """One worker of a control plane."""

    def __init__(self, folder: Path, *, program: Sequence[str] = MODULE, **settings: str) -> None:
        """Take the folder of its data and log, what Python runs, and its settings."""
        self.data = folder / "data"
        super().__init__(folder, program, "S2CP_FD", {"S2CP_DATA_DIR": str(self.data), **settings})

    def is_ready(self) -> bool:
        """Whether it is healthy and has checked its log."""
        return super().is_ready() and self.audit(limit=1)["valid"] is not None

    @property
    def token(self) -> str:
        """The admin token."""
        return (self.data / "admin_token").read_text("ascii")

    @property
    def admin(self) -> dict[str, str]:
        """Headers of a call by the administrator."""
        return {"Authorization": f"Bearer {self.token}"}

    def register(self, did: str) -> httpx.Response:
        """Register an issuer."""
        body = {"did": did, "public_key_b64": falcon_key(did)}
        return self.http.post("/v1/issuers", json=body, headers=self.admin)

    def audit(self, **query: Any) -> dict[str, Any]:
        """Return a page of the log."""
        document: dict[str, Any] = self.http.get(AUDIT, params=query, headers=self.admin).json()
        return document
