"""The target profile, `weldproof.toml`: what the operator says about the server under test.

It gives addresses, credentials (by environment variable or file, never by value), the names the interface leaves open,
what is claimed, budgets, how to reach the chain nodes and fund the payers, and expected failures. The built-in bindings
fit the reference and are used only when `[target] defaults = "reference"`; on any other target an unset binding is
discovered by probing, or the row that needs it is inconclusive (`unbound`).
"""

from __future__ import annotations

import datetime as dt
import os
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

SURFACES = ("rail", "gateway", "agent", "control_plane", "webhooks", "shared")
LANES = ("algorand", "base", "solana")
OPTIONS = ("rail.a2a", "rail.agent_card")


class ProfileError(Exception):
    """The target profile cannot be used; the text says which key and what to do."""


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Secret(_Table):
    """A secret by reference: exactly one of an environment variable or a file."""

    env: str | None = None
    file: Path | None = None

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        if (self.env is None) == (self.file is None):
            raise ValueError("give exactly one of env or file")
        return self

    def read(self) -> str:
        """Return the secret's text.

        Raises:
            ProfileError: The variable is not set or the file cannot be read.
        """
        if self.env is not None:
            value = os.environ.get(self.env)
            if not value:
                raise ProfileError(f"environment variable {self.env} is not set")
            return value
        try:
            return Path(str(self.file)).read_text("utf-8").strip()
        except OSError as fault:
            raise ProfileError(f"cannot read {self.file}: {fault.strerror}") from fault


class Target(_Table):
    """Name of the target and whether the reference's bindings apply to it."""

    name: str = "target"
    defaults: Literal["reference", "none"] = "none"
    service_word: str | None = None


class Surface(_Table):
    """Address of one surface."""

    url: str


class Claims(_Table):
    """What the operator says is there; rows of the rest are not applicable."""

    surfaces: tuple[str, ...] = ()
    lanes: tuple[str, ...] = ()
    options: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _known(self) -> Self:
        for given, known, what in (
            (self.surfaces, SURFACES, "surface"),
            (self.lanes, LANES, "lane"),
            (self.options, OPTIONS, "option"),
        ):
            for name in given:
                if name not in known:
                    raise ValueError(f"unknown {what} {name!r}; known: {', '.join(known)}")
        return self


class RailBindings(_Table):
    """Names of the rail that the interface leaves open. None means: discover it, else the row is `unbound`."""

    services: Mapping[str, str] | None = None
    bodies: Mapping[str, Any] | None = None
    other_bodies: Mapping[str, Any] | None = None
    receipt_at: str | None = None
    result_at: str | None = None
    request_hash: str | None = None
    response_hash: str | None = None
    settled_payment_ref: str | None = None
    scheme: str | None = None
    challenge_ttl: int | None = None
    token_form: str | None = None
    spent_status: tuple[int, ...] = (409, 402)
    chain_down_status: tuple[int, ...] = (503, 402)
    replay: Literal["stored-answer", "refuse"] | None = None
    price_receipt_verify: str = "10000"


REFERENCE_RAIL = RailBindings(
    services={
        "receipt-verify": "/pay/v1/verify/receipt",
        "rfc9421-verify": "/pay/v1/verify/rfc9421",
        "compliance-receipt": "/pay/v1/compliance/receipt",
    },
    receipt_at="body:payable_receipt",
    result_at="body:result",
    request_hash="jcs-envelope",
    response_hash="jcs-result",
    settled_payment_ref="payable-core",
    scheme="exact",
    challenge_ttl=1800,
    token_form=r"^[1-9][0-9]{9,10}:[0-9a-f]{16}:[0-9a-f]{64}$",  # noqa: S106 - a pattern, not a password
    replay="stored-answer",
)


AtomicUnits = Annotated[str, Field(pattern=r"^(0|[1-9][0-9]{0,18})$")]


class AlgorandChain(_Table):
    """How the suite reaches the Algorand node the target uses, who pays, and how much USDC at most in atomic units."""

    network: str = "algorand_mainnet"
    algod: str
    indexer: str | None = None
    token: Secret | None = None
    control: str | None = None
    funder: Secret | None = None
    spending_limit: AtomicUnits | None = None


class BaseChain(_Table):
    """How the suite reaches the EVM node the target uses, who pays, and how much USDC at most in atomic units."""

    network: str = "base_mainnet"
    rpc: str
    control: str | None = None
    funder: Secret | None = None
    spending_limit: AtomicUnits | None = None


class SolanaChain(_Table):
    """How the suite reaches the Solana node the target uses, who pays, and how much USDC at most in atomic units."""

    network: str = "solana_mainnet"
    rpc: str
    ws: str | None = None
    control: str | None = None
    funder: Secret | None = None
    spending_limit: AtomicUnits | None = None


class Chains(_Table):
    """The chain nodes, one table a lane."""

    algorand: AlgorandChain | None = None
    base: BaseChain | None = None
    solana: SolanaChain | None = None


class Clock(_Table):
    """The target's test clock: a file with signed decimal seconds that it adds to its clock."""

    offset_file: Path | None = None


class Budgets(_Table):
    """Seconds the suite may spend on waiting."""

    confirmation: float = 30.0
    request: float = 30.0
    wait_for_expiry: float = 0.0


class Pace(_Table):
    """How fast the suite may ask. 0 means as fast as it can."""

    requests_per_second: float = 10.0
    workers: int = Field(default=8, ge=1, le=64)


class ExpectedFailure(_Table):
    """A known breach, with who answers for it and until when."""

    id: str
    reason: str
    owner: str
    expires: dt.date


class Profile(_Table):
    """A whole target profile."""

    version: Literal[1] = 1
    target: Target = Target()
    surfaces: Mapping[str, Surface] = Field(default_factory=dict)
    claims: Claims = Claims()
    rail: RailBindings = RailBindings()
    chains: Chains = Chains()
    clock: Clock = Clock()
    budgets: Budgets = Budgets()
    pace: Pace = Pace()
    secrets: Mapping[str, Secret] = Field(default_factory=dict)
    xfail: tuple[ExpectedFailure, ...] = ()

    @property
    def service_word(self) -> str | None:
        """The word that stands for `<Service>`, or None when the operator did not bind it."""
        return self.target.service_word or ("Weldproof" if self.target.defaults == "reference" else None)

    @property
    def rail_bindings(self) -> RailBindings:
        """The rail's bindings: what the file sets, over the reference's where those apply."""
        if self.target.defaults != "reference":
            return self.rail
        return REFERENCE_RAIL.model_copy(update={name: getattr(self.rail, name) for name in self.rail.model_fields_set})

    def claims_surface(self, surface: str) -> bool:
        """Return whether the operator claims the surface."""
        return surface in self.claims.surfaces

    def non_defaults(self) -> tuple[tuple[str, object], ...]:
        """Return every value of the file that is not the built-in default, as (dotted key, value)."""
        return tuple(
            _leaves("", self.model_dump(mode="json", exclude_unset=True), type(self)().model_dump(mode="json"))
        )


def _leaves(prefix: str, value: Mapping[str, Any], default: object) -> Iterable[tuple[str, object]]:
    for name, member in value.items():
        base = default.get(name) if isinstance(default, Mapping) else None
        key = f"{prefix}{name}"
        if isinstance(member, Mapping):
            yield from _leaves(key + ".", member, base)
        elif member != base:
            yield key, member


def parse(text: str, *, source: str = "weldproof.toml") -> Profile:
    """Read a profile from TOML text.

    Raises:
        ProfileError: The text is no TOML or holds an unknown key or a wrong value; the text names the key.
    """
    try:
        return Profile.model_validate(tomllib.loads(text))
    except tomllib.TOMLDecodeError as fault:
        raise ProfileError(f"{source}: not TOML: {fault}") from fault
    except ValidationError as fault:
        first = fault.errors()[0]
        key = ".".join(str(part) for part in first["loc"])
        raise ProfileError(f"{source}: {key or 'profile'}: {first['msg']}") from fault


def load(path: Path) -> Profile:
    """Read a profile file; relative paths in it are relative to its folder.

    Raises:
        ProfileError: The file cannot be read or used.
    """
    try:
        text = path.read_text("utf-8")
    except OSError as fault:
        raise ProfileError(f"cannot read {path}: {fault.strerror}") from fault
    return parse(text, source=str(path))
