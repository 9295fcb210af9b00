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

from conformance.agent_bindings import REFERENCE_AGENT, AgentBindings

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
    """Names of the rail that the interface leaves open. None means: discover it, else the row is `unbound`.

    `a2a_uri` is the payment extension's, and `a2a_request` the data part that asks for a service over A2A: `{service}`
    stands for its name and `{body}` for its request.
    """

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
    a2a_uri: str | None = None
    a2a_request: Mapping[str, Any] | None = None


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
    a2a_uri="https://github.com/google-agentic-commerce/a2a-x402/blob/main/spec/v0.2",
    a2a_request={"service_id": "{service}", "request": "{body}"},
)


class GatewayBindings(_Table):
    """Names of the gateway that the interface leaves open. None means: discover it, else the row is `unbound`.

    Attributes:
        receipt_member: Member of the receipt verification's body that carries the receipt.
        jwks_path: Path of the gateway's key document.
        openapi_path: Path of the gateway's OpenAPI document.
        receipt_codes: The nine typed codes of receipt verification.
        create_status: Statuses of a creating call that succeeded; unbound, 200, 201 and 202 all are.
        idempotency_conflict: Statuses of a refused key with a changed body; unbound, any client error. The original
            passes in every case.
        error_codes: Error codes by what they say; told in the report, they judge nothing.
        link_body: Further members that a payment link needs, or other values of the four that the interface names.
        currency: The code that prices a link in USDC, micro-unit for micro-unit.
        rates: USDC per unit of a currency, as decimal text.
        resource_body: A body that creates a resource; `{unique}` in a text is filled in anew for each.
        screen_body: A body that is screened.
        screen_receipt_member: Member of the screening's answer that carries the receipt.
        screen_fixtures: Bodies by the verdict that their screening gives (ALLOW, REFER, DENY).
        receipt_file: A receipt signed by the platform's key, from the operator.
        memo: Where each lane's transaction carries the memo: `note` on Algorand, `memo` on Solana, `eip3009` or
            `calldata` on Base.
        checkout_selectors: CSS selectors of the checkout page: address, memo, amount, qr, expires, state.
        trial: Figures of the trial, such as `days` and `allowance_microunits`.
        edge_url: Address of the edge host.
        limits: `raised` when the operator lifted the target's rate limits, so that they can be shown only by the
            service of `[limited.gateway]`.
    """

    receipt_member: str | None = None
    jwks_path: str | None = None
    openapi_path: str | None = None
    receipt_codes: tuple[str, ...] | None = None
    create_status: tuple[int, ...] | None = None
    idempotency_conflict: tuple[int, ...] | None = None
    error_codes: Mapping[str, str] | None = None
    link_body: Mapping[str, Any] = Field(default_factory=dict)
    currency: str = "USDC"
    rates: Mapping[str, str] | None = None
    resource_body: Mapping[str, Any] | None = None
    screen_body: Mapping[str, Any] | None = None
    screen_receipt_member: str | None = None
    screen_fixtures: Mapping[str, Mapping[str, Any]] | None = None
    receipt_file: Path | None = None
    memo: Mapping[str, str] | None = None
    checkout_selectors: Mapping[str, str] | None = None
    trial: Mapping[str, int] | None = None
    edge_url: str | None = None
    limits: Literal["default", "raised"] = "default"


REFERENCE_GATEWAY = GatewayBindings(
    receipt_member="jws",
    jwks_path="/.well-known/jwks.json",
    openapi_path="/openapi.json",
    receipt_codes=(
        "MISSING_ENVELOPE",
        "INVALID_JWS_FORMAT",
        "UNSUPPORTED_ALG",
        "TAMPERED_SIGNATURE",
        "INVALID_PAYLOAD",
        "UNSUPPORTED_CANON_VERSION",
        "NON_CANONICAL_PAYLOAD",
        "MISSING_FIELD",
        "PAYMENT_HASH_MISMATCH",
    ),
    create_status=(201,),
    idempotency_conflict=(409,),
    rates={"USD": "1", "USDC": "1", "EUR": "1.08", "GBP": "1.27"},
    resource_body={"resource_id": "weldproof-{unique}", "amount_microunits": 250_000},
    screen_body={"recipient_address": "screen-allow", "network": "algorand_testnet"},
    screen_receipt_member="compliance_receipt_jws",
    screen_fixtures={
        "ALLOW": {"recipient_address": "screen-allow", "network": "algorand_testnet"},
        "REFER": {"recipient_address": "screen-flag", "network": "base_sepolia"},
        "DENY": {"recipient_address": "screen-block", "network": "solana_devnet"},
    },
    memo={"algorand": "note", "base": "eip3009", "solana": "memo"},
    checkout_selectors={
        "address": "#addr",
        "memo": "#memo",
        "amount": "#amount",
        "qr": "#qr",
        "expires": "#expires",
        "state": "#state",
    },
    trial={"days": 60, "allowance_microunits": 1_000_000_000},
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


class Gateway(GatewayBindings):
    """The gateway's bindings, and the nodes that checkout payments are made on."""

    chains: Chains = Chains()


class Tenant(_Table):
    """A tenant of the gateway.

    Attributes:
        id: The tenant id.
        key: An API key of it.
        networks: Network keys that its links can be made for, the usual one first; unset, those of `payout`.
        payout: Its payout address by network key, in the tenant's order.
    """

    id: str
    key: Secret
    networks: tuple[str, ...] = ()
    payout: Mapping[str, str] = Field(default_factory=dict)


class Destination(_Table):
    """A webhook destination that the target was told of; the suite receives there during a run.

    Attributes:
        url: Its URL as the target has it; two destinations of one host differ in their paths.
        secret: The secret that the target showed when it was configured.
        tenant: Name of the tenant whose events it gets.
        events: Event types it was configured for.
        listen: `HOST:PORT` that the suite binds, when it is not the one of `url` (a tunnel, a proxy with TLS).
    """

    url: str
    secret: Secret
    tenant: str = "first"
    events: tuple[str, ...] = ("payment.confirmed",)
    listen: str | None = None


class Receiver(_Table):
    """A webhook receiver under test, to which the suite sends.

    Attributes:
        url: Where it receives.
        secret: The secret that it verifies with.
        effects: URL that tells how often an event had its effect; `{id}` stands for the event id and the answer is a
            decimal number. None: the suite judges by the receiver's answers only, where those decide.
    """

    url: str
    secret: Secret
    effects: str | None = None


class WebhookBindings(_Table):
    """What the interface leaves open about webhooks. None means: the row that needs it is `unbound`.

    Attributes:
        header: Name of the signature header; unset, `X-<service word>-Signature`.
        signed_string: What v1 covers; `{t}` is the decimal time, `{body}` the raw body.
        tolerance: Seconds that `t` may be away from the time of delivery, and that a receiver accepts.
        schedule: Seconds from the end of each failed attempt to the next one.
        timeout: Seconds after which an attempt without an answer has failed.
        destinations: Destinations by name.
        receiver: A receiver to test with roles reversed; unset, the suite tests its own listener.
    """

    header: str | None = None
    signed_string: str | None = None
    tolerance: int = 300
    schedule: tuple[float, ...] | None = None
    timeout: float | None = None
    destinations: Mapping[str, Destination] = Field(default_factory=dict)
    receiver: Receiver | None = None


REFERENCE_WEBHOOK = WebhookBindings(signed_string="{t}.{body}", schedule=(30, 120, 600, 3600, 21600), timeout=5)


# How the reference writes networks in events (profile 1.2).
REFERENCE_EVENTS: Mapping[str, str] = {
    "algorand_mainnet": "algorand:mainnet",
    "algorand_testnet": "algorand:testnet",
    "base_mainnet": "eip155:8453",
    "base_sepolia": "eip155:84532",
    "solana_mainnet": "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp",
    "solana_devnet": "solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1",
}


class LimitedService(_Table):
    """A service of its own for limit and time rows: default limits, a clock of its own, nobody else's calls."""

    url: str
    offset_file: Path | None = None
    tenants: Mapping[str, Tenant] = Field(default_factory=dict)


class NetworkNames(_Table):
    """Two of a network's three spellings: of a link (`label`) and of an event (`event`); the third is its key."""

    label: str | None = None
    event: str | None = None


class Clock(_Table):
    """The target's test clock: a file with signed decimal seconds that it adds to its clock."""

    offset_file: Path | None = None


class Budgets(_Table):
    """Seconds the suite may spend on waiting, and at most on generated requests (`fuzz`; more than 10 goes deeper)."""

    confirmation: float = 30.0
    request: float = 30.0
    wait_for_expiry: float = 0.0
    paid: float = 15.0
    fuzz: float = Field(default=10.0, gt=0)


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
    gateway: Gateway = Gateway()
    webhook: WebhookBindings = WebhookBindings()
    agent: AgentBindings = AgentBindings()
    tenants: Mapping[str, Tenant] = Field(default_factory=dict)
    limited: Mapping[str, LimitedService] = Field(default_factory=dict)
    networks: Mapping[str, NetworkNames] = Field(default_factory=dict)
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

    @property
    def gateway_bindings(self) -> GatewayBindings:
        """The gateway's bindings: what the file sets, over the reference's where those apply."""
        if self.target.defaults != "reference":
            return self.gateway
        given = self.gateway.model_fields_set - {"chains"}
        return REFERENCE_GATEWAY.model_copy(update={name: getattr(self.gateway, name) for name in given})

    @property
    def agent_bindings(self) -> AgentBindings:
        """The agent's bindings: what the file sets, over the reference's where those apply."""
        if self.target.defaults != "reference":
            return self.agent
        given = self.agent.model_fields_set
        return REFERENCE_AGENT.model_copy(update={name: getattr(self.agent, name) for name in given})

    @property
    def webhook_bindings(self) -> WebhookBindings:
        """The webhooks' bindings: what the file sets, over the reference's where those apply."""
        if self.target.defaults != "reference":
            return self.webhook
        given = self.webhook.model_fields_set
        return REFERENCE_WEBHOOK.model_copy(update={name: getattr(self.webhook, name) for name in given})

    @property
    def gateway_chains(self) -> Chains:
        """The nodes of checkout payments: a lane that `[gateway.chains]` leaves out has the node of `[chains]`."""
        own = self.gateway.chains
        return Chains(
            algorand=own.algorand or self.chains.algorand,
            base=own.base or self.chains.base,
            solana=own.solana or self.chains.solana,
        )

    def network_label(self, network: str) -> str | None:
        """Return the spelling of a network (its key, with underscores) in a link's `chain`, None where it is open."""
        bound = self.networks.get(network, NetworkNames()).label
        return bound or (network.replace("_", "-") if self.target.defaults == "reference" else None)

    def network_event(self, network: str) -> str | None:
        """Return the spelling of a network (its key, with underscores) in an event, None where it is open."""
        bound = self.networks.get(network, NetworkNames()).event
        return bound or (REFERENCE_EVENTS.get(network) if self.target.defaults == "reference" else None)

    def claims_surface(self, surface: str) -> bool:
        """Return whether the operator claims the surface; `shared` is claimed with any."""
        return surface in self.claims.surfaces or (surface == "shared" and bool(self.claims.surfaces))

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
