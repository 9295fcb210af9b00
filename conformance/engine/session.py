"""What all checks of one run share: the tenants, the paid operations, the payers, and places to meet."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Any, TypeVar

from conformance.engine.clock_barrier import ClockBarrier
from conformance.engine.operation_catalog import OperationCatalog
from conformance.engine.payers import Payers
from conformance.engine.stale_chains import StaleChains
from conformance.engine.stray_payments import StrayPayments
from conformance.engine.tenant_credentials import Tenants
from conformance.http.client import Client, Counter, Names
from conformance.lanes.spending import Wallet
from conformance.outcome import Inconclusive
from conformance.pages.reader import PageReader
from conformance.target import Profile
from conformance.webhook_receiver.inbox import Inbox

T = TypeVar("T")


class Session:
    """Opened once a run, before the first check.

    Nothing here judges: what cannot be found or reached becomes the reason of an inconclusive row.

    Attributes:
        seed: Seed of everything random.
        tenants: Credentials of the target's tenants.
        catalog: The paid operations of the rail.
        payers: Funded payers, one a lane and node.
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
        self.tenants = Tenants(profile, names, prefix)
        self.catalog = OperationCatalog(profile, client)
        self._answers: dict[str, asyncio.Future[Any]] = {}
        self.limits_lock = asyncio.Lock()
        self.clock_barrier = ClockBarrier()
        self.restart_barrier = ClockBarrier()
        self.restarts: dict[str, asyncio.Future[str | None]] = {}
        self.network_spellings: dict[str, tuple[Any, Any]] = {}
        self.stray_payments = StrayPayments()
        self.exit_stack = AsyncExitStack()
        self.stale_chains = StaleChains(profile, names)
        self.payers = Payers(profile, names, self.wallet, self.stale_chains)
        self.amount_offset = 0
        self.nonce = secrets.token_hex(6)
        self._count = Counter()
        whole = profile.is_reference
        self._inbox: Inbox | None = None
        selectors, insecure = profile.gateway_bindings.checkout_selectors, profile.tls.insecure
        self.pages = PageReader(selectors, profile.budgets.request, whole=whole, insecure=insecure)

    async def open(self, *, rehearse: bool = True) -> None:
        """Read secrets into the redaction table and discover the rail's operations.

        Args:
            rehearse: Whether bodies that the profile does not bind are tried, as a run does before it pays for any.
        """
        for name, secret in self.profile.secrets.items():
            self._names.secret(secret.read(), f"{self._prefix}{name.upper()}")
        self.tenants.open()
        if self.profile.claims_surface("rail"):
            await self.catalog.discover(rehearse=rehearse)

    async def receive(self) -> None:
        """Receive at the webhook destinations from now on."""
        self._inbox = Inbox(self.profile, self.client, self._names)
        self.exit_stack.push_async_callback(self._inbox.close)
        await self._inbox.open()

    async def close(self) -> None:
        """End questions nobody waits for and what was kept; close the payers' connections and the pages' browser."""
        for question in self._answers.values():
            question.cancel()
        await asyncio.gather(*self._answers.values(), return_exceptions=True)
        await self.exit_stack.aclose()
        await self.pages.close()
        await self.stale_chains.close()
        await self.payers.close()

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

    async def find_once(self, name: str, find: Callable[[], Awaitable[T]]) -> T:
        """Return what `find` finds, asked once a run and shared by all checks under its name.

        Raises:
            Exception: What `find` raised, for everybody who asks.
        """
        if name not in self._answers:
            self._answers[name] = asyncio.ensure_future(find())
        answer: T = await asyncio.shield(self._answers[name])
        return answer
