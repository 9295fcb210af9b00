"""Settings of the control plane (7.5 and section 9)."""

from __future__ import annotations

from ipaddress import ip_network
from pathlib import Path

from pydantic import Field, field_validator
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError

from reference.protocol.destination_address import LOOPBACK, Network
from reference.protocol.trust_set import is_did
from reference.store.database_url import sqlite_dsn
from reference.web.settings import CommaList, CommonSettings, Switch


class ControlPlaneSettings(CommonSettings):
    """The settings of one control plane process. Its own members have the names of their environment variables."""

    bind: str = Field(default="127.0.0.1", validation_alias="S2CP_HOST")
    port: int = Field(default=8094, ge=0, le=65535, validation_alias="S2CP_PORT")
    fd: int | None = Field(default=None, ge=3, validation_alias="S2CP_FD")
    data_dir: Path = Field(default=Path("/app/data"), validation_alias="S2CP_DATA_DIR")
    db: str = Field(default="", validation_alias="S2CP_DB")
    issuer_did: str = Field(default="did:web:localhost%3A8094", validation_alias="S2CP_ISSUER_DID")
    # At most 2.5 s, because a whole posture is answered within three seconds (7.3).
    health_timeout: float = Field(default=2, gt=0, le=2.5, validation_alias="S2CP_HEALTH_TIMEOUT")
    rate: int = Field(default=120, ge=1, validation_alias="S2CP_RATE")
    admin_registers: Switch = Field(default=True, validation_alias="S2CP_ADMIN_REGISTERS")

    service_networks: CommaList = Field(default=(), validation_alias="S2CP_SERVICE_NETWORKS")

    @field_validator("service_networks")
    @classmethod
    def _are_service_networks(cls, texts: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(str(ip_network(text)) for text in texts)

    @field_validator("db")
    @classmethod
    def _is_postgres(cls, dsn: str) -> str:
        if not dsn:
            return dsn
        try:
            is_postgres = dsn.startswith("postgresql://") and make_url(dsn).get_backend_name() == "postgresql"
        except (ArgumentError, ValueError):
            is_postgres = False
        if not is_postgres:
            raise ValueError("give a postgresql:// address or leave it unset")
        return dsn

    @field_validator("issuer_did")
    @classmethod
    def _is_a_did(cls, did: str) -> str:
        if not is_did(did):
            raise ValueError("give a DID, like did:web:hub.example")
        return did

    @property
    def allowed_networks(self) -> tuple[Network, ...]:
        """Networks that are not public and may hold services: those of the setting, or loopback in test mode."""
        if self.service_networks:
            return tuple(ip_network(text) for text in self.service_networks)
        return LOOPBACK if self.mode == "test" else ()

    @property
    def is_shared(self) -> bool:
        """Whether the database is PostgreSQL, which several hosts may share."""
        return bool(self.db)

    @property
    def dsn(self) -> str:
        """Address of the database; SQLite in the data directory by default."""
        # A single host needs no database server.
        return self.db or sqlite_dsn(self.data_dir / "controlplane.sqlite3")

    @property
    def token_file(self) -> Path:
        """File of the admin token."""
        return self.data_dir / "admin_token"

    @property
    def audit_key_file(self) -> Path:
        """File of the chain key, 32 bytes in hex."""
        return self.data_dir / "audit_key"

    @property
    def audit_head_file(self) -> Path:
        """File of the end of the audit log."""
        return self.data_dir / "audit_head"
