"""Payers of the rail: honest ones, who do what the answers say, and others."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from tests.simulation.chains import WALLETS
from tests.simulation.judging import Judge
from tests.simulation.rail import Rail
from tests.simulation.wire import Answer, NoAnswer, call
from tests.simulation.workers import Worker

PATHS = {
    "receipt-verify": ("/pay/v1/verify/receipt", {"jws": "e30.e30.AA"}),
    "compliance-receipt": (
        "/pay/v1/compliance/receipt",
        {"recipient_address": "screen-allow", "network": "algorand_mainnet"},
    ),
}
RETRYABLE = frozenset({"tx_not_found", "tx_not_confirmed"})
STORED_SECONDS = 86400
_LONGEST_WAIT = 300.0
_CLOCKS_DIFFER = 180.0
# A payer that stops asking while no worker answers may return too late, which is its own fault.
_PATIENCE = 30 * 86400


@dataclass(slots=True)
class Payment:
    """One honest payment and what became of it.

    Attributes:
        actor: Who paid.
        service: What was bought.
        body: The request that it was quoted for.
        network: On which lane.
        proof: What is presented, as the header's value.
        tx_id: The transaction.
        paid: When its block came.
        answer: What was served, first.
        served_at: When.
        last: The last answer, for the record.
        refused: The last answer, where it was for good.
        given_back: Whether its operator has given it back.
    """

    actor: str
    service: str
    body: bytes
    network: str
    proof: str
    tx_id: str
    paid: float
    token: str
    answer: Answer | None = None
    served_at: float = 0.0
    last: str = ""
    refused: str = ""
    given_back: bool = False


@dataclass(slots=True)
class Market:
    """What payers share: the rail, the judge, and the payments made so far."""

    rail: Rail
    judge: Judge
    payments: list[Payment] = field(default_factory=list)

    def now(self) -> float:
        """Return the virtual time."""
        return self.rail.loop.time()

    async def ask(
        self,
        actor: str,
        chance: random.Random,
        path: str,
        body: bytes,
        proof: str = "",
        *,
        worker: Worker | None = None,
    ) -> Answer:
        """Return a worker's answer; a balancer, which only knows the running workers, chooses the worker.

        Raises:
            NoAnswer: No worker answered.
        """
        alive = self.rail.alive()
        chosen_worker = worker if worker is not None and worker in alive else (chance.choice(alive) if alive else None)
        if chosen_worker is None or chosen_worker.machine is None:
            await asyncio.sleep(chance.uniform(0, 1))
            raise NoAnswer("no worker is up")
        headers = [(b"content-type", b"application/json")]
        if proof:
            headers.append((b"x-payment", proof.encode()))
        name, life = chosen_worker.name, chosen_worker.machine
        before = self.now()
        try:
            answer = await call(
                self.rail.loop, life, chosen_worker.app, chance, method="POST", target=path, headers=headers, body=body,
                peer=f"198.51.{sum(actor.encode()) % 256}.{chance.randrange(1, 255)}",
            )  # fmt: skip
        except NoAnswer as fault:
            self.judge.note(actor, name, f"no answer: {fault}")
            raise
        self.judge.note(actor, name, answer.status, answer.headers, answer.body)
        self.judge.judge_answer(actor, name, answer, self.now() - before)
        return answer


def error_of(answer: Answer) -> str:
    """Return the code of a refusal."""
    try:
        document: Mapping[str, Any] = json.loads(answer.body)
    except ValueError:
        return ""
    return str(document.get("error", ""))


async def request_quote(
    market: Market, actor: str, chance: random.Random, path: str, body: bytes
) -> Mapping[str, Any] | None:
    """Return a 402's document, or None if no worker returns one."""
    for _ in range(3):
        try:
            answer = await market.ask(actor, chance, path, body)
        except NoAnswer:
            await asyncio.sleep(chance.uniform(1, 30))
            continue
        if answer.status == 402:
            document: Mapping[str, Any] = json.loads(answer.body)
            return document
        await asyncio.sleep(float(answer.headers.get("retry-after", "5")))
    return None


def order(chance: random.Random) -> tuple[str, str, bytes]:
    """Return a service, its path and a request of it."""
    service = chance.choice(sorted(PATHS))
    path, body = PATHS[service]
    return service, path, json.dumps(body).encode()


async def honest(market: Market, actor: str, chance: random.Random) -> None:
    """Read a 402, pay within its time, present, obey, and come again for the stored answer."""
    service, path, body = order(chance)
    document = await request_quote(market, actor, chance, path, body)
    if document is None:
        return
    payment = await pay(market, actor, chance, document, service, body, within=0.9)
    if payment is None:
        return
    market.payments.append(payment)
    await asyncio.sleep(chance.choice((0.0, 0.5, 3.0, 30.0)))
    await redeem(market, payment, chance, until=market.now() + _PATIENCE)
    while payment.answer is not None and market.now() < payment.served_at + STORED_SECONDS - _CLOCKS_DIFFER:
        await asyncio.sleep(chance.choice((1.0, 60.0, 3600.0, 6 * 3600.0, 20 * 3600.0)))
        await again(market, payment, chance)
        if chance.random() < 0.5:
            return


async def pay(
    market: Market,
    actor: str,
    chance: random.Random,
    document: Mapping[str, Any],
    service: str,
    body: bytes,
    *,
    within: float,
) -> Payment | None:
    """Pay a challenge on one of its lanes, after a part of its time."""
    entries = {one["network"]: one for one in document["accepts"]}
    offered_chains = [one for one in market.rail.chains.values() if caip2(one.network) in entries]
    if not offered_chains:
        return None
    chain = chance.choice(offered_chains)
    entry = entries[caip2(chain.network)]
    if chance.random() < 0.3:
        await asyncio.sleep(chance.uniform(0, within * entry["maxTimeoutSeconds"]))
    bought = await chain.buy(chance.randrange(WALLETS), entry)
    market.judge.note(actor, "paid", bought.tx_id)
    market.judge.count("paid")
    market.judge.transfers[bought.tx_id] = actor
    token = entry["extra"]["payment_reference"]
    return Payment(actor, service, body, chain.network, bought.proof, bought.tx_id, bought.at, token)


def caip2(network: str) -> str:
    """Return a network's x402 name."""
    from reference.protocol.networks import NETWORKS

    return NETWORKS[network].caip2


async def redeem(market: Market, payment: Payment, chance: random.Random, *, until: float) -> None:
    """Present a payment until it is served, is refused for good, or `until` is over; wait as `Retry-After` says."""
    wait = 1.0
    while payment.answer is None and market.now() < until:
        try:
            answer = await market.ask(payment.actor, chance, PATHS[payment.service][0], payment.body, payment.proof)
        except NoAnswer as fault:
            payment.last = f"no answer: {fault}"
            wait = min(wait * 2, _LONGEST_WAIT)
            await asyncio.sleep(wait)
            continue
        code = error_of(answer)
        payment.last = f"{answer.status} {code}"
        if answer.status == 200:
            payment.answer, payment.served_at = answer, market.now()
            market.judge.judge_served(payment.actor, payment.tx_id, payment.token, answer)
            return
        retry_after = answer.headers.get("retry-after")
        final = answer.status in {400, 402, 404, 409, 422} and retry_after is None and code not in RETRYABLE
        if code == "payment_refunded" and payment.tx_id in market.judge.given_back:
            payment.given_back = True
            return
        if final:
            payment.refused = payment.last
            if not market.rail.chains[payment.network].has(payment.tx_id):
                return  # no money moved, or the chain has undone it: there is no payment
            market.judge.refused_for_good(payment.actor, payment.last)
            return
        wait = min(wait * 2, _LONGEST_WAIT)
        await asyncio.sleep(max(float(retry_after or 0), min(wait, 120.0)))


async def struck(market: Market, actor: str, chance: random.Random) -> None:
    """Pay, present it to a worker that dies of one of its next commits, and come again until it is served."""
    service = "compliance-receipt"
    path, request_body = PATHS[service]
    body = json.dumps(request_body).encode()
    document = await request_quote(market, actor, chance, path, body)
    payment = document and await pay(market, actor, chance, document, service, body, within=0.5)
    if not payment:
        return
    market.payments.append(payment)
    await asyncio.sleep(chance.uniform(0, 60))
    worker = chance.choice(sorted(market.rail.workers.values(), key=lambda one: one.name))
    if worker.machine is not None:
        worker.machine.kill_after(commits=chance.randrange(1, 5))
        with suppress(NoAnswer):
            await market.ask(actor, chance, path, body, payment.proof, worker=worker)
        worker.machine.kill()
    await asyncio.sleep(chance.uniform(1, 60))
    await worker.start()
    await redeem(market, payment, chance, until=market.now() + 600)


async def again(market: Market, payment: Payment, chance: random.Random) -> None:
    """Ask for a stored answer once more; it is the same, byte for byte."""
    if payment.answer is None or market.now() > payment.served_at + STORED_SECONDS - _CLOCKS_DIFFER:
        return
    for _ in range(5):
        try:
            answer = await market.ask(payment.actor, chance, PATHS[payment.service][0], payment.body, payment.proof)
        except NoAnswer:
            await asyncio.sleep(chance.uniform(1, 60))
            continue
        retry_after = answer.headers.get("retry-after")
        if answer.status == 429 or error_of(answer) == "payment_in_progress":
            await asyncio.sleep(float(retry_after or 1))
            continue
        market.judge.judge_repeat(payment.actor, payment.answer, answer)
        return
