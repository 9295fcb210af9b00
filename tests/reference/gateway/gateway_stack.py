"""The fixture of the gateway's tests: a gateway in this process, over lanes whose nodes are not needed."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
import httpx

from reference.gateway.runtime import open_gateway_with_lanes
from reference.gateway.settings import GatewaySettings
from reference.lanes.descriptor import LaneRules, NodeSettings
from reference.lanes.lane import Lane
from reference.lanes.registry import open_lane
from reference.protocol.networks import NETWORKS
from reference.protocol.service_word import ServiceWord

URL = "http://localhost:8090"
NOWHERE = "http://127.0.0.1:9"
ALGORAND = "M7BIWHNLPKM2O6L4Y6NWB2ZSQHXO5IOQXT5N47SGBIDETCDMVNBZ22UA2E"
EVM = "0x" + "1" * 40
SOLANA = "7z33nfcNTESK4QydVVJLquYvNfhxPCK8PQizzcu2FkUS"
PAYOUTS = {
    "algorand_testnet": ALGORAND,
    "base_sepolia": EVM,
    "solana_devnet": SOLANA,
    "algorand_mainnet": ALGORAND,
    "base_mainnet": EVM,
}
LINK: dict[str, Any] = {"amount": 8.41, "currency": "USD", "label": "Order 1"}
LINKS, RESOURCES, VERIFY, SCREEN = "/v1/payment-links", "/v1/resources", "/v1/receipt/verify", "/compliance/screen"


@dataclass(frozen=True)
class Tenant:
    """A tenant and the key it was made with."""

    id: str
    key: str

    def headers(self, **further: str) -> dict[str, str]:
        """Return its credentials."""
        names = {name.replace("_", "-"): value for name, value in further.items()}
        return {"Authorization": f"Bearer {self.key}", "X-Tenant-Id": self.id, **names}


@dataclass
class Gateway:
    """A gateway that is open.

    Attributes:
        http: Calls it.
        settings: Its settings.
        clock_file: Moves its clock.
    """

    http: httpx.AsyncClient
    settings: GatewaySettings
    clock_file: Path
    moved: float = field(default=0)

    @property
    def admin_key(self) -> str:
        """The first administrator's key."""
        return self.settings.admin_key_file.read_text("ascii")

    def advance(self, seconds: float) -> None:
        """Move its clock on."""
        self.moved += seconds
        self.clock_file.write_text(str(self.moved), "ascii")

    async def internal(self, method: str, path: str, body: Any = None, *, status: int = 200) -> Any:
        """Carry out one call as an administrator and return its answer."""
        headers = {"Authorization": f"Bearer {self.admin_key}"}
        answer = await self.http.request(method, f"/internal/tenants{path}", json=body, headers=headers)
        assert status == answer.status_code, answer.text
        return answer.json() if answer.content else None

    async def tenant(self, *networks: str, kyc: str = "", plan: str = "trial", mode: str = "test") -> Tenant:
        """Make a tenant with payout addresses and a key of a mode."""
        answer = await self.internal("POST", "", {"name": "shop"}, status=201)
        tenant_id, key = answer["tenant_id"], answer["api_key"]
        body = {network: {"payout_address": PAYOUTS[network]} for network in networks or PAYOUTS}
        await self.internal("PUT", f"/{tenant_id}/networks", body)
        if kyc:
            await self.internal("POST", f"/{tenant_id}/kyc", {"status": kyc, "plan": plan})
        if mode == "live":
            key = (await self.internal("POST", f"/{tenant_id}/api-keys", {"mode": "live"}, status=201))["api_key"]
        return Tenant(tenant_id, key)

    async def link(self, tenant: Tenant, **members: Any) -> httpx.Response:
        """Ask for a link; headers by `headers=`."""
        headers = tenant.headers(**members.pop("headers", {}))
        return await self.http.post(LINKS, json={**LINK, **members}, headers=headers)

    async def make_link(self, tenant: Tenant, **members: Any) -> dict[str, Any]:
        """Make a link and return it."""
        answer = await self.link(tenant, **members)
        assert answer.status_code == 201, answer.text
        return dict(answer.json())


@asynccontextmanager
async def gateway(folder: Path, *, data: str = "data", **settings: Any) -> AsyncIterator[Gateway]:
    """Open a gateway; limits are off unless `rate_limits=True`."""
    folder.mkdir(exist_ok=True)
    clock_file = folder / "clock"
    clock_file.write_text("0", "ascii")
    settings_of_shop = GatewaySettings(
        **{
            "gateway_data_dir": folder / data,
            "clock_offset_file": clock_file,
            "rate_limits": False,
            "chain_poll_seconds": 3600,
            **settings,
        }
    )
    async with aiohttp.ClientSession() as session, open_gateway_with_lanes(settings_of_shop, _lanes(session)) as app:
        transport = httpx.ASGITransport(app=app, client=("127.0.0.1", 1))
        async with httpx.AsyncClient(transport=transport, base_url=URL) as http:
            yield Gateway(http, settings_of_shop, clock_file)


def _lanes(session: aiohttp.ClientSession) -> Mapping[str, Lane]:
    rules = LaneRules(ServiceWord())
    lanes = {key: open_lane(session, NETWORKS[key], NodeSettings(NOWHERE, NOWHERE), rules) for key in PAYOUTS}
    return {key: lane for key, lane in lanes.items() if lane is not None}


def expect_refusal(answer: httpx.Response, status: int, code: str, **context: Any) -> None:
    """Check a refusal: the envelope, the request id twice, and context members."""
    body = answer.json()
    assert (status, code) == (answer.status_code, body["error"]), answer.text
    assert body["message"]
    assert body["request_id"] == answer.headers["X-Request-Id"]
    assert context == {name: body.get(name) for name in context}
