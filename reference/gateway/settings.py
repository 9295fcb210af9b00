"""Settings of the gateway (specification 9)."""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import BeforeValidator, Field, model_validator
from pydantic_settings import NoDecode

from reference.web.settings import CommaList, ListenAddress, Switch
from reference.web.webhook_settings import WebhookSettings

_PREFIX = re.compile(r"[a-z]{2,8}")


def _rates(value: object) -> object:
    """Parse pairs `CURRENCY=units of USDC`."""
    if not isinstance(value, str):
        return value
    pairs = [part.strip().partition("=") for part in value.split(",") if part.strip()]
    try:
        return {name.strip().upper(): Decimal(rate.strip()) for name, _, rate in pairs}
    except InvalidOperation as fault:
        raise ValueError("give pairs like USD=1,EUR=1.08") from fault


Rates = Annotated[dict[str, Annotated[Decimal, Field(gt=0, le=10**6)]], NoDecode, BeforeValidator(_rates)]
_DEFAULT_RATES = {"USD": "1", "USDC": "1", "EUR": "1.08", "GBP": "1.27"}


class GatewaySettings(WebhookSettings):
    """The settings of one gateway process."""

    key_prefix: str = ""
    gateway_port: int = Field(default=8090, ge=0, le=65535)
    gateway_fd: int | None = Field(default=None, ge=3)
    gateway_public_url: str = "http://localhost:8090"
    gateway_data_dir: Path = Path("data/gateway")
    gateway_db: str = ""
    gateway_signing_key_file: Path | None = None
    gateway_trusted_jwks: Path | None = None
    gateway_role: Literal["api", "edge"] = "api"
    # Decimals, not floats: a rate times an amount must be exact to the micro-unit.
    rates: Rates = Field(default_factory=lambda: {name: Decimal(rate) for name, rate in _DEFAULT_RATES.items()})
    gateway_node_behind_seconds: int = Field(default=60, ge=0)
    link_ttl_min: int = Field(default=60, ge=1)
    link_ttl_default: int = Field(default=86400, ge=1)
    link_ttl_max: int = Field(default=86400, ge=1)
    # The switches and limits below are the interface's open points; chapter 9 lists their variables and defaults.
    evm_suffix_bind: Switch = True
    qr_data: Switch = False
    late_watch_seconds: int = Field(default=86400, ge=0)
    tenant_rate: int = Field(default=300, ge=1)
    tenant_burst: int = Field(default=60, ge=1)
    ip_rate: int = Field(default=120, ge=1)
    ip_burst: int = Field(default=30, ge=1)
    receipt_verify_rate: int = Field(default=120, ge=1)
    checkout_token_rate: int = Field(default=60, ge=1)
    idempotency_ttl: int = Field(default=86400, ge=1)
    idempotency_wait: float = Field(default=10, gt=0)
    key_overlap_days: int = Field(default=30, ge=0)
    trial_days: int = Field(default=60, ge=0)
    mainnet_allowance_microunits: int = Field(default=10**9, ge=0)
    chain_poll_seconds: float = Field(default=1, gt=0)
    evm_confirmations: int = Field(default=3, ge=1)
    solana_commitment: Literal["confirmed", "finalized"] = "finalized"
    jurisdiction_flags: CommaList = ("UK", "EU")
    retired_key_days: int = Field(default=365, ge=0)
    metrics_token_file: Path | None = None
    metrics_address: ListenAddress | None = None

    # Faults of settings are found at the start, with the name of the variable, instead of at the first call.
    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if _PREFIX.fullmatch(self.prefix) is None:
            raise ValueError("WP_KEY_PREFIX: give 2 to 8 lower-case letters")
        if not self.link_ttl_min <= self.link_ttl_default <= self.link_ttl_max:
            raise ValueError("WP_LINK_TTL_DEFAULT: give a value from WP_LINK_TTL_MIN to WP_LINK_TTL_MAX")
        if self.gateway_db and not self.gateway_db.startswith(("postgresql://", "sqlite:///")):
            raise ValueError("WP_GATEWAY_DB: give a postgresql:// address or leave it unset")
        if not self.gateway_public_url.startswith(("http://", "https://")):
            raise ValueError("WP_GATEWAY_PUBLIC_URL: give an http:// or https:// address")
        return self

    @property
    def public_url(self) -> str:
        """The public address without a slash at its end."""
        return self.gateway_public_url.rstrip("/")

    @property
    def prefix(self) -> str:
        """`<kp>`, which the texts of keys start with (P-SW-03)."""
        return self.key_prefix or self.word.lower[:4]

    @property
    def signing_key_file(self) -> Path:
        """File of the active signing key, PKCS#8 PEM."""
        return self.gateway_signing_key_file or self.gateway_data_dir / "signing_key.pem"

    @property
    def seal_key_file(self) -> Path:
        """File of the 32-byte key under which secrets are encrypted at rest (P-AU-02)."""
        return self.gateway_data_dir / "seal_key"

    @property
    def admin_key_file(self) -> Path:
        """File of the first administrator's key."""
        return self.gateway_data_dir / "admin_key"
