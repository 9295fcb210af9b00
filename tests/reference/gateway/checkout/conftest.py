"""A checkout on a database of its own, over chains that the test writes."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from reference.gateway.checkout.link_announcements import LinkAnnouncements
from reference.gateway.checkout.link_settlement import LinkSettlement
from reference.gateway.checkout.watcher import Watcher
from reference.gateway.network_recency import NetworkRecency
from reference.gateway.settings import GatewaySettings
from reference.store.database import Database
from reference.store.database_url import open_database, sqlite_dsn
from reference.store.destinations import Destinations
from reference.store.link_payments import Payment
from reference.store.links import Link
from reference.web.clock import WpClock
from tests.reference.gateway.checkout.scripted_chain import AMOUNT, ScriptedChain
from tests.reference.gateway.gateway_stack import PAYOUTS

START = 1_800_000_000
NETWORKS = ("algorand_testnet", "base_sepolia", "solana_devnet")


@dataclass
class Bench:
    """Watchers over scripted chains, and a clock that stands still until it is moved."""

    database: Database
    settings: GatewaySettings
    now: float = START
    chains: dict[str, ScriptedChain] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.clock = WpClock(wall_clock=lambda: self.now)
        self.announcements = LinkAnnouncements()
        self.settling = LinkSettlement(
            self.settings, self.clock, self.database, self.announcements, NetworkRecency({}, 0)
        )
        self.chains = {key: ScriptedChain(key, now=START) for key in NETWORKS}
        self.watchers = {key: self.worker(key) for key in NETWORKS}

    def worker(self, network: str) -> Watcher:
        """Return a further worker's watcher of a network, which remembers nothing."""
        return Watcher(self.settings, self.clock, self.settling, self.chains[network].lane)

    def advance(self, seconds: int) -> None:
        """Move the clock and the chains' blocks on."""
        self.now += seconds
        for chain in self.chains.values():
            chain.now = int(self.now)
            chain.mine()

    async def link(self, network: str = "algorand_testnet", tenant: str = "t-1", **members: Any) -> Link:
        """Create a link of 8.41 USDC that lives for ten minutes."""
        link = Link(
            **{
                "id": str(uuid.uuid4()),
                "tenant_id": tenant,
                "token": uuid.uuid4().hex[:22],
                "network": network,
                "amount_microunits": AMOUNT,
                "pay_to": PAYOUTS[network],
                "label": "Order 7",
                "redirect_url": None,
                "cancel_digest": hashlib.sha256(b"secret").hexdigest(),
                "created_at": int(self.now),
                "expires_at": int(self.now) + 600,
                **members,
            }
        )
        await self.database.change_all(self.settling.links.build_insert(link))
        return link

    def memo(self, link: Link) -> str:
        """Return a link's memo."""
        return self.settings.word.memo(link.token)

    async def rounds(self, *networks: str) -> None:
        """Let every watcher look once."""
        for network in networks or NETWORKS:
            await self.watchers[network].run_round()

    async def state(self, link: Link) -> str:
        """Return where a link stands."""
        return await self.settling.links.state(link.id)

    async def payments(self, state: str = "paid", tenant: str = "t-1") -> list[Payment]:
        """Return a tenant's payments."""
        return list(await self.settling.payments.of_tenant(tenant, state))


# For tests of what a database decides.
both_databases = pytest.mark.parametrize(
    "database", ["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)], indirect=True
)


@pytest.fixture
async def database(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Database]:
    """An empty database: SQLite, or the kind that the test names."""
    sqlite = getattr(request, "param", "sqlite") == "sqlite"
    new_database = open_database(
        sqlite_dsn(tmp_path / "gateway.sqlite3") if sqlite else request.getfixturevalue("postgres_database")
    )
    yield new_database
    await new_database.close()


@pytest.fixture
async def bench(database: Database) -> Bench:
    """A checkout."""
    new_bench = Bench(database, GatewaySettings(late_watch_seconds=1_000, chain_poll_seconds=3600))
    await new_bench.settling.links.prepare()
    await Destinations(database).prepare()
    return new_bench
