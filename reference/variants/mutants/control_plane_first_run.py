"""Mutants of how a control plane begins: its token's file, its store, its first issuers and nobody else there (7.5)."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from reference.control_plane import issuers
from reference.control_plane.calls import Call
from reference.control_plane.posture import Posture
from reference.control_plane.settings import ControlPlaneSettings
from reference.store.opening import sqlite_dsn
from reference.variants.mutants.control_plane_audit import Answer, hub_mutant
from reference.variants.seams import replace
from reference.web.errors import Refused
from reference.web.exchange import Reply

_PLAIN = re.compile(r"did:web:[A-Za-z0-9.-]+")


def _token_among_secrets() -> None:
    """Keep the token in a folder of its own; who was given a socket finds it where the stack looks for it."""

    def place(self: ControlPlaneSettings) -> Path:
        return self.data_dir / ("admin_token" if self.fd is not None else "secrets/admin_token")

    ControlPlaneSettings.token_file = property(place)  # type: ignore[method-assign, assignment]


def _dsn_of_another_spelling() -> None:
    """Go to PostgreSQL only where the DSN names the driver."""

    def dsn(self: ControlPlaneSettings) -> str:
        return self.db if "+psycopg" in self.db else sqlite_dsn(self.data_dir / "controlplane.sqlite3")

    ControlPlaneSettings.dsn = property(dsn)  # type: ignore[method-assign, assignment]


def _plain_dids_only() -> None:
    """Take a did:web of a host and no other DID."""

    def narrowed(is_did: Callable[[str], bool]) -> Callable[[str], bool]:
        return lambda text: is_did(text) and _PLAIN.fullmatch(text) is not None

    replace(issuers, "is_did", narrowed)


def _posture_of_somebody() -> None:
    """Show a posture once there is somebody whose posture it is."""

    def showing(show: Answer) -> Answer:
        async def shown(self: Posture, call: Call) -> Reply:
            if not await self._services.all():
                raise Refused(503, "no_services", "no service has registered yet", {"Retry-After": "5"})
            return await show(self, call)

        return shown

    replace(Posture, "show", showing)


MUTANTS = (
    hub_mutant("token-among-secrets", "the token is in admin_token of the data directory (7.5)", _token_among_secrets),
    hub_mutant("dsn-wants-a-driver", "a postgresql:// S2CP_DB moves the store (7.5)", _dsn_of_another_spelling),
    hub_mutant("plain-dids-only", "an issuer is any DID (P-CP-01)", _plain_dids_only),
    hub_mutant("posture-of-somebody", "it answers while nobody has joined (7.5)", _posture_of_somebody),
)
