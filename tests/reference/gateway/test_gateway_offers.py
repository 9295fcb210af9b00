"""Live networks are offered once their node was seen to be of them (P-NW-06)."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, cast

import httpx
import pytest

from reference.gateway import runtime
from reference.gateway.settings import GatewaySettings
from reference.lanes.lane import ChainUnavailable, Lane
from tests.reference.gateway.checkout.scripted_chain import ScriptedChain, ScriptedLane
from tests.reference.gateway.gateway_stack import PAYOUTS, URL

NETWORK = "algorand_mainnet"


class Node(ScriptedLane):
    """A node that is away at first."""

    def __init__(self, *, is_right: bool) -> None:
        super().__init__(ScriptedChain(NETWORK))
        self.is_right = is_right
        self.away = True
        self.checks = 0

    async def check_node(self) -> bool:
        self.checks += 1
        if self.away:
            raise ChainUnavailable("away")
        return self.is_right


@pytest.mark.parametrize(("is_right", "expected"), [(True, 200), (False, 400)])
async def test_a_network_whose_node_comes_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, is_right: bool, expected: int
) -> None:
    """Until its node answers a network is refused; then it is offered if the node is of it, without a restart."""
    node = Node(is_right=is_right)
    monkeypatch.setenv(f"WP_NODE_{NETWORK.upper()}", "http://127.0.0.1:9")
    monkeypatch.setattr(runtime, "open_lane", lambda *_: cast("Lane", node))
    monkeypatch.setattr(runtime, "_CHECK_SECONDS", 0.01)
    settings = GatewaySettings(mode="live", gateway_data_dir=tmp_path, chain_poll_seconds=0.01)
    async with runtime.open_gateway(settings) as app:
        key = settings.admin_key_file.read_text("ascii")
        transport = httpx.ASGITransport(app=cast("Any", app), client=("127.0.0.1", 1))
        headers = {"Authorization": f"Bearer {key}"}
        async with httpx.AsyncClient(transport=transport, base_url=URL, headers=headers) as http:
            answer = (await http.post("/internal/tenants", json={"name": "shop"})).json()["tenant_id"]

            async def put_network() -> int:
                body = {NETWORK: {"payout_address": PAYOUTS[NETWORK]}}
                return (await http.put(f"/internal/tenants/{answer}/networks", json=body)).status_code

            assert await put_network() == 400
            node.away, seen = False, node.checks
            async with asyncio.timeout(120):
                while node.checks == seen or (is_right and await put_network() == 400):  # noqa: ASYNC110 - asked from outside
                    await asyncio.sleep(0.01)
            assert await put_network() == expected
