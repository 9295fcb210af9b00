"""Settings of the pay rail (specification 9)."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import BeforeValidator, Field, model_validator
from pydantic_settings import NoDecode

from reference.lanes.registry import LANES, descriptor_of, read_payees
from reference.protocol import a2a_x402
from reference.protocol.networks import NETWORKS, Network
from reference.web.settings import CommaList, CommonSettings, ListenAddress

SERVICES = ("receipt-verify", "rfc9421-verify", "compliance-receipt")
DEFAULT_PRICES = {"receipt-verify": 10_000, "rfc9421-verify": 10_000, "compliance-receipt": 50_000}


def _prices(value: object) -> object:
    """Read `service=atomic units` pairs."""
    if not isinstance(value, str):
        return value
    pairs = [part.strip().partition("=") for part in value.split(",") if part.strip()]
    return {name: amount for name, _, amount in pairs}


Prices = Annotated[dict[str, Annotated[int, Field(gt=0, le=10**15)]], NoDecode, BeforeValidator(_prices)]


class RailSettings(CommonSettings):
    """The settings of one rail process."""

    rail_port: int = Field(default=8402, ge=0, le=65535)
    rail_fd: int | None = Field(default=None, ge=3)
    rail_public_url: str = "http://localhost:8402"
    rail_data_dir: Path = Path("data/rail")
    rail_db: str = ""
    rail_signing_key_file: Path | None = None
    rail_token_secret_file: Path | None = None
    rail_trusted_jwks: Path | None = None
    rail_lanes: CommaList = tuple(lane.main for lane in LANES)
    rail_payto: Annotated[dict[str, str], NoDecode] = Field(default_factory=read_payees)
    rail_settler_key_file: Path | None = None
    rail_prices: Prices = Field(default_factory=lambda: dict(DEFAULT_PRICES))
    rail_scheme: str = Field(default="exact", min_length=1, max_length=64)
    # Half an hour: a payer may have to fund a wallet first. The client's rule of 120 s left makes late payments rare
    # (P-CH-12).
    challenge_ttl: int = Field(default=1800, ge=1)
    # A claim made in time keeps its right for so long after the lifetime, since a chain may be slow (P-ST-01, 5.8).
    rail_settle_window: int = Field(default=900, ge=0)
    rail_store_seconds: int = Field(default=86400, ge=1)
    # At most ten seconds for a caller that waits for the same proof (P-ST-05); most HTTP clients give up later than
    # that.
    rail_join_wait: float = Field(default=10, ge=0)
    rail_confirm_wait: float = Field(default=5, ge=0)
    # Ten minutes after serving the payment is looked up again, to find a reorganisation (P-ST-07).
    rail_recheck_seconds: int = Field(default=600, ge=0)
    rail_lease_seconds: float = Field(default=30, gt=0)
    rail_stuck_seconds: int = Field(default=30, ge=1)
    # A settlement that fails costs the rail gas. These two bounds limit what strangers can make it spend (P-LN-08,
    # decision 0069).
    rail_payer_failures: int = Field(default=3, ge=0)
    rail_failures: int = Field(default=50, ge=0)
    rail_node_look_seconds: float = Field(default=5, gt=0)
    # A node further behind than this is away; 0 is for local chains that make a block only for a transaction (decision
    # 0083).
    rail_node_behind_seconds: int = Field(default=300, ge=0)
    rail_rate: int = Field(default=120, ge=1)
    rail_disabled_services: CommaList = ()
    a2a_x402_uri: str = Field(default=a2a_x402.URI, pattern=r"^[!-+\--~]{1,512}$")
    chain_poll_seconds: float = Field(default=1, gt=0)
    evm_confirmations: int = Field(default=3, ge=1)
    solana_commitment: Literal["confirmed", "finalized"] = "finalized"
    jurisdiction_flags: CommaList = ("UK", "EU")
    retired_key_days: int = Field(default=365, ge=0)
    log_format: Literal["json"] = "json"
    metrics_token_file: Path | None = None
    metrics_address: ListenAddress | None = None

    @model_validator(mode="after")
    def _known_names(self) -> Self:
        for key in self.rail_lanes:
            if key not in NETWORKS:
                raise ValueError(f"WP_RAIL_LANES: unknown network {key}")
        for name in (*self.rail_prices, *self.rail_disabled_services):
            if name not in SERVICES:
                raise ValueError(f"WP_RAIL_PRICES or WP_RAIL_DISABLED_SERVICES: unknown service {name}")
        if self.rail_db and not self.rail_db.startswith(("postgresql://", "sqlite:///")):
            raise ValueError("WP_RAIL_DB: give a postgresql:// address or leave it unset")
        if not self.rail_public_url.startswith(("http://", "https://")):
            raise ValueError("WP_RAIL_PUBLIC_URL: give an http:// or https:// address")
        return self

    @property
    def public_url(self) -> str:
        """The public address without a slash at its end."""
        return self.rail_public_url.rstrip("/")

    @property
    def token_secret_file(self) -> Path:
        """File of the 32-byte token secret."""
        return self.rail_token_secret_file or self.rail_data_dir / "token_secret"

    @property
    def signing_key_file(self) -> Path:
        """File of the active signing key, PKCS#8 PEM."""
        return self.rail_signing_key_file or self.rail_data_dir / "signing_key.pem"

    @property
    def answer_within(self) -> float:
        """Seconds in which a paid call is answered: 9.5, or more if longer waits are set."""
        # P-ST-05 promises an answer within ten seconds. Half a second is left for the way to the client; waits that an
        # operator made longer are honoured.
        return max(9.5, self.rail_confirm_wait + 4.5, self.rail_join_wait - 0.5)

    def price(self, service_id: str) -> int:
        """Return a service's price in micro-USDC."""
        return self.rail_prices.get(service_id, DEFAULT_PRICES[service_id])

    def pay_to(self, network: Network) -> str:
        """Return the payee on a network, or the empty string when the operator set none."""
        lane = descriptor_of(network)
        return "" if lane is None else self.rail_payto.get(lane.name, "")
