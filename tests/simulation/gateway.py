"""The workers of a gateway with tenants who sell, all paid to one address, and who pays their links."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from reference.gateway.runtime import BackgroundWork, open_gateway
from reference.gateway.settings import GatewaySettings
from reference.protocol.service_word import ServiceWord
from tests.simulation.chains import WALLETS, SendingChain
from tests.simulation.judging import Judge
from tests.simulation.loop import VirtualLoop
from tests.simulation.machines import EPOCH
from tests.simulation.wire import Answer, NoAnswer, call
from tests.simulation.workers import Fleet

MEMO = ServiceWord("Weldproof").memo
_LONGEST_WAIT = 300.0
# A block, and what may stand before it.
_SECONDS_TO_PAY = 15.0
# By how much clocks may differ (WP_SKEW_SECONDS); a larger error of a link's reported end is the service's fault.
_SKEW = 60.0


class Gateway(Fleet):
    """All workers of one gateway, over one database."""

    nap = 1800.0

    def __init__(
        self,
        loop: VirtualLoop,
        seed: str,
        folder: Path,
        chains: dict[str, SendingChain],
        names: tuple[str, ...],
        database: str,
    ) -> None:
        super().__init__(loop, seed, names)
        self._database = database
        self.folder = folder
        self.chains = chains
        self._settings: GatewaySettings | None = None
        self.beside: tuple[BackgroundWork, ...] = ()

    def open_app(self) -> AbstractAsyncContextManager[Any]:
        """Return the application of a worker that starts now."""
        if self._settings is None:
            self._settings = self._read()
        return open_gateway(self._settings, self.beside)

    def _read(self) -> GatewaySettings:
        settings_values: dict[str, Any] = {
            "mode": "test",
            "gateway_data_dir": self.folder,
            "gateway_db": self._database,
            "gateway_public_url": "http://gateway.test",
            "chain_poll_seconds": 20.0,
        }
        return GatewaySettings(**settings_values)


@dataclass(frozen=True, slots=True)
class Seller:
    """A tenant, and the key that his calls carry."""

    tenant: str
    key: str


@dataclass(slots=True)
class Bill:
    """A link that was paid in time, and what became of it."""

    actor: str
    network: str
    token: str
    tx_id: str
    paid: bool = False
    last: str = ""


@dataclass(slots=True)
class Shop:
    """What payers of links share."""

    gateway: Gateway
    judge: Judge
    bills: list[Bill] = field(default_factory=list)
    sellers: list[Seller] = field(default_factory=list)

    async def ask(
        self, actor: str, chance: random.Random, method: str, target: str, body: Any = None, by: Seller | None = None
    ) -> Answer:
        """Return a worker's answer.

        Raises:
            NoAnswer: No worker answered.
        """
        alive = self.gateway.alive()
        if not alive:
            await asyncio.sleep(chance.uniform(0, 1))
            raise NoAnswer("no worker is up")
        worker = chance.choice(alive)
        assert worker.machine is not None
        headers = [(b"content-type", b"application/json")]
        if by is not None:
            headers.append((b"authorization", f"Bearer {by.key}".encode()))
            headers.append((b"x-tenant-id", by.tenant.encode()))
        body_bytes = b"" if body is None else json.dumps(body).encode()
        before, name = self.gateway.loop.time(), worker.name
        try:
            answer = await call(
                self.gateway.loop, worker.machine, worker.app, chance, method=method, target=target, headers=headers,
                body=body_bytes, peer=f"203.0.{sum(actor.encode()) % 256}.{chance.randrange(1, 255)}",
            )  # fmt: skip
        except NoAnswer as fault:
            self.judge.note(actor, name, f"no answer: {fault}")
            raise
        self.judge.note(actor, name, method, answer.status, answer.body)
        self.judge.judge_answer(actor, name, answer, self.gateway.loop.time() - before)
        return answer

    async def open(self, chance: random.Random, names: Sequence[str]) -> None:
        """Make tenants, who are paid where the rail is."""
        for name in names:
            self.sellers.append(await self._open_seller(chance, name))

    async def _open_seller(self, chance: random.Random, name: str) -> Seller:
        tenant = (await self.manage(chance, "POST", "", {"name": name}))["tenant_id"]
        await self.manage(chance, "POST", f"/{tenant}/kyc", {"status": "approved", "plan": "paid"})
        key = (await self.manage(chance, "POST", f"/{tenant}/api-keys", {"mode": "live"}))["api_key"]
        payouts = {key: {"payout_address": chain.payee(0)} for key, chain in self.gateway.chains.items()}
        await self.manage(chance, "PUT", f"/{tenant}/networks", payouts)
        return Seller(tenant, key)

    async def manage(self, chance: random.Random, method: str, path: str, body: Any) -> Mapping[str, Any]:
        """Return what an administrator is answered, whose path begins behind that of all tenants."""
        admin = (self.gateway.folder / "admin_key").read_text("ascii").strip()
        target = f"/internal/tenants{path}"
        answer = await self.ask("operator", chance, method, target, body, Seller("", admin))
        assert answer.status in {200, 201}, answer
        return dict(json.loads(answer.body))

    def seller(self, chance: random.Random) -> Seller:
        """Return one of the tenants."""
        return self.sellers[0] if len(self.sellers) == 1 else chance.choice(self.sellers)

    async def link(
        self, actor: str, chance: random.Random, network: str, seconds: int, *, by: Seller | None = None
    ) -> Mapping[str, Any] | None:
        """Return a new link over five cents, of one of the tenants; None if no worker creates one."""
        by = by or self.seller(chance)
        link_request = {
            "amount": 0.05,
            "currency": "USDC",
            "label": actor,
            "preferred_network": network,
            "expires_in_seconds": seconds,
        }
        for _ in range(3):
            try:
                answer = await self.ask(actor, chance, "POST", "/v1/payment-links", link_request, by)
            except NoAnswer:
                await asyncio.sleep(chance.uniform(1, 20))
                continue
            if answer.status == 201:
                return dict(json.loads(answer.body))
            await asyncio.sleep(float(answer.headers.get("retry-after", "5")))
        return None


async def link_payer(shop: Shop, actor: str, chance: random.Random) -> None:
    """Pay a link within its time, and wait until it says so."""
    network = chance.choice(sorted(shop.gateway.chains))
    seconds = chance.choice((60, 600, 3600, 86400))
    link = await shop.link(actor, chance, network, seconds)
    if link is None:
        return
    skew_seconds = abs(_seconds_left(link, shop.gateway.loop.time()) - seconds)
    if chance.random() < 0.4:
        await asyncio.sleep(chance.uniform(0, 0.7 * seconds))
    # Made by a worker whose clock is a little behind, it ends sooner than was asked for, and says so.
    if skew_seconds <= _SKEW and _seconds_left(link, shop.gateway.loop.time()) < _SECONDS_TO_PAY:
        return
    bill = await pay_link(shop, actor, chance, link, network)
    if chance.random() < 0.4:
        await _verify(shop, chance, bill)
    await follow(shop, chance, bill, seconds=2 * 86400)


def _seconds_left(link: Mapping[str, Any], now: float) -> float:
    """Return for how long a payment of a link still counts, by what the link tells and the right time."""
    return datetime.fromisoformat(link["expires_at"]).timestamp() - EPOCH - now


async def pay_link(shop: Shop, actor: str, chance: random.Random, link: Mapping[str, Any], network: str) -> Bill:
    """Pay a link as it asks to be paid."""
    chain = shop.gateway.chains[network]
    tx_id = await chain.pay(
        chance.randrange(WALLETS), chain.payee(0), int(link["amount_microunits"]), note=MEMO(link["token"])
    )
    shop.judge.note(actor, "paid", tx_id.tx_id)
    shop.judge.count("paid")
    shop.judge.transfers[tx_id.tx_id] = actor
    bill = Bill(actor, network, str(link["token"]), tx_id.tx_id)
    shop.bills.append(bill)
    return bill


async def _verify(shop: Shop, chance: random.Random, bill: Bill) -> None:
    for _ in range(5):
        try:
            answer = await shop.ask(bill.actor, chance, "POST", f"/checkout/{bill.token}/verify", {"tx_id": bill.tx_id})
        except NoAnswer:
            await asyncio.sleep(chance.uniform(1, 30))
            continue
        if answer.status in {200, 409}:
            return
        await asyncio.sleep(float(answer.headers.get("retry-after", "5")))


async def follow(shop: Shop, chance: random.Random, bill: Bill, *, seconds: float) -> None:
    """Ask a link's status until it is paid, or `seconds` are over."""
    ends, wait = shop.gateway.loop.time() + seconds, 2.0
    while not bill.paid and shop.gateway.loop.time() < ends:
        try:
            answer = await shop.ask(bill.actor, chance, "GET", f"/checkout/{bill.token}/status")
        except NoAnswer as fault:
            bill.last = str(fault)
        else:
            document = json.loads(answer.body)
            bill.last = f"{answer.status} {document.get('status', document.get('error'))}"
            if document.get("status") == "paid":
                bill.paid = True
                shop.judge.paid_link(bill.actor, bill.tx_id, str(document.get("tx_id")), bill.token)
                return
            if document.get("status") in {"expired", "cancelled"}:
                if shop.gateway.chains[bill.network].has(bill.tx_id):
                    shop.judge.note_violation("link-refused", bill.actor, bill.last)
                return
        wait = min(wait * 1.5, _LONGEST_WAIT)
        await asyncio.sleep(wait)


async def two_links(shop: Shop, actor: str, chance: random.Random) -> None:
    """Let one transfer carry the memos of two links (Solana)."""
    network = "solana_mainnet"
    links = [await shop.link(actor, chance, network, 3600) for _ in range(2)]
    made_links = [link for link in links if link is not None]
    if len(made_links) < 2:
        return
    chain = shop.gateway.chains[network]
    memos = "\n".join(MEMO(link["token"]) for link in made_links)
    amount = int(made_links[0]["amount_microunits"])
    tx_id = await chain.pay(chance.randrange(WALLETS), chain.payee(0), amount, note=memos)
    shop.judge.transfers[tx_id.tx_id] = actor
    for link in made_links:
        await watch(shop, actor, chance, str(link["token"]), tx_id.tx_id)


async def watch(shop: Shop, actor: str, chance: random.Random, token: str, tx_id: str) -> None:
    """See for a while whether a link is paid, by whatever."""
    for _ in range(8):
        await asyncio.sleep(chance.uniform(10, 60))
        try:
            answer = await shop.ask(actor, chance, "GET", f"/checkout/{token}/status")
        except NoAnswer:
            continue
        document = json.loads(answer.body)
        if document.get("status") == "paid":
            shop.judge.paid_link(actor, tx_id, str(document.get("tx_id")), token)
            return
