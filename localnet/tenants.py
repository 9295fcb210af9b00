"""The gateway's tenants of a stack: made through its internal API on the first start, kept for later ones."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import orjson

from localnet import stack_secrets
from localnet.processes import ChildFault

NAMES = ("first", "second")
_FILE = "tenants.json"


@dataclass(frozen=True, slots=True)
class Tenant:
    """A tenant that can sell.

    Attributes:
        id: UUID of the tenant.
        key_file: File of the API key that fits its first network.
        payout: Payout address by network key, in the tenant's order.
    """

    id: str
    key_file: Path
    payout: Mapping[str, str]


class Seeding:
    """Makes the two tenants of one gateway: `first` on trial with a test key, `second` approved with a live key.

    A live key reaches main networks only, so `second` has its test key where the stack offers none.
    """

    def __init__(self, session: aiohttp.ClientSession, url: str, data_dir: Path) -> None:
        """Take the gateway's address and its data directory, which holds the admin key and will hold the keys."""
        self._session = session
        self._url = url
        self._folder = data_dir
        key = (data_dir / "admin_key").read_text("ascii").strip()
        self._headers = {"Authorization": f"Bearer {key}"}

    async def tenants(self, payout: Mapping[str, Mapping[str, str]]) -> dict[str, Tenant]:
        """Return both tenants by name, with these payout addresses (by tenant, then network key).

        Raises:
            ChildFault: The gateway refused.
        """
        saved_ids = self._read_saved()
        new_tenants = await asyncio.gather(*(self._tenant(name, saved_ids.get(name), payout[name]) for name in NAMES))
        tenants = dict(zip(NAMES, new_tenants, strict=True))
        (self._folder / _FILE).write_bytes(orjson.dumps({name: one.id for name, one in tenants.items()}))
        return tenants

    async def approve(self, tenant_id: str) -> None:
        """Approve a tenant, so that its trial does not end when a check lets days pass.

        Raises:
            ChildFault: The gateway refused.
        """
        await self._ask("POST", f"/internal/tenants/{tenant_id}/kyc", {"status": "approved"})

    async def destinations(self, tenant_id: str) -> list[dict[str, Any]]:
        """Return the webhook destinations of a tenant, without their secrets.

        Raises:
            ChildFault: The gateway refused.
        """
        destinations = (await self._ask("GET", f"/internal/tenants/{tenant_id}")).get("destinations")
        return list(destinations) if isinstance(destinations, list) else []

    async def add_destination(self, tenant_id: str, url: str, events: Sequence[str]) -> dict[str, Any]:
        """Make a webhook destination and return its id and secret.

        Raises:
            ChildFault: The gateway refused.
        """
        return await self._ask("POST", f"/internal/tenants/{tenant_id}/webhooks", {"url": url, "events": list(events)})

    async def _tenant(self, name: str, saved_id: str | None, payout: Mapping[str, str]) -> Tenant:
        key_file = self._folder / f"tenant_{name}.key"
        if saved_id is None or not key_file.exists() or not await self._exists(saved_id):
            saved_id = await self._create_tenant(name, key_file)
        networks = {network: {"payout_address": address} for network, address in payout.items()}
        await self._ask("PUT", f"/internal/tenants/{saved_id}/networks", networks)
        reaches_main = name != "second" or any(key.endswith("_mainnet") for key in payout)
        return Tenant(saved_id, key_file if reaches_main else _test_key_file(key_file), payout)

    async def _create_tenant(self, name: str, key_file: Path) -> str:
        answer = await self._ask("POST", "/internal/tenants", {"name": name})
        tenant_id = str(answer["tenant_id"])
        if name == "second":
            stack_secrets.write_secret(_test_key_file(key_file), str(answer["api_key"]))
            await self._ask("POST", f"/internal/tenants/{tenant_id}/kyc", {"status": "approved"})
            answer = await self._ask("POST", f"/internal/tenants/{tenant_id}/api-keys", {"mode": "live"})
        stack_secrets.write_secret(key_file, str(answer["api_key"]))
        return tenant_id

    def _read_saved(self) -> Mapping[str, str]:
        path = self._folder / _FILE
        return orjson.loads(path.read_bytes()) if path.exists() else {}

    async def _exists(self, tenant_id: str) -> bool:
        async with self._session.get(f"{self._url}/internal/tenants/{tenant_id}", headers=self._headers) as response:
            return response.status == 200

    async def _ask(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
        async with self._session.request(method, self._url + path, json=body, headers=self._headers) as response:
            answer = await response.json(content_type=None)
        if response.status not in {200, 201} or not isinstance(answer, dict):
            raise ChildFault(f"the gateway answered {response.status} to {method} {path}: {answer}")
        return answer


def _test_key_file(key_file: Path) -> Path:
    return key_file.with_name(f"{key_file.stem}_test.key")
