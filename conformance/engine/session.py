"""State that all checks of one run share: tenants, paid operations, payers, and barriers."""

from __future__ import annotations

import asyncio
import secrets
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from typing import Any, TypeVar

from conformance.engine.clock_barrier import ClockBarrier
from conformance.engine.paid_operations import OperationCatalog
from conformance.engine.payers import Payers
from conformance.engine.stale_chains import StaleChains
from conformance.engine.tenant_credentials import Tenants
from conformance.engine.unlinked_payments import StrayPayments
from conformance.http.client import Client, Counter, Names
from conformance.lanes.spending import Wallet
from conformance.outcome import Inconclusive
from conformance.pages.page_loader import PageReader
from conformance.target import Profile
from conformance.webhook_receiver.inbox import Inbox

T = TypeVar("T")


class Session:
    """The shared state of a run, opened before the first check. A missing part makes rows inconclusive.

    Attributes:
        seed: Seed of everything random.
        tenants: Credentials of the target's tenants.
        catalog: The paid operations of the rail.
        payers: Funded payers, one for each lane and node.
        limits_locks: By surface, held by the one check that exhausts its limits.
        clock_barrier: Barrier of the checks that let time pass together.
        restart_barrier: Barrier of the checks that restart a service together.
        restarts: Restarts under way, by an address of the service; the result is the fault, or None.
        amount_offset: Micro-units that are added to the amounts drawn for links.
        nonce: Text that no other run uses, for names that must be new to the target.
        pages: Reader of checkout pages.
        network_spellings: Spellings of each network by its key, in the link and in the event, as they were first seen.
        stray_payments: Transactions that checks made and that pay no link.
        exit_stack: What is opened during the run and closed first at its end.
        stale_chains: Answers which chains are too old for a payment.
        wallet: How much of the operator's money the run may take, and took.
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
        # Questions that a run asks once, by name, such as which body an operation accepts.
        self._answers: dict[str, asyncio.Future[Any]] = {}
        self.limits_locks: Mapping[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self.clock_barrier = ClockBarrier()
        self.restart_barrier = ClockBarrier()
        self.restarts: dict[str, asyncio.Future[str | None]] = {}
        self.network_spellings: dict[str, tuple[Any, Any]] = {}
        self.stray_payments = StrayPayments()
        self.exit_stack = AsyncExitStack()
        self.stale_chains = StaleChains(profile, names)
        self.payers = Payers(profile, names, self.wallet, self.stale_chains)
        self.amount_offset = 0
        # Not from the seed: two runs with one seed against one target must not use the same names.
        self.nonce = secrets.token_hex(6)
        self._count = Counter()
        whole = profile.is_reference
        self._inbox: Inbox | None = None
        selectors, insecure = profile.gateway_bindings.checkout_selectors, profile.tls.insecure
        self.pages = PageReader(selectors, profile.budgets.request, whole=whole, insecure=insecure)

    async def open(self, *, rehearse: bool = True) -> None:
        """Read secrets into the redaction table and discover the rail's operations.

        Args:
            rehearse: Whether bodies that the profile does not bind are tried before a payment.
        """
        for name, secret in self.profile.secrets.items():
            self._names.secret(secret.read(), f"{self._prefix}{name.upper()}")
        self.tenants.open()
        # A target without a rail must not be asked for its documents: the run would send calls that no row is about.
        if self.profile.claims_surface("rail"):
            await self.catalog.discover(rehearse=rehearse)

    async def receive(self) -> None:
        """Begin to receive at the webhook destinations."""
        self._inbox = Inbox(self.profile, self.client, self._names)
        self.exit_stack.push_async_callback(self._inbox.close)
        await self._inbox.open()

    async def close(self) -> None:
        """Cancel open questions, close the exit stack, then the browser and the payers' connections."""
        for question in self._answers.values():
            question.cancel()
        # Before the payers close: a cancelled question may still be sending a payment.
        await asyncio.gather(*self._answers.values(), return_exceptions=True)
        # In the order of use: receivers and browsers may still cause calls, and payers return what is left of the money
        # last.
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
            Inconclusive: This run has no webhook receiver.
        """
        if self._inbox is None:
            raise Inconclusive("this run has no receiver at the webhook destinations")
        return self._inbox

    def count(self) -> int:
        """Return the next number of this run, from 1."""
        return self._count.take()

    async def find_once(self, name: str, find: Callable[[], Awaitable[T]]) -> T:
        """Return the result of `find`, which runs once and is shared by all checks under its name.

        Raises:
            Exception: What `find` raised, for every caller.
        """
        if name not in self._answers:
            # A task of the session: it continues if the check that asked first is cancelled, since others wait for
            # it, too.
            self._answers[name] = asyncio.ensure_future(find())
        answer: T = await asyncio.shield(self._answers[name])
        return answer
