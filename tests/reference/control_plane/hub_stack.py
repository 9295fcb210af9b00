"""A control plane in the test's own process, called by its ASGI door; and keys and services to show it."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import sqlite3
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import httpx
import psycopg

from reference.control_plane.runtime import open_control_plane
from reference.control_plane.settings import ControlPlaneSettings

ISSUERS, SERVICES, AUDIT, POSTURE = "/v1/issuers", "/v1/services", "/v1/audit", "/v1/posture"
TRUST_SET, ATB_KEYS, PQC_KEYS = "/v1/issuer-pks", "/.well-known/atb-keys.json", "/.well-known/pqc-keys.json"
DID = "did:web:issuer.example"
LONG_SECONDS = 100.0


def falcon_key(seed: object) -> str:
    """Return what has the form of a Falcon-1024 public key, another one for each seed, in base64."""
    body = b"".join(hashlib.sha256(f"{seed}/{number}".encode()).digest() for number in range(56))
    return base64.b64encode(b"\x0a" + body).decode()


def kid_of(key: str) -> str:
    """Return the kid of a key."""
    return hashlib.sha256(base64.b64decode(key)).hexdigest()[:16]


class Hub:
    """A running control plane."""

    def __init__(self, http: httpx.AsyncClient, settings: ControlPlaneSettings) -> None:
        """Take a client of it and its settings."""
        self.http = http
        self.settings = settings
        self.data = settings.data_dir

    @property
    def token(self) -> str:
        """The admin token."""
        return (self.data / "admin_token").read_text("ascii")

    @property
    def admin(self) -> dict[str, str]:
        """Headers of a call by the administrator."""
        return {"Authorization": f"Bearer {self.token}"}

    async def register(self, did: str = DID, key: str = "") -> httpx.Response:
        """Register an issuer."""
        body = {"did": did, "public_key_b64": key or falcon_key(did)}
        return await self.http.post(ISSUERS, json=body, headers=self.admin)

    async def revoke(self, segment: str = DID) -> httpx.Response:
        """Revoke an issuer; the segment is sent as it is."""
        return await self.http.delete(f"{ISSUERS}/{segment}", headers=self.admin)

    async def serve(self, name: str, base_url: str = "http://127.0.0.1:9", **members: Any) -> httpx.Response:
        """Register a service."""
        return await self.http.post(SERVICES, json={"name": name, "base_url": base_url, **members}, headers=self.admin)

    async def trust_set(self) -> dict[str, str]:
        """Return the trust set."""
        document: dict[str, str] = (await self.http.get(TRUST_SET)).json()
        return document

    async def audit(self, **query: Any) -> dict[str, Any]:
        """Return a page of the log."""
        answer = await self.http.get(AUDIT, params=query, headers=self.admin)
        assert answer.status_code == 200, answer.text
        document: dict[str, Any] = answer.json()
        return document

    async def entries(self) -> list[tuple[str, str]]:
        """Return action and subject of every entry."""
        return [(one["action"], one["subject"]) for one in (await self.audit())["entries"]]

    async def posture(self, *, admin: bool = False) -> dict[str, Any]:
        """Return the posture."""
        answer = await self.http.get(POSTURE, headers=self.admin if admin else {})
        assert answer.status_code == 200, answer.text
        document: dict[str, Any] = answer.json()
        return document

    async def wait_for_check(self) -> bool:
        """Wait until the log was checked, and return whether it is whole."""
        async with asyncio.timeout(LONG_SECONDS):
            while (valid := (await self.audit(limit=1))["valid"]) is None:  # noqa: ASYNC110 - the check sends no signal
                await asyncio.sleep(0.01)
        return bool(valid)

    async def state(self) -> tuple[Any, ...]:
        """Return everything that a change of trust would change."""
        page = await self.audit()
        services = [{**one, "latency_ms": 0, "checked_at": ""} for one in (await self.posture(admin=True))["services"]]
        return await self.trust_set(), services, page["entries"], page["head"], page["count"]

    def alter(self, *statements: str) -> None:
        """Carry out statements behind the control plane's back."""
        alter(self.settings, statements)


def alter(settings: ControlPlaneSettings, statements: Sequence[str]) -> None:
    """Carry out statements on the database of a control plane."""
    if settings.db:
        with psycopg.connect(settings.db) as connection:
            for one in statements:
                connection.execute(one.encode())
        return
    with closing(sqlite3.connect(settings.data_dir / "controlplane.sqlite3", timeout=30)) as file:
        for one in statements:
            file.execute(one)
        file.commit()


def told_settings(**report: Any) -> ControlPlaneSettings:
    """Return settings; the control plane's own are named without S2CP_."""
    own = ("data_dir", "db", "health_timeout", "rate", "issuer_did", "service_networks")
    return ControlPlaneSettings(
        **{f"S2CP_{name.upper()}" if name in own else name: one for name, one in report.items()}
    )


@asynccontextmanager
async def hub(folder: Path, **report: Any) -> AsyncIterator[Hub]:
    """Run a control plane over a folder, by default without limits and with patience for health."""
    settings = told_settings(**{"rate_limits": False, "data_dir": folder / "hub", **report})
    if "health_timeout" not in report:
        settings = settings.model_copy(update={"health_timeout": LONG_SECONDS})
    async with open_control_plane(settings) as app:
        transport = httpx.ASGITransport(app, raise_app_exceptions=True)
        async with httpx.AsyncClient(transport=transport, base_url="http://hub.test", trust_env=False) as http:
            yield Hub(http, settings)
