"""Two tenants of one gateway who are paid to one address: who pays one of them, and who would pay both at once."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Mapping
from typing import Any

from tests.simulation.chains import WALLETS
from tests.simulation.gateway import MEMO, Shop, follow, pay_link, watch
from tests.simulation.wire import NoAnswer

NAMES = ("seller", "neighbour")
_SECONDS = 3600
_TRIES = 6


async def neighbours(shop: Shop, actor: str, chance: random.Random) -> None:
    """Let one transfer be tried at a link of each: with both memos (Solana), or with that of the first alone."""
    first, second = chance.sample(shop.sellers, 2)
    network = chance.choice(sorted(shop.gateway.chains))
    links = [await shop.link(actor, chance, network, _SECONDS, by=by) for by in (first, second)]
    made_links = [link for link in links if link is not None]
    if len(made_links) < len(links):
        return
    if network == "solana_mainnet" and chance.random() < 0.6:
        tx_id = await _pay_with_both_memos(shop, actor, chance, made_links)
        await _try_everywhere(shop, actor, chance, made_links, tx_id)
    else:  # an honest payment of the first, which is then presented to the second
        bill = await pay_link(shop, actor, chance, made_links[0], network)
        await _try_everywhere(shop, actor, chance, made_links, bill.tx_id)
        await follow(shop, chance, bill, seconds=2 * 86_400)


async def _pay_with_both_memos(shop: Shop, actor: str, chance: random.Random, links: list[Mapping[str, Any]]) -> str:
    chain = shop.gateway.chains["solana_mainnet"]
    memos = "\n".join(MEMO(link["token"]) for link in links)
    amount = max(int(link["amount_microunits"]) for link in links)
    tx_id = await chain.pay(chance.randrange(WALLETS), chain.payee(0), amount, note=memos)
    shop.judge.note(actor, "paid", tx_id.tx_id)
    shop.judge.count("paid")
    shop.judge.transfers[tx_id.tx_id] = actor
    return tx_id.tx_id


async def _try_everywhere(
    shop: Shop, actor: str, chance: random.Random, links: list[Mapping[str, Any]], tx_id: str
) -> None:
    """Name the transfer at all links at once, and see which of them is paid."""
    await asyncio.gather(
        *(_try(shop, actor, random.Random(chance.random()), str(link["token"]), tx_id) for link in links)
    )
    for link in links:
        await watch(shop, actor, chance, str(link["token"]), tx_id)


async def _try(shop: Shop, actor: str, chance: random.Random, token: str, tx_id: str) -> None:
    for _ in range(_TRIES):
        try:
            answer = await shop.ask(actor, chance, "POST", f"/checkout/{token}/verify", {"tx_id": tx_id})
        except NoAnswer:
            await asyncio.sleep(chance.uniform(1, 10))
            continue
        if answer.status == 200:
            return
        await asyncio.sleep(float(answer.headers.get("retry-after", "2")))
