"""The whole profile, and reading it from `weldproof.toml`."""

from __future__ import annotations

import datetime as dt
import hashlib
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal, Self, TypeVar

from pydantic import Field, PositiveFloat, ValidationError, field_validator, model_validator

from conformance.target.agent import REFERENCE_AGENT, AgentBindings, same_address
from conformance.target.chains import Chains
from conformance.target.faults import sentence
from conformance.target.gateway import REFERENCE_GATEWAY, Gateway, GatewayBindings
from conformance.target.grammar import Address
from conformance.target.hub import REFERENCE_ADDONS, REFERENCE_HUB, Addon, Hub, HubBindings
from conformance.target.payer import PayerProgram
from conformance.target.rail import REFERENCE_RAIL, RailBindings
from conformance.target.tables import ProfileError, ProfilePath, Secret, Table
from conformance.target.webhooks import REFERENCE_WEBHOOK, WebhookBindings
from conformance.text.files import read_text
from conformance.vocabulary.lanes.registry import FACTS
from conformance.vocabulary.networks import network_named
from conformance.vocabulary.profile_claims import (
    IMPLIED_OPTIONS,
    LANES,
    OPTIONS,
    RECEIPTS_ONLY,
    SPECIFICATION,
    SURFACES,
)

Bindings = TypeVar("Bindings", bound=Table)


class Target(Table):
    """Name of the target and whether the reference's bindings apply to it.

    Attributes:
        name: What reports call it.
        defaults: `reference` where every binding that is not set is the reference's own; `none` elsewhere.
        service_word: The word for `<Service>` in headers, receipt kinds and memos.
    """

    name: str = "target"
    defaults: Literal["reference", "none"] = "none"
    service_word: str | None = None


class Surface(Table):
    """Address of one surface.

    Attributes:
        url: Where it is, such as `http://localhost:8402`.
        workers: Addresses of its workers, if several processes or machines serve it, such as `["http://10.0.0.5:8411",
            "http://10.0.0.6:8411"]`. The requests of each check alternate between them, from one that the seed chooses.
            Their Host stays that of `url`, as a proxy sends it, and the report names the worker of each exchange.
            Browsers, and requests that are written byte by byte, go to `url`. Unset, everything does.
        restart: A command, word by word, that starts it again with what it kept and ends when that is done; called from
            the folder that the run is called from. Only what a restart must not forget asks for it, and only of the
            rail and the gateway; without it the report says that this was not tried. While the gateway's runs, up to
            five links are paid, for who pays in that very second has paid as well. What it starts is yours: it lives on
            after the run, and an interrupted run lets the command come to its end.
        reprice: A command like `restart` that starts the rail again with other prices; `restart` brings the old ones
            back. One row asks for it, of a target that claims the specification: what was quoted before is honoured.
        rotate_key: A command that rotates the signing key of the rail or the gateway, run like `restart`. Rows about
            retired keys ask for it, of a target that claims the specification (P-KY-08).
    """

    url: Address
    workers: tuple[Address, ...] = ()
    restart: tuple[str, ...] | None = Field(default=None, min_length=1)
    reprice: tuple[str, ...] | None = Field(default=None, min_length=1)
    rotate_key: tuple[str, ...] | None = Field(default=None, min_length=1)


class Claims(Table):
    """What the operator says is there; rows of the rest are not applicable.

    Attributes:
        surfaces: `rail`, `gateway`, `agent`, `control_plane`, `webhooks`, `payer`.
        lanes: `algorand`, `base`, `solana`.
        options: `rail.a2a`, `rail.agent_card`; `rail.payment_response` of a rail whose refusals carry x402's
            `PAYMENT-RESPONSE` (P-ER-01); `rail.short_headers` of a rail whose 402 fits stock proxies
            (P-CH-02); `gateway.receipts_only` of a gateway that verifies receipts and has no links,
            resources or screening; `payer.checkout` of a payer that also pays checkout links (10.6), and
            `payer.a2a` of one that also pays over A2A (10.7);
            and of a gateway that follows the specification where the interface leaves it free:
            `gateway.records` (members of links and resources, 3.4 and 3.8), `gateway.checkout` (calls and end of a
            checkout, 3.5) and `gateway.tenants` (administration and trial, 3.9 and 3.10).
        specification: `"1"` for a target that follows version 1 of the specification in full. Then what rests on
            *deployed* or *this suite's default* decides, too; the bindings that are not set are those of the
            specification; and of the options, `rail.payment_response`, `rail.short_headers`, `gateway.records`,
            `gateway.checkout` and `gateway.tenants` are claimed with their surface.
    """

    surfaces: tuple[str, ...] = ()
    lanes: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    specification: Literal["1"] | None = None

    def includes(self, option: str) -> bool:
        """Return whether the operator claims an option, or the specification by its own word."""
        return option in self.options or (option == SPECIFICATION and self.specification is not None)

    @model_validator(mode="before")
    @classmethod
    def _add_implied_options(cls, members: Any) -> Any:
        # The claims of a run are recorded, so that each row's option is in the list, whichever claim put it there.
        if not isinstance(members, Mapping) or members.get("specification") is None:
            return members
        # This runs before validation, so each value may have any type. A wrong one is left for the validation to
        # report.
        surfaces, options = (members.get(name, ()) for name in ("surfaces", "options"))
        if not all(isinstance(names, list | tuple) for names in (surfaces, options)) or RECEIPTS_ONLY in options:
            return members
        implied = [option for surface in IMPLIED_OPTIONS if surface in surfaces for option in IMPLIED_OPTIONS[surface]]
        return {**members, "options": [*dict.fromkeys([*options, *implied])]}

    @model_validator(mode="after")
    def _check_names(self) -> Self:
        for names, known_names, kind in (
            (self.surfaces, SURFACES, "surface"),
            (self.lanes, LANES, "lane"),
            (self.options, OPTIONS, "option"),
        ):
            for name in names:
                if name not in known_names:
                    raise ValueError(f"unknown {kind} {name!r}; known: {', '.join(known_names)}")
        return self


class Tenant(Table):
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


# How the reference writes networks in events (1.2).
REFERENCE_EVENTS: Mapping[str, str] = {one.key: one.event for lane in FACTS.values() for one in (lane.main, lane.test)}


class LimitedService(Table):
    """A separate service for limit and time rows: default limits, a separate clock, and only the suite's calls.

    Attributes:
        url: Its address.
        workers: Addresses of its workers, as in `[surfaces.NAME]`.
        offset_file: Its test clock, as in `[clock]`.
        admin_key: An administrator's key of it, with which a gateway that claims `gateway.tenants` gives its tenant
            `first` a second key.
        tenants: Its tenants by name, `first` and `second`; one without networks of its own has those of the target's
            tenant of that name.
    """

    url: Address
    workers: tuple[Address, ...] = ()
    offset_file: ProfilePath | None = None
    admin_key: Secret | None = None
    tenants: Mapping[str, Tenant] = Field(default_factory=dict)


class NetworkNames(Table):
    """A network by the key that the target has for it, and its other two spellings there.

    Attributes:
        network: Which network that is, if the target uses a private name for it: a usual key such as
            `algorand_testnet`, or the CAIP-2 name.
        label: How a payment link spells it in `chain`.
        event: How an event spells it in `chain`.
    """

    network: str | None = None
    label: str | None = None
    event: str | None = None

    @field_validator("network")
    @classmethod
    def _check_network(cls, text: str | None) -> str | None:
        network = network_named(text)
        if text is not None and network is None:
            raise ValueError(f"{text!r} is not a known network: give a key such as base_sepolia, or a CAIP-2 name")
        return None if network is None else network.key


class Clock(Table):
    """The target's test clock. A stack of `weldproof up` prints its clock file when it is ready.

    Attributes:
        offset_file: A file with signed decimal seconds that the target adds to its clock. The chain nodes that it uses
            must follow the same file, as those of `weldproof up` do, or payments and challenges are apart in time.
    """

    offset_file: ProfilePath | None = None


class Budgets(Table):
    """Seconds the suite may spend on waiting, and on generated requests.

    Attributes:
        confirmation: Until a payment is final on its chain.
        request: Until an answer is there.
        wait_for_expiry: For which rows about lifetimes may wait in real time, where there is no test clock; 0: not.
        paid: Until a checkout page has seen a confirmed payment.
        fuzz: 10 draws a fixed number of requests and ends at the latest after two minutes; another value ends after so
            many seconds, and more than 10 goes deeper.
        other_run: For which a run waits for the end of another one that uses the same clock file, node control or
            funder; after that its rows are inconclusive.
    """

    confirmation: float = 30.0
    request: float = 30.0
    wait_for_expiry: float = 0.0
    paid: float = 15.0
    fuzz: float = Field(default=10.0, gt=0)
    other_run: float = Field(default=900.0, ge=0)


class Pace(Table):
    """How fast the suite may ask.

    Attributes:
        requests_per_second: 0 means as fast as it can.
        limits: Operations that the target limits apart: calls a minute by method and path, such as
            `"POST /v1/receipt/verify" = 120`; a number or a token in the path is written `*`. Whatever is not given
            is learnt from the target's 429.
        workers: Checks that run side by side.
    """

    requests_per_second: float = 10.0
    limits: Mapping[str, PositiveFloat] = Field(default_factory=dict)
    workers: int = Field(default=8, ge=1, le=64)


class Tls(Table):
    """Whose certificates are accepted of a target that speaks TLS; unset, those of authorities this machine trusts.

    Attributes:
        cacert: File of the authorities that are trusted instead, in PEM form.
        insecure: Accept any certificate. Another server may then answer in its place, and the report says so.
    """

    cacert: ProfilePath | None = None
    insecure: bool = False

    @model_validator(mode="after")
    def _one_answer(self) -> Self:
        # --insecure accepts every certificate, so a list of authorities would have no effect.
        if self.cacert is not None and self.insecure:
            raise ValueError("give cacert or insecure, not both")
        return self


class ExpectedFailure(Table):
    """A known breach, with who answers for it and until when; it fails the run once it does not hold.

    Attributes:
        id: The row; each may appear once.
        reason: Why it is broken.
        owner: Who answers for it.
        expires: The last day on which it is expected.
    """

    id: str
    reason: str
    owner: str
    expires: dt.date


class Profile(Table):
    """A whole target profile.

    Attributes:
        version: Of the file's form.
        target: Its name, and what holds for all its surfaces.
        surfaces: Address of each surface by its name: `rail`, `gateway`, `agent`, `control_plane`.
        claims: What is there to be tested.
        rail: Names of the rail.
        gateway: Names of the gateway.
        webhook: Webhook destinations, and names of webhooks.
        agent: Names of the agent.
        hub: Names of the control plane.
        addons: Addons by name: `federation_validator`, `zkp_receipt`, `atb_verifier`, or one of the operator's own.
        payer: A program that pays for calls, which the suite judges as the rail.
        tenants: Tenants of the gateway by name: `first` and `second`.
        limited: Services for limit and time rows by surface; `gateway` and `rail` are the ones that are used.
        networks: Names of networks by their key.
        chains: Chain nodes that the target uses.
        clock: The target's test clock.
        budgets: What the suite may wait for.
        pace: How fast it asks.
        tls: Whose certificates are trusted.
        secrets: Further secrets that no report may show, by name.
        xfail: Known breaches.
    """

    version: Literal[1] = 1
    target: Target = Target()
    surfaces: Mapping[str, Surface] = Field(default_factory=dict)
    claims: Claims = Claims()
    rail: RailBindings = RailBindings()
    gateway: Gateway = Gateway()
    webhook: WebhookBindings = WebhookBindings()
    agent: AgentBindings = AgentBindings()
    hub: Hub = Hub()
    addons: Mapping[str, Addon] = Field(default_factory=dict)
    payer: PayerProgram = PayerProgram()
    tenants: Mapping[str, Tenant] = Field(default_factory=dict)
    limited: Mapping[str, LimitedService] = Field(default_factory=dict)
    networks: Mapping[str, NetworkNames] = Field(default_factory=dict)
    chains: Chains = Chains()
    clock: Clock = Clock()
    budgets: Budgets = Budgets()
    pace: Pace = Pace()
    tls: Tls = Tls()
    secrets: Mapping[str, Secret] = Field(default_factory=dict)
    xfail: tuple[ExpectedFailure, ...] = ()

    @model_validator(mode="after")
    def _offline_elsewhere(self) -> Self:
        # A copy without network access shows that verification needs none. The agent itself would
        # prove nothing.
        online, offline = self.surfaces.get("agent"), self.agent.offline_url
        if online is not None and offline is not None and same_address(online.url, offline):
            raise ValueError("[agent] offline_url is the agent's own address: give that of one that reaches no network")
        return self

    @property
    def is_reference(self) -> bool:
        """Whether the specification's own choices bind the target where the interface leaves a point open.

        They bind the reference, and any target that claims the specification.
        """
        return self.target.defaults == "reference" or self.claims.specification is not None

    @property
    def service_word(self) -> str | None:
        """The word that stands for `<Service>`, or None when the operator did not bind it."""
        # A target that follows the reference's defaults uses the reference's word.
        return self.target.service_word or ("Weldproof" if self.is_reference else None)

    @property
    def rail_bindings(self) -> RailBindings:
        """The rail's bindings: what the file sets, over the reference's where those apply."""
        return self._over(REFERENCE_RAIL, self.rail)

    @property
    def gateway_bindings(self) -> GatewayBindings:
        """The gateway's bindings: what the file sets, over the reference's where those apply."""
        return self._over(REFERENCE_GATEWAY, self.gateway)

    @property
    def agent_bindings(self) -> AgentBindings:
        """The agent's bindings: what the file sets, over the reference's where those apply."""
        return self._over(REFERENCE_AGENT, self.agent)

    @property
    def hub_bindings(self) -> HubBindings:
        """The control plane's bindings: what the file sets, over the reference's where those apply."""
        return self._over(REFERENCE_HUB, self.hub)

    @property
    def addon_bindings(self) -> Mapping[str, Addon]:
        """The addons by name: what the file sets of each, over the reference's where those apply."""
        return {name: self._over(REFERENCE_ADDONS.get(name, Addon()), one) for name, one in self.addons.items()}

    @property
    def webhook_bindings(self) -> WebhookBindings:
        """The webhooks' bindings: what the file sets, over the reference's where those apply."""
        return self._over(REFERENCE_WEBHOOK, self.webhook)

    def _over(self, defaults: Bindings, bindings: Bindings) -> Bindings:
        if not self.is_reference:
            return bindings
        # Only keys that the file sets replace the reference's values. A key that is set to its
        # default counts as set: the operator chose it.
        set_names = bindings.model_fields_set & type(defaults).model_fields.keys()
        return defaults.model_copy(update={name: getattr(bindings, name) for name in set_names})

    @property
    def gateway_chains(self) -> Chains:
        """The nodes of checkout payments: a lane that `[gateway.chains]` leaves out has the node of `[chains]`."""
        # A gateway may be paid on another network than the rail, for example a test network, but usually shares its
        # nodes.
        own = self.gateway.chains
        return Chains.model_validate({lane: own.of(lane) or self.chains.of(lane) for lane in LANES})

    @property
    def payer_chains(self) -> Chains:
        """The nodes of a payer under test: a lane that `[payer.chains]` leaves out has the node of `[chains]`."""
        own = self.payer.chains
        return Chains.model_validate({lane: own.of(lane) or self.chains.of(lane) for lane in LANES})

    @property
    def has_separate_payer_nodes(self) -> bool:
        """Whether a payer under test pays on nodes of `[payer.chains]` alone, on each claimed lane."""
        return all(self.payer.chains.of(lane) is not None for lane in self.claims.lanes)

    def checkout_node_apart(self, lane: str) -> bool:
        """Return whether what is done to the node of a lane's checkout payments is not done to that of `[chains]`.

        It is so where both can be controlled, each at an address of its own.
        """
        checkout_node, call_node = self.gateway.chains.of(lane), self.chains.of(lane)
        controls = {None if one is None else one.control for one in (checkout_node, call_node)}
        return len(controls) > 1 and None not in controls

    def controls(self, lane: str) -> bool:
        """Return whether the suite can control the node of a lane's calls."""
        node = self.chains.of(lane)
        return node is not None and node.control is not None

    def usual_network(self, key: str) -> str:
        """Return the usual key of the network that the target calls `key`: that itself, where nothing is said of it."""
        return self.networks.get(key, NetworkNames()).network or key

    def own_network(self, usual: str) -> str:
        """Return the target's key of a network by its usual key: that itself, where the target has no other."""
        return next((key for key, names in self.networks.items() if names.network == usual), usual)

    def usdc_of(self, network: str) -> str | None:
        """Return the id of USDC on the network that the target calls so, None where it is open."""
        usual = self.usual_network(network)
        nodes = (chains.of(lane) for chains in (self.chains, self.gateway.chains) for lane in LANES)
        # A private network has an asset of its own. The node's table names it, before the public networks are
        # consulted.
        local = {node.network: node.asset for node in nodes if node is not None and node.asset is not None}
        network_entry = network_named(usual)
        return local.get(usual) or (None if network_entry is None else network_entry.asset_id)

    def network_label(self, network: str) -> str | None:
        """Return the spelling of a network (its key, with underscores) in a link's `chain`, None where it is open."""
        bound_label = self.networks.get(network, NetworkNames()).label
        return bound_label or (network.replace("_", "-") if self.is_reference else None)

    def network_event(self, network: str) -> str | None:
        """Return the spelling of a network (its key, with underscores) in an event, None where it is open."""
        bound_event = self.networks.get(network, NetworkNames()).event
        return bound_event or (REFERENCE_EVENTS.get(network) if self.is_reference else None)

    @property
    def addresses(self) -> tuple[str, ...]:
        """The addresses of the surfaces, which two runs disturb by their limits and counts."""
        return tuple(one.url for one in self.surfaces.values())

    @property
    def workers(self) -> dict[str, tuple[str, ...]]:
        """Addresses of its workers by the address of each service that lists them, without slashes at the end."""
        services: list[Surface | LimitedService] = [*self.surfaces.values(), *self.limited.values()]
        return {one.url.rstrip("/"): tuple(url.rstrip("/") for url in one.workers) for one in services if one.workers}

    @property
    def shared_resources(self) -> dict[str, str]:
        """What two runs must not use at the same time, by a key that names it, to words for it.

        Clock files, control addresses of nodes, and funders: who moves time, or sends from the same account, changes
        what the other run's payments meet. A secret is in its key as a hash.
        """
        # Each kind of resource has its kind in the key, so that a file and an address of one name stay different.
        files = [self.clock.offset_file, *(one.offset_file for one in self.limited.values())]
        resources = {f"clock {Path(one).resolve()}": f"the clock file {one}" for one in files if one is not None}
        for chains in (self.chains, self.gateway.chains, self.payer.chains):
            for node in (chains.of(lane) for lane in LANES):
                if node is not None and node.control is not None:
                    resources[f"control {node.control.rstrip('/')}"] = f"the node control {node.control}"
                if node is not None and node.funder is not None:
                    resources |= _funder(node.network, node.funder)
        return resources

    def claims_surface(self, surface: str) -> bool:
        """Return whether the operator claims the surface; `shared_resources` is claimed with any."""
        return surface in self.claims.surfaces or (surface == "shared" and bool(self.claims.surfaces))

    def non_defaults(self) -> tuple[tuple[str, object], ...]:
        """Return every value of the file that is not the built-in default, as (dotted key, value)."""
        return tuple(
            _leaves("", self.model_dump(mode="json", exclude_unset=True), type(self)().model_dump(mode="json"))
        )


def _funder(network: str, secret: Secret) -> dict[str, str]:
    try:
        # Two runs compare these keys in a shared place, which must not contain the secret itself.
        digest = hashlib.sha256(secret.read().encode()).hexdigest()
    except ProfileError:  # the payer reports it when it is needed
        return {}
    return {f"funder {network} {digest}": f"the funder of {network}"}


def _leaves(prefix: str, value: Mapping[str, Any], default: object) -> Iterable[tuple[str, object]]:
    for name, member in value.items():
        base = default.get(name) if isinstance(default, Mapping) else None
        key = f"{prefix}{name}"
        if isinstance(member, Mapping):
            yield from _leaves(key + ".", member, base)
        elif member != base:
            yield key, member


def parse(text: str, *, source: str = "weldproof.toml", folder: Path | None = None) -> Profile:
    """Read a profile from TOML text.

    Args:
        text: The text.
        source: What faults call it.
        folder: What relative paths in it are relative to; None for the working folder.

    Raises:
        ProfileError: The text is not TOML, or contains an unknown key or a wrong value; the message names the key.
    """
    try:
        return Profile.model_validate(tomllib.loads(text), context={"folder": folder})
    # A hostile or generated file can nest deeper than the parser's stack. That is a fault of the file, not of the
    # suite.
    except RecursionError as fault:
        raise ProfileError(f"{source}: it is nested too deep") from fault
    except tomllib.TOMLDecodeError as fault:
        raise ProfileError(f"{source}: not TOML: {fault}") from fault
    except ValidationError as fault:
        raise ProfileError(f"{source}: {sentence(fault.errors()[0], Profile)}") from fault


def load(path: Path) -> Profile:
    """Read a profile file; relative paths in it are relative to its folder.

    Raises:
        ProfileError: The file cannot be read or used.
    """
    try:
        text = read_text(path)
    except OSError as fault:
        raise ProfileError(f"cannot read {path}: {fault.strerror}") from fault
    except ValueError as fault:
        raise ProfileError(f"cannot read {path}: {fault}") from fault
    return parse(text, source=str(path), folder=path.parent)
