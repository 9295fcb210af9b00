"""What the x402 package's stock Solana client makes of 402s, and of a rail: JSON in, JSON out, as `stock.mjs`.

It runs in the environment of that package and imports nothing of ours.
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

import httpx
from solders.keypair import Keypair
from x402.client import x402Client
from x402.http.clients.httpx import x402AsyncTransport
from x402.mechanisms.svm.exact.register import register_exact_svm_client
from x402.mechanisms.svm.signers import KeypairSigner
from x402.schemas.helpers import parse_payment_required


class Watched(httpx.AsyncHTTPTransport):
    """httpx's own transport, which also keeps what was answered to each request, and which payment it carried."""

    def __init__(self) -> None:
        super().__init__()
        self.exchanges: list[dict[str, Any]] = []

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Pass a request on."""
        answer = await super().handle_async_request(request)
        payments = {"signature": request.headers.get("PAYMENT-SIGNATURE"), "proof": request.headers.get("X-PAYMENT")}
        body = json.loads(await answer.aread())
        self.exchanges.append({**payments, "status": answer.status_code, "body": body})
        return answer


def client_of(key: str, rpc: str) -> x402Client:
    """Return the stock client, as its documents set it up."""
    return register_exact_svm_client(x402Client(), KeypairSigner(Keypair.from_json(key)), rpc_url=rpc)


async def describe_offer(client: x402Client, offer: dict[str, Any]) -> dict[str, Any]:
    """Return what it makes of an offer."""
    try:
        payload = await client.create_payment_payload(parse_payment_required(offer))
    except Exception as fault:  # noqa: BLE001 - the test judges it
        return {"refused": f"{type(fault).__name__}: {fault}"}
    return {"made": payload.model_dump(by_alias=True, exclude_none=True)}


async def call_paid(client: x402Client, url: str, body: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the exchanges of one call."""
    watched_client = Watched()
    async with httpx.AsyncClient(transport=x402AsyncTransport(client, watched_client), timeout=600) as http:
        await http.post(url, json=body)
    return watched_client.exchanges


async def main() -> None:
    """Answer the question on standard input."""
    question = json.load(sys.stdin)
    rpc = question["node"]["url"]
    client = client_of(question["key"], rpc)
    offers = [await describe_offer(client, one) for one in question["offers"]]
    calls = [
        await call_paid(client_of(one["key"], rpc), question["url"], question["body"]) for one in question["calls"]
    ]
    sys.stdout.write(json.dumps({"offers": offers, "calls": calls}))


asyncio.run(main())
