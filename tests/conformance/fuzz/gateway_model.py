"""What a gateway must do, as simply as it can be said: a few dictionaries and the rules of links, keys and trials.

Pure: no clock, no network. Times are Unix seconds of the service's clock, amounts are micro-units. An expectation is
either a refusal, as status and code, or what must come of the call.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from conformance.vocabulary.networks import is_main

DAY = 86_400
TRIAL_SECONDS = 60 * DAY
# A key's answer is kept so long (P-ID-02).
REMEMBERED_SECONDS = DAY
ALLOWANCE = 1_000_000_000
ACTIVE, PAID, EXPIRED, CANCELLED = "active", "paid", "expired", "cancelled"


@dataclass(frozen=True, slots=True)
class Refusal:
    """A refusal: status and error code."""

    status: int
    code: str


BAD_KEY = Refusal(401, "invalid_api_key")
WRONG_TENANT = Refusal(403, "tenant_id_mismatch")
CONFLICT = Refusal(409, "idempotency_conflict")


def is_test(network: str) -> bool:
    """Return whether a network key is a test network's (P-NW-02)."""
    return not is_main(network)


@dataclass(slots=True)
class Key:
    """An API key: its mode, and until when it is good (None: for ever)."""

    text: str
    mode: str
    until: float | None = None


@dataclass(slots=True)
class Tenant:
    """A tenant, its keys by id, its networks in their order, and its standing."""

    id: str
    trial_ends_at: float
    networks: tuple[str, ...] = ()
    keys: dict[str, Key] = field(default_factory=dict)
    approved: bool = False
    plan: str = "trial"
    paid_on_mainnet: int = 0
    resources: dict[str, bytes] = field(default_factory=dict)


@dataclass(slots=True)
class Link:
    """A payment link: `ended` is its end, None while it has none of its own."""

    tenant: Tenant
    token: str
    secret: str
    network: str
    amount: int
    expires_at: float
    ended: str | None = None
    tx_id: str | None = None

    def state(self, now: float) -> str:
        """Return its state at a time."""
        return self.ended or (EXPIRED if now > self.expires_at else ACTIVE)

    def is_near_its_end(self, now: float, margin: float) -> bool:
        """Return whether the clocks' difference may decide which state it is in."""
        return self.ended is None and abs(now - self.expires_at) <= margin


@dataclass(slots=True)
class Remembered:
    """The answer that an Idempotency-Key stands for."""

    body: bytes
    answer: bytes
    at: float


@dataclass(slots=True)
class Gateway:
    """All that a gateway is held to know."""

    tenants: list[Tenant] = field(default_factory=list)
    links: list[Link] = field(default_factory=list)
    tokens: set[str] = field(default_factory=set)
    remembered: dict[tuple[str, str, str], Remembered] = field(default_factory=dict)

    def credential_refusal(self, tenant: Tenant, key: Key | None, now: float) -> Refusal | None:
        """Return why a call with a key and a tenant's id is refused, None when it is let in (P-AU-01, P-AU-04)."""
        owner = next((one for one in self.tenants if key in one.keys.values()), None)
        if key is None or owner is None or (key.until is not None and now >= key.until):
            return BAD_KEY
        return None if owner is tenant else WRONG_TENANT

    def link_refusal(self, tenant: Tenant, key: Key, network: str | None, amount: int, now: float) -> Refusal | None:
        """Return why a link is not made, None when it is: network, standing, key, allowance, in this order (3.10)."""
        name = network if network is not None else next(iter(tenant.networks), None)
        if name is None or name not in tenant.networks:
            return Refusal(400, "unsupported_network")
        if not is_test(name) and not tenant.approved:
            return Refusal(422, "kyb_required_for_mainnet")
        if is_test(name) and not tenant.approved and now >= tenant.trial_ends_at:
            return Refusal(403, "trial_expired")
        if is_test(name) != (key.mode == "test"):
            return Refusal(403, "key_mode_mismatch")
        over = tenant.paid_on_mainnet + amount > ALLOWANCE
        if not is_test(name) and tenant.plan == "trial" and over:
            return Refusal(403, "mainnet_allowance_exhausted")
        return None

    def recall(self, tenant: Tenant, path: str, key: str | None, now: float, margin: float) -> Remembered | str | None:
        """Return what a key stands for, None for nothing, and `unsure` at the very end of its time (P-ID-02)."""
        stored_answer = None if key is None else self.remembered.get((tenant.id, path, key))
        if stored_answer is None:
            return None
        age = now - stored_answer.at
        if abs(age - REMEMBERED_SECONDS) <= margin:
            return "unsure"
        return stored_answer if age < REMEMBERED_SECONDS else None

    def remember(self, tenant: Tenant, path: str, key: str | None, stored_answer: Remembered) -> None:
        """Keep the answer of a call that had a key."""
        if key is not None:
            self.remembered[(tenant.id, path, key)] = stored_answer

    def end_refusal(self, link: Link, now: float, *, twice: bool = False) -> Refusal | None:
        """Return why a link takes no more deeds, None while it is active; `twice`: one may be abandoned again."""
        state = link.state(now)
        table: Mapping[str, Refusal | None] = {
            ACTIVE: None,
            PAID: Refusal(409, "payment_link_already_paid"),
            EXPIRED: Refusal(410, "payment_link_expired"),
            CANCELLED: None if twice else Refusal(410, "payment_link_cancelled"),
        }
        return table[state]
