"""What all checks of one run share: discovered operations, credentials, and one funded payer a lane."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any, TypeVar

from conformance.discovery.rail import Operation, discover
from conformance.discovery.rehearsing import refusal
from conformance.engine.stray_payments import StrayPayments
from conformance.engine.trailing import Trailing
from conformance.engine.waiting import Waiting
from conformance.http.client import Client, Counter, JsonFault, Names, Unreachable
from conformance.lanes.checkout_request import CheckoutPayer
from conformance.lanes.descriptor import Payer
from conformance.lanes.payers import checkout_payer, payer_for
from conformance.lanes.spending import Wallet
from conformance.outcome import Inconclusive
from conformance.pages.reader import PageReader
from conformance.target import Chains, Profile, Tenant
from conformance.webhook_receiver.inbox import Inbox

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Credentials:
    """A tenant of the gateway with its key in hand.

    Attributes:
        name: Its name in the profile.
        id: The tenant id.
        key: The API key; the log has its name only.
        networks: Network keys that its links can be made for, the usual one first; empty when the profile tells none.
        payout: Payout address by network key, in the tenant's order.
    """

    name: str
    id: str
    key: str
    networks: tuple[str, ...]
    payout: Mapping[str, str]

    @property
    def headers(self) -> dict[str, str]:
        """The two header fields of an authenticated call."""
        return {"Authorization": f"Bearer {self.key}", "X-Tenant-Id": self.id}


def variables(profile: Profile) -> list[str]:
    """Return the names of what the operator gave, which stand in the log in its place, in alphabetical order."""
    of_tenants = [f"TENANT_{name.upper()}_{part}" for name in profile.tenants for part in ("ID", "KEY")]
    others = {"ADMIN_KEY": profile.gateway.admin_key, "ADMIN_TOKEN": profile.hub.token}
    if "gateway" in profile.limited:
        others["LIMITED_ADMIN_KEY"] = profile.limited["gateway"].admin_key
    given = [name for name, secret in others.items() if secret is not None]
    return sorted({*of_tenants, *map(str.upper, profile.secrets), *given})


class Session:
    """Opened once a run, before the first check.

    Nothing here judges: what cannot be found or reached becomes the reason of an inconclusive row.

    Attributes:
        seed: Seed of everything random.
        limits_lock: Held by the one check that exhausts limits.
        waiting: Where checks that let time pass side by side meet.
        restarting: Where checks that have a service started again side by side meet.
        restarts: Restarts under way by an address of the service; each tells in the end what went wrong, if anything.
        apart: Micro-units that are added to amounts drawn for links.
        nonce: Text that no other run uses, for names that must be new to the target.
        pages: Looks at checkout pages.
        networks_told: Spellings of each network by its key, in the link and in the event, as they were first seen.
        stray_payments: Transactions that checks made and that pay no link.
        kept: What is opened during the run and closed at its end, before anything else.
        trailing: Tells which chains are too old for a payment.
        wallet: What the run may take of the operator's money, and took.
    """

    def __init__(
        self,
        profile: Profile,
        client: Client,
        names: Names,
        seed: int,
        prefix: str = "",
        wallet: Wallet | None = None,
    ) -> None:
        self.profile = profile
        self.client = client
        self._names = names
        self._prefix = prefix
        self.wallet = wallet or Wallet()
        self.seed = seed
        self._operations: tuple[Operation, ...] = ()
        self._trouble: str | None = None
        self._refused: dict[str, str] = {}
        self._payers: dict[str, Payer] = {}
        self._credentials: dict[str, Credentials] = {}
        self._limited_credentials: dict[str, Credentials] = {}
        self._checkout_payers: dict[str, CheckoutPayer] = {}
        self._found: dict[str, asyncio.Future[Any]] = {}
        self._lock = asyncio.Lock()
        self.limits_lock = asyncio.Lock()
        self.waiting = Waiting()
        self.restarting = Waiting()
        self.restarts: dict[str, asyncio.Future[str | None]] = {}
        self.networks_told: dict[str, tuple[Any, Any]] = {}
        self.stray_payments = StrayPayments()
        self.kept = AsyncExitStack()
        self.trailing = Trailing(profile, names)
        self.apart = 0
        self.nonce = secrets.token_hex(6)
        self._count = Counter()
        whole = profile.is_reference
        self._inbox: Inbox | None = None
        selectors, insecure = profile.gateway_bindings.checkout_selectors, profile.tls.insecure
        self.pages = PageReader(selectors, profile.budgets.request, whole=whole, insecure=insecure)

    async def open(self, *, rehearse: bool = True) -> None:
        """Read secrets into the redaction table and discover the rail's operations.

        Args:
            rehearse: Whether bodies that nobody vouches for are tried, as a run does before it pays for any.
        """
        for name, secret in self.profile.secrets.items():
            self._names.secret(secret.read(), f"{self._prefix}{name.upper()}")
        self._credentials = {name: self._of(name, one) for name, one in self.profile.tenants.items()}
        if (limited := self.profile.limited.get("gateway")) is not None:
            self._limited_credentials = {
                name: self._of(name, one, "LIMITED_", self._credentials.get(name))
                for name, one in limited.tenants.items()
            }
        if not self.profile.claims_surface("rail"):
            return
        try:
            self._operations = await discover(self.client, self.profile)
            for operation in (one for one in self._operations if rehearse and not one.sure):
                if (told := await refusal(self.client, operation)) is not None:
                    self.refuse_body(operation, told)
        except (Unreachable, Inconclusive, JsonFault) as fault:
            self._trouble = f"the rail's operations could not be discovered: {fault}"

    async def receive(self) -> None:
        """Receive at the webhook destinations from now on."""
        self._inbox = Inbox(self.profile, self.client, self._names)
        self.kept.push_async_callback(self._inbox.close)
        await self._inbox.open()

    async def close(self) -> None:
        """End questions nobody waits for and what was kept; close the payers' connections and the pages' browser."""
        for asked in self._found.values():
            asked.cancel()
        await asyncio.gather(*self._found.values(), return_exceptions=True)
        await self.kept.aclose()
        await self.pages.close()
        await self.trailing.close()
        for payer in self._payers.values():
            await payer.close()

    @property
    def rail(self) -> str:
        """The rail's address, without a slash at its end."""
        return self.profile.surfaces["rail"].url.rstrip("/")

    @property
    def gateway(self) -> str:
        """The gateway's address, without a slash at its end."""
        return self.profile.surfaces["gateway"].url.rstrip("/")

    @property
    def inbox(self) -> Inbox:
        """What arrives at the webhook destinations.

        Raises:
            Inconclusive: Nobody receives there in this run.
        """
        if self._inbox is None:
            raise Inconclusive("nobody receives at the webhook destinations in this run")
        return self._inbox

    def count(self) -> int:
        """Return the next number of this run, from 1."""
        return self._count.take()

    def tenant(self, name: str = "first", *, limited: bool = False) -> Credentials:
        """Return the credentials of a tenant, of the target or of the service for limit rows.

        Raises:
            Inconclusive: The profile has no such tenant.
        """
        known = self._limited_credentials if limited else self._credentials
        if name not in known:
            table = f"limited.gateway.tenants.{name}" if limited else f"tenants.{name}"
            raise Inconclusive(f"needs a tenant's credentials: give [{table}] with id, key and payout")
        return known[name]

    def tenant_headers(self) -> dict[str, str]:
        """Return a tenant's header fields for calls that may or may not need them, none where there is no tenant."""
        return next((one.headers for one in self._credentials.values()), {})

    def _of(self, name: str, tenant: Tenant, prefix: str = "", like: Credentials | None = None) -> Credentials:
        """Return a tenant's credentials; what the profile says of no networks of it are those of the tenant `like`."""
        key = tenant.key.read()
        prefix = self._prefix + prefix
        self._names.secret(key, f"{prefix}TENANT_{name.upper()}_KEY")
        self._names.name(tenant.id, f"{prefix}TENANT_{name.upper()}_ID")
        own = tenant.networks or tuple(tenant.payout)
        networks, payout = (own, tenant.payout) if own or like is None else (like.networks, like.payout)
        return Credentials(name, tenant.id, key, networks, payout)

    @property
    def operations(self) -> tuple[Operation, ...]:
        """The paid operations that are tried, ordered by path: those the profile binds, else all that are listed.

        One whose only known body was refused is not among them.

        Raises:
            Inconclusive: None was found, or no body is known for any.
        """
        bound = set((self.profile.rail_bindings.services or {}).values())
        chosen = tuple(one for one in self.listed if not bound or one.path in bound) or self.listed
        tried = tuple(one for one in chosen if one.path not in self._refused)
        if not tried:
            raise Inconclusive(self._refused[chosen[0].path])
        return tried

    def refuse_body(self, operation: Operation, told: str) -> str:
        """Keep in mind that an operation refuses its only known body; returns the reason for what hangs on it."""
        role = operation.role or "ROLE"
        also = "" if operation.role else f", and [rail.services] {role} = {operation.path!r}"
        reason = f"unbound: {operation.path} refuses {operation.body!r:.200} ({told}); bind [rail.bodies] {role}{also}"
        self._refused.setdefault(operation.path, reason)
        return reason

    def refusal_of(self, path: str) -> str | None:
        """Return why nothing can be judged by calls of a path, None where its body is not known to be refused."""
        return self._refused.get(path)

    @property
    def listed(self) -> tuple[Operation, ...]:
        """Every paid operation that a published document lists, ordered by path.

        Raises:
            Inconclusive: None was found.
        """
        if not self._operations:
            raise Inconclusive(self._trouble or "no paid operation was found in the catalogs, the index or OpenAPI")
        return self._operations

    def service(self, role: str) -> Operation:
        """Return the operation of a service: `receipt-verify`, `rfc9421-verify` or `compliance-receipt`.

        Raises:
            Inconclusive: The profile binds no path for it and none could be told from the catalog, or no body is known.
        """
        for operation in self.listed:
            if operation.role == role and operation.path in self._refused:
                raise Inconclusive(self._refused[operation.path])
        for operation in self.operations:
            if operation.role == role:
                return operation
        raise Inconclusive(f"unbound: no operation is known to be {role}; bind [rail.services] {role}")

    async def payer(self, lane: str) -> Payer:
        """Return the funded payer of a lane, opening it at first use.

        Raises:
            Inconclusive: The profile says no way to reach the lane's node or to fund a payer, or its chain trails.
        """
        await self._refuse_trailing(self.profile.chains, lane)
        async with self._lock:
            if lane not in self._payers:
                self._payers[lane] = await payer_for(lane, self.profile, self._names, wallet=self.wallet)
            return self._payers[lane]

    async def gateway_payer(self, lane: str) -> Payer:
        """Return the funded payer of a lane on the node that checkout payments are made on, opening it at first use.

        Raises:
            Inconclusive: The profile says no way to reach that node or to fund a payer, or its chain trails.
        """
        await self._refuse_trailing(self.profile.gateway_chains, lane)
        place = f"gateway {lane}"
        async with self._lock:
            if place not in self._payers:
                nodes = self.profile.gateway_chains
                self._payers[place] = await payer_for(lane, self.profile, self._names, nodes, self.wallet)
            return self._payers[place]

    async def _refuse_trailing(self, chains: Chains, lane: str) -> None:
        if (chain := chains.of(lane)) is not None:
            await self.trailing.refuse(chain)

    async def checkout_payer(self, lane: str) -> CheckoutPayer:
        """Return what pays a lane's checkout links, from the account of `gateway_payer`.

        Raises:
            Inconclusive: The profile says no way to reach that node or to fund a payer.
        """
        if lane not in self._checkout_payers:
            self._checkout_payers[lane] = checkout_payer(await self.gateway_payer(lane))
        return self._checkout_payers[lane]

    def tenant_on(self, network: str) -> Credentials:
        """Return the first tenant that is paid on a network.

        Raises:
            Inconclusive: The profile has none.
        """
        return self.tenants_on(network)[0]

    def tenants_on(self, network: str) -> Sequence[Credentials]:
        """Return the tenants that are paid on a network, in the profile's order; one at least.

        Raises:
            Inconclusive: The profile has none.
        """
        if found := [known for known in self._credentials.values() if network in known.payout]:
            return found
        usual = self.profile.usual_network(network)
        raise Inconclusive(
            f"needs a tenant with a payout address on {network}: give [tenants.NAME.payout] {network}, or, where the "
            f'target has another key for it, [networks.KEY] network = "{usual}", or, where its links are paid on '
            f"another network, the node of that in [gateway.chains.{network.partition('_')[0]}] with its network"
        )

    async def once(self, name: str, find: Callable[[], Awaitable[T]]) -> T:
        """Return what `find` finds, asked once a run and shared by all checks under its name.

        Raises:
            Exception: What `find` raised, for everybody who asks.
        """
        if name not in self._found:
            self._found[name] = asyncio.ensure_future(find())
        found: T = await asyncio.shield(self._found[name])
        return found

    @property
    def payers(self) -> Mapping[str, Payer]:
        """The payers opened so far."""
        return self._payers
