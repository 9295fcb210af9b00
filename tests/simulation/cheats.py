"""Dishonest payers: none of them gets an unpaid answer, and none prevents the answer to an honest payer."""

from __future__ import annotations

import asyncio
import base64
import json
import random
from typing import Any

from tests.simulation.chains import WALLETS, encode_proof, mined_proof
from tests.simulation.gateway import MEMO, Shop, watch
from tests.simulation.payers import PATHS, Market, caip2, pay, redeem, request_quote
from tests.simulation.wire import Answer, NoAnswer

_LATE_SECONDS = 300.0


def _draw_other_request(chance: random.Random) -> tuple[str, str, bytes]:
    body = {"recipient_address": f"screen-allow-{chance.randrange(10**6)}", "network": "base_mainnet"}
    service = "compliance-receipt"
    return service, PATHS[service][0], json.dumps(body).encode()


async def _try(
    market: Market, actor: str, chance: random.Random, path: str, body: bytes, proof: str, *, patience: int = 6
) -> Answer | None:
    """Present a proof until something final is answered; None when nothing ever is."""
    for _ in range(patience):
        try:
            answer = await market.ask(actor, chance, path, body, proof)
        except NoAnswer:
            await asyncio.sleep(chance.uniform(1, 10))
            continue
        retry_after = answer.headers.get("retry-after")
        if retry_after is None:
            return answer
        await asyncio.sleep(float(retry_after))
    return None


async def elsewhere(market: Market, actor: str, chance: random.Random) -> None:
    """Present an honest payer's proof with another request."""
    if not market.payments:
        return
    stolen_payment = chance.choice(market.payments[-5:])
    _, path, body = _draw_other_request(chance)
    answer = await _try(market, actor, chance, path, body, stolen_payment.proof)
    if answer is not None and answer.status == 200:
        market.judge.note_violation("anothers-proof", actor, f"{stolen_payment.actor}'s proof bought another request")


async def foreign(market: Market, actor: str, chance: random.Random) -> None:
    """Name an honest payer's transaction with a token of one's own."""
    if not market.payments:
        return
    stolen_payment = chance.choice(market.payments[-3:])
    path = PATHS[stolen_payment.service][0]
    document = await request_quote(market, actor, chance, path, stolen_payment.body)
    for entry in (document or {"accepts": ()})["accepts"]:
        if entry["network"] == caip2(stolen_payment.network):
            proof = _with_token(stolen_payment.proof, entry["extra"]["payment_reference"])
            answer = await _try(market, actor, chance, path, stolen_payment.body, proof)
            if answer is not None and answer.status == 200:
                market.judge.note_violation(
                    "anothers-proof", actor, f"{stolen_payment.actor}'s transfer bought for another token"
                )


def _with_token(proof: str, token: str) -> str:
    """Return a proof with another token beside the payment."""
    members = json.loads(base64.b64decode(proof))
    return encode_proof({**members, "payment_reference" if "tx_id" in members else "challenge_token": token})


async def race(market: Market, actor: str, chance: random.Random) -> None:
    """Present one payment many times at once; it results in one execution."""
    service, path, body = "compliance-receipt", *_request()
    document = await request_quote(market, actor, chance, path, body)
    if document is None:
        return
    payment = await pay(market, actor, chance, document, service, body, within=0.5)
    if payment is None:
        return
    tries = [_try(market, actor, chance, path, body, payment.proof) for _ in range(chance.randrange(2, 7))]
    for answer in await asyncio.gather(*tries):
        if answer is not None and answer.status == 200:
            market.judge.judge_served(actor, payment.tx_id, payment.token, answer)
    market.payments.append(payment)  # it was paid on quoted terms, so the payer may ask for its answer
    await redeem(market, payment, chance, until=market.now() + 86400)


def _request() -> tuple[str, bytes]:
    path, body = PATHS["compliance-receipt"]
    return path, json.dumps(body).encode()


async def short(market: Market, actor: str, chance: random.Random) -> None:
    """Pay less than was asked."""
    await _amiss(market, actor, chance, less=chance.choice((1, 100, 9_999)), late=0.0)


async def late(market: Market, actor: str, chance: random.Random) -> None:
    """Pay after the time that was given, every tolerance included."""
    await _amiss(market, actor, chance, less=0, late=_LATE_SECONDS)


async def _amiss(market: Market, actor: str, chance: random.Random, *, less: int, late: float) -> None:
    path, body = _request()
    document = await request_quote(market, actor, chance, path, body)
    if document is None or not document["accepts"]:
        return
    entry = chance.choice(document["accepts"])
    [chain] = [one for one in market.rail.chains.values() if caip2(one.network) == entry["network"]]
    if late:
        await asyncio.sleep(entry["maxTimeoutSeconds"] + late)
    bought = await chain.buy(chance.randrange(WALLETS), entry, less=less)
    market.judge.transfers[bought.tx_id] = actor
    answer = await _try(market, actor, chance, path, body, bought.proof, patience=20)
    if answer is not None and answer.status == 200:
        market.judge.note_violation("bought-cheaply", actor, f"{less} too little, {late:.0f} s too late")


async def twice(market: Market, actor: str, chance: random.Random) -> None:
    """Let one transfer carry the welds of two challenges (Solana), and present both."""
    chain: Any = market.rail.chains.get("solana_mainnet")
    path, body = _request()
    documents = [await request_quote(market, actor, chance, path, body) for _ in range(2)]
    entries = [
        entry
        for document in documents
        if document is not None
        for entry in document["accepts"]
        if entry["network"] == caip2("solana_mainnet")
    ]
    if chain is None or len(entries) < 2:
        return
    references = ",".join(entry["extra"]["svm_reference_pubkey"] for entry in entries)
    amount = max(int(entry["amount"]) for entry in entries)
    tx_id = await chain.pay(chance.randrange(WALLETS), entries[0]["payTo"], amount, note="", reference=references)
    market.judge.transfers[tx_id.tx_id] = actor
    proofs = [mined_proof(tx_id.tx_id, entry["extra"]["payment_reference"]) for entry in entries]
    answers = await asyncio.gather(*(_try(market, actor, chance, path, body, proof, patience=20) for proof in proofs))
    for answer in answers:
        if answer is not None and answer.status == 200:
            market.judge.judge_served(actor, tx_id.tx_id, "", answer)


async def pay_call_and_link(market: Market, shop: Shop, actor: str, chance: random.Random) -> None:
    """Let one transfer carry a rail's reference and a link's memo (Solana), where rail and tenant share an address."""
    network = "solana_mainnet"
    path, body = _request()
    document = await request_quote(market, actor, chance, path, body)
    link = await shop.link(actor, chance, network, 3600)
    entries_here = [one for one in (document or {"accepts": ()})["accepts"] if one["network"] == caip2(network)]
    chain: Any = market.rail.chains.get(network)
    if not entries_here or link is None or chain is None or entries_here[0]["payTo"] != chain.payee(0):
        return
    extra = entries_here[0]["extra"]
    amount = max(int(entries_here[0]["amount"]), int(link["amount_microunits"]))
    market.judge.count("paid")
    memo, reference = MEMO(link["token"]), extra["svm_reference_pubkey"]
    tx_id = await chain.pay(chance.randrange(WALLETS), entries_here[0]["payTo"], amount, note=memo, reference=reference)
    market.judge.transfers[tx_id.tx_id] = actor
    proof = mined_proof(tx_id.tx_id, extra["payment_reference"])
    if chance.random() < 0.5:
        await asyncio.sleep(chance.uniform(0, 120))
    answer = await _try(market, actor, chance, path, body, proof, patience=20)
    if answer is not None and answer.status == 200:
        market.judge.judge_served(actor, tx_id.tx_id, "", answer)
    await watch(shop, actor, chance, str(link["token"]), tx_id.tx_id)


__all__ = ["elsewhere", "foreign", "late", "race", "short", "twice"]
