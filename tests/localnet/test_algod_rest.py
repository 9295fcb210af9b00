"""The launcher's own calls to an algod."""

from __future__ import annotations

import aiohttp
import pytest
from algosdk import mnemonic, transaction

from localnet.lanes.algorand import rest
from tests.conformance.lanes.test_full_broadcast_queue import ADDRESS, KEY, algod
from tests.conformance.served import serve


@pytest.mark.parametrize("takes", [True, False])
async def test_a_full_broadcast_queue_is_held_against_the_pool(takes: bool) -> None:
    """A node without a peer says that its queue is full of what it has taken, and puts that into a block."""
    funder = rest.Account.of(mnemonic.from_private_key(KEY))
    with serve(algod(takes=takes)) as node:
        async with aiohttp.ClientSession() as session:
            algorand = rest.Rest(session, node.url, "")

            async def send() -> dict[str, object]:
                return await algorand.send(lambda params: transaction.PaymentTxn(ADDRESS, params, ADDRESS, 0), funder)

            if takes:
                assert (await send())["confirmed-round"] == 202
            else:
                with pytest.raises(rest.NotAnswered, match="broadcast queue full"):
                    await send()
