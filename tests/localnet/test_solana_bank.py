"""The bank of a Solana node on this machine: its transactions land once, however slow the machine is.

The node is a simulated one. Its chain outlives a blockhash between the question for it and the transaction.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import aiohttp
import pytest
from solders.keypair import Keypair

from localnet.lanes.solana.control_verbs import SolanaVerbs
from localnet.rpc import NodeFault, Rpc
from tests import prepared


class Busy(Rpc):
    """A node on a busy machine: so many transactions reach it after their blockhash has lapsed."""

    late = 0
    submission_count = 0

    async def ask(self, method: str, *params: Any) -> Any:
        """Return the result of a call; see `Rpc.ask`."""
        if method == "sendTransaction":
            self.submission_count += 1
            if self.submission_count <= self.late:
                verb = {"verb": "advance", "blocks": 500}
                async with self._session.post(f"{self.url}/control", json=verb) as answer:
                    assert answer.status == 200
        return await super().ask(method, *params)


@pytest.fixture(scope="module")
def node() -> Iterator[str]:
    """A simulated node whose blockhashes are good for 400 slots; its address."""
    options = ["--port", "0", "--ws-port", "0", "--slot-seconds", "0.05", "--blockhash-seconds", "20"]
    with prepared.run_ready("sim.solana", *options) as ready:
        yield str(ready["rpc"])


async def test_a_transaction_that_came_too_late_is_signed_again(node: str) -> None:
    """The receiver has the amount once, after two transactions that never land."""
    async with aiohttp.ClientSession() as session:
        rpc = Busy(session, node)
        verbs, receiver = SolanaVerbs(rpc, Keypair()), str(Keypair().pubkey())
        await verbs.prepare()
        rpc.late = 2
        fund_answer = await verbs.fund({"address": receiver, "amount": "1000000"})
        assert rpc.submission_count == 3
        balance = await rpc.ask("getBalance", receiver, {"commitment": "confirmed"})
        assert balance["value"] == 1_000_000
        assert (await rpc.ask("getSignatureStatuses", [fund_answer["tx_id"]]))["value"][0]["err"] is None


async def test_a_node_that_is_always_too_late_is_given_up(node: str) -> None:
    """After five signatures the node's refusal is raised."""
    async with aiohttp.ClientSession() as session:
        rpc = Busy(session, node)
        verbs = SolanaVerbs(rpc, Keypair())
        await verbs.prepare()
        rpc.late = 100
        with pytest.raises(NodeFault, match="Blockhash not found"):
            await verbs.fund({"address": str(Keypair().pubkey()), "amount": "1000000"})
        assert rpc.submission_count == 5
