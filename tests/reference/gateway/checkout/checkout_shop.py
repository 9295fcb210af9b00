"""A gateway in this process over chains that a test writes; its watcher looks when it is asked to."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from reference.gateway.runtime import BackgroundWork, open_gateway_with_lanes
from reference.gateway.settings import GatewaySettings
from tests.reference.gateway.checkout.scripted_chain import ScriptedChain
from tests.reference.gateway.gateway_stack import PAYOUTS, URL, Gateway, Tenant


@dataclass
class Shop(Gateway):
    """A gateway whose chains a test writes."""

    chains: dict[str, ScriptedChain] = field(default_factory=dict)

    async def get(self, link: dict[str, Any], below: str = "", **options: Any) -> httpx.Response:
        """Read below a link's page."""
        return await self.http.get(f"/checkout/{link['token']}{below}", **options)

    async def post(self, link: dict[str, Any], below: str, body: Any = None, **options: Any) -> httpx.Response:
        """Act on a link."""
        given = {} if body is None else {"json": body}
        return await self.http.post(f"/checkout/{link['token']}{below}", **given, **options)

    async def status(self, link: dict[str, Any]) -> Any:
        """Return a link's status object."""
        answer = await self.get(link, "/status")
        assert answer.status_code == 200, answer.text
        return answer.json()

    def memo(self, link: dict[str, Any]) -> str:
        """Return a link's memo."""
        return f"weldproof:{link['token']}"

    async def on(self, network: str, tenant: Tenant, **members: Any) -> dict[str, Any]:
        """Make a link on a network."""
        return await self.make_link(tenant, preferred_network=network, **members)

    def pass_time(self, seconds: int) -> None:
        """Move the gateway's clock and the chains' blocks on."""
        self.advance(seconds)
        for chain in self.chains.values():
            chain.now += seconds
            chain.mine()


@asynccontextmanager
async def checkout_shop(
    folder: Path, *, now: int, trailing: str = "", beside: Sequence[BackgroundWork] = (), **settings: Any
) -> AsyncIterator[Shop]:
    """Open a shop.

    Args:
        folder: Where its data are.
        now: Time of the chains' newest blocks.
        trailing: A network whose newest block is ten minutes older.
        beside: What runs in its process.
        settings: Settings of the gateway.
    """
    clock_file = folder / "clock"
    clock_file.write_text("0", "ascii")
    settings_of_shop = GatewaySettings(
        **{
            "gateway_data_dir": folder / "data",
            "clock_offset_file": clock_file,
            "rate_limits": False,
            "chain_poll_seconds": 3600,
            **settings,
        }
    )
    chains = {key: ScriptedChain(key, now=now - 600 * (key == trailing)) for key in PAYOUTS}
    async with open_gateway_with_lanes(
        settings_of_shop, {key: chain.lane for key, chain in chains.items()}, beside
    ) as app:
        transport = httpx.ASGITransport(app=app, client=("127.0.0.1", 1))
        async with httpx.AsyncClient(transport=transport, base_url=URL) as http:
            yield Shop(http, settings_of_shop, clock_file, chains=chains)
