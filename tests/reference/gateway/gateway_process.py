"""Gateways as processes of their own, for what only a process shows."""

from __future__ import annotations

import socket
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.reference.gateway.gateway_stack import EVM, NOWHERE, Tenant
from tests.reference.worker_process import WorkerProcess


class GatewayProcess(WorkerProcess):
    """One worker of a gateway."""

    def __init__(
        self,
        folder: Path,
        settings: Mapping[str, str],
        *,
        public: socket.socket | None = None,
        program: Sequence[str] = ("-m", "reference.gateway"),
    ) -> None:
        """Take the folder of its log, and its settings; workers of one gateway share the public address.

        `program` is what Python runs.
        """
        variables = {
            "WP_GATEWAY_DATA_DIR": str(folder / "data"),
            "WP_NODE_BASE_SEPOLIA": NOWHERE,
            "WP_CHAIN_POLL_SECONDS": "3600",
            **settings,
        }
        super().__init__(folder, program, "WP_GATEWAY_FD", variables)
        address = f"http://localhost:{(public or self.socket).getsockname()[1]}"
        self.environment.setdefault("WP_GATEWAY_PUBLIC_URL", address)
        self.data = Path(self.environment["WP_GATEWAY_DATA_DIR"])

    def internal(self, method: str, path: str, body: Any = None) -> Any:
        """Carry out one call as an administrator."""
        headers = {"Authorization": f"Bearer {(self.data / 'admin_key').read_text('ascii')}"}
        answer = self.http.request(method, f"/internal/tenants{path}", json=body, headers=headers)
        assert answer.status_code in {200, 201}, answer.text
        return answer.json()

    def tenant(self) -> Tenant:
        """Make a tenant that is paid on Base's test network."""
        answer = self.internal("POST", "", {"name": "shop"})
        body = {"base_sepolia": {"payout_address": EVM}}
        self.internal("PUT", f"/{answer['tenant_id']}/networks", body)
        return Tenant(answer["tenant_id"], answer["api_key"])
