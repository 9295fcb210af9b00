"""One WebSocket connection: answers in order, notifications after their number, nothing of what was unsubscribed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import orjson
import pytest
from solders.pubkey import Pubkey
from solders.token.associated import get_associated_token_address

from sim.solana.sockets import Connection


class Client:
    """The other end of a connection."""

    def __init__(self) -> None:
        self.outgoing: asyncio.Queue[str] = asyncio.Queue()
        self.incoming: asyncio.Queue[Any] = asyncio.Queue()

    async def send(self, text: str) -> None:
        await asyncio.sleep(0)  # as on a socket, others may run before this is through
        await self.incoming.put(orjson.loads(text))

    async def say(self, method: str, *params: Any) -> Any:
        """Make a call and return the next thing that arrives."""
        await self.outgoing.put(orjson.dumps({"jsonrpc": "2.0", "id": 9, "method": method, "params": params}).decode())
        return await self.hear()

    async def hear(self) -> Any:
        """Return the next thing that arrives."""
        return await asyncio.wait_for(self.incoming.get(), 60)


@asynccontextmanager
async def connect(bench: Any) -> AsyncIterator[Client]:
    client = Client()
    serve_task = asyncio.create_task(Connection(bench.chain, client.outgoing.get, client.send).serve())
    try:
        yield client
    finally:
        serve_task.cancel()


@pytest.fixture(name="landed_signature")
def _landed_signature(bench: Any) -> str:
    """The signature of a transaction that is final already."""
    signature: str = bench.send(bench.payment(bench.fund_account(), Pubkey.new_unique(), 5))
    bench.slots(40)
    return signature


async def test_a_notification_comes_after_the_number_of_its_subscription(bench: Any, landed_signature: str) -> None:
    """Even when what is waited for is there already."""
    async with connect(bench) as client:
        assert (await client.say("signatureSubscribe", landed_signature))["result"] == 1
        notification = await client.hear()
        assert (notification["method"], notification["params"]["subscription"]) == ("signatureNotification", 1)
        assert notification["params"]["result"]["value"] == {"err": None}


async def test_nothing_is_told_of_what_was_unsubscribed(bench: Any) -> None:
    """Slots are reported until then; a second time it is an error."""
    async with connect(bench) as client:
        number = (await client.say("slotSubscribe"))["result"]
        bench.slots(1)
        head = bench.chain.head.number
        assert (await client.hear())["params"]["result"] == {"slot": head, "parent": head - 1, "root": head - 32}
        assert (await client.say("slotUnsubscribe", number))["result"] is True
        bench.slots(1)
        assert (await client.say("slotUnsubscribe", number))["error"]["code"] == -32602
        assert (await client.say("getHealth"))["result"] == "ok"


async def test_a_subscription_that_cannot_be_shown_ends_alone(bench: Any) -> None:
    """A token account does not fit into base58; other subscriptions go on."""
    owner = Pubkey.new_unique()
    account = str(get_associated_token_address(owner, bench.usdc))
    async with connect(bench) as client:
        for number, encoding in ((1, "base58"), (2, "base64")):
            options = {"commitment": "processed", "encoding": encoding}
            assert (await client.say("accountSubscribe", account, options))["result"] == number
        await asyncio.to_thread(bench.call, "surfnet_setTokenAccount", str(owner), str(bench.usdc), {"amount": 5})
        bench.slots(1)
        notification = await client.hear()
        assert (notification["params"]["subscription"], notification["params"]["result"]["value"]["space"]) == (2, 165)
        assert (await client.say("accountUnsubscribe", 1))["error"]["code"] == -32602
        assert (await client.say("accountUnsubscribe", 2))["result"] is True


async def test_bytes_that_are_no_call_leave_the_connection_open(bench: Any) -> None:
    """They are answered as over HTTP."""
    async with connect(bench) as client:
        await client.outgoing.put("{")
        assert (await client.hear())["error"]["code"] == -32700
        assert (await client.say("slotsUpdatesSubscribe"))["error"]["code"] == -32601
        assert (await client.say("accountSubscribe", "x"))["error"]["code"] == -32602
        assert (await client.say("getHealth"))["result"] == "ok"
