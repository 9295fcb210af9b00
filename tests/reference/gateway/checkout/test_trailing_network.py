"""A network whose newest block is too old: its links ask for no money, and what arrives counts (P-CK-05)."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from selectolax.lexbor import LexborHTMLParser

from reference.gateway.network_recency import NetworkRecency
from reference.lanes.lane import ChainUnavailable
from reference.lanes.payment_search import Head
from tests.reference.gateway.checkout.checkout_shop import Shop, checkout_shop
from tests.reference.gateway.gateway_stack import PAYOUTS

NETWORKS = ("algorand_testnet", "base_sepolia", "solana_devnet")


def read_page(html: str) -> tuple[str, bool]:
    """Return the word of a page's state, and whether the page says where to pay."""
    page = LexborHTMLParser(html)
    state = page.css_first("#state")
    assert state is not None
    return state.text().strip(), page.css_first("#addr") is not None or page.css_first("#qr") is not None


async def until_payable(shop: Shop, link: dict[str, Any]) -> None:
    for _ in range(1200):
        if "payable" not in await shop.status(link):
            return
        await asyncio.sleep(0.05)
    raise AssertionError("the link cannot be paid again")


@pytest.mark.parametrize("network", NETWORKS)
async def test_a_link_cannot_be_paid_while_its_network_trails(tmp_path: Path, network: str) -> None:
    """Page, status, QR code and health say so; when the network is current again, so is the link."""
    async with checkout_shop(tmp_path, now=int(time.time()), trailing=network) as shop:
        link = await shop.on(network, await shop.tenant())
        assert read_page((await shop.get(link)).text) == ("Waiting for the network", False)
        assert PAYOUTS[network] not in (await shop.get(link)).text
        status = await shop.status(link)
        assert (status["status"], status["payable"]) == ("active", False)
        assert "too old" in status["payable_reason"]
        assert (await shop.get(link, "/qr")).status_code == 404
        health = (await shop.http.get("/health")).json()
        assert health["status"] == "degraded"
        assert any(one.startswith(f"{network}: its newest block is ") for one in health["faults"])
        shop.chains[network].now = int(time.time())
        await until_payable(shop, link)
        assert await shop.status(link) == {"status": "active", "redirect_url": None, "tx_id": None}
        assert read_page((await shop.get(link)).text) == ("Waiting for payment", True)


async def test_a_payment_that_is_made_nevertheless_pays(tmp_path: Path) -> None:
    """The rule asks for no money; it does not refuse any."""
    network = "algorand_testnet"
    async with checkout_shop(tmp_path, now=int(time.time()), trailing=network) as shop:
        link = await shop.on(network, await shop.tenant())
        tx_id = shop.chains[network].pay(1, shop.memo(link))
        answer = await shop.post(link, "/verify", {"tx_id": tx_id})
        assert (answer.status_code, answer.json()["status"]) == (200, "paid")
        assert read_page((await shop.get(link)).text) == ("Paid", False)
        assert "payable" not in await shop.status(link)


async def test_the_rule_can_be_switched_off(tmp_path: Path) -> None:
    """For chains that make a block, of the present time, only for a transaction."""
    network = "base_sepolia"
    async with checkout_shop(tmp_path, now=int(time.time()), trailing=network, gateway_node_behind_seconds=0) as shop:
        link = await shop.on(network, await shop.tenant())
        assert read_page((await shop.get(link)).text) == ("Waiting for payment", True)
        assert (await shop.http.get("/health")).json() == {"status": "ok"}


@dataclass
class Node:
    """A node by its answers."""

    time: int | None = 0
    answers: bool = True
    looks: int = 0

    @property
    def finder(self) -> Node:
        return self

    async def read_head(self) -> Head:
        self.looks += 1
        if not self.answers:
            raise ChainUnavailable("refused")
        return Head(1, 1, self.time)


async def test_ordinary_delays_are_no_trailing() -> None:
    """Neither is a time that is not known; a node that stops answering trails when its last block is too old."""
    now = SimpleNamespace(wall=1000.0, monotonic=0.0)
    node, lanes = Node(time=None), dict[str, Any]()
    recency = NetworkRecency(lanes, 60, monotonic=lambda: now.monotonic, wall=lambda: now.wall)
    lanes["solana_mainnet"] = node

    async def pass_time(seconds: float) -> bool:
        now.wall, now.monotonic = now.wall + seconds, now.monotonic + seconds
        await recency.refresh()
        return recency.trails("solana_mainnet")

    assert not await pass_time(100)
    node.time = 1099
    assert not await pass_time(30)
    node.answers = False
    assert not await pass_time(20)
    assert await pass_time(20)
    assert len(recency.faults()) == 1
    looks = node.looks
    node.answers, node.time = True, int(now.wall)
    assert not await pass_time(1)
    assert node.looks == looks + 1
    assert not await pass_time(1)
    assert node.looks == looks + 1
