"""web3.py over the suite's own session: a request that is given up disturbs no other."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from typing import Any

import pytest

from conformance.http.client import Names
from conformance.lanes.base.node import BaseNode
from conformance.outcome import Inconclusive
from conformance.target import Budgets
from conformance.target.lanes.base import BaseChain
from tests.conformance.served import serve

_LONG = 300.0
_GIVEN_UP = """
import asyncio, sys
from conformance.http.client import Names
from conformance.lanes.base.node import BaseNode
from conformance.target import Budgets
from conformance.target.lanes.base import BaseChain

async def main() -> None:
    node = BaseNode(BaseChain(network="base_mainnet", rpc=sys.argv[1]), Budgets(request=250), Names())
    for _ in range(20):
        tasks = [asyncio.create_task(node.chain_id()) for _ in range(40)]
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    print(await node.chain_id())
    await node.close()

asyncio.run(main())
"""


def _answer(_: str, __: str, ___: Any, body: bytes) -> tuple[int, Any]:
    return 200, {"jsonrpc": "2.0", "id": 0, "result": "0x2105"} if body else {}


def test_requests_that_are_given_up_hold_nobody_up() -> None:
    """Hundreds of requests are cancelled at once; the next is answered, and the program ends."""
    with serve(_answer) as node:
        result = subprocess.run(
            [sys.executable, "-c", _GIVEN_UP, node.url], capture_output=True, text=True, check=False, timeout=_LONG
        )
    assert (result.returncode, result.stdout) == (0, "8453\n"), result.stderr


@pytest.mark.parametrize(
    ("status", "value", "says"),
    [
        (500, {}, "ClientResponseError"),
        (200, "no object", "could not be asked"),
        (200, {"jsonrpc": "2.0", "id": 0, "error": {"code": -32601, "message": "no such method"}}, "no such method"),
    ],
)
async def test_what_is_no_answer_of_a_node_decides_nothing(status: int, value: Any, says: str) -> None:
    """Another status, another body or an error is reported as trouble of the node."""
    with serve(lambda *_: (status, value)) as address:
        node = BaseNode(BaseChain(network="base_mainnet", rpc=address.url), Budgets(request=_LONG), Names())
        with pytest.raises(Inconclusive, match=says):
            await asyncio.wait_for(node.chain_id(), _LONG)
        await node.close()


async def test_a_node_is_asked_for_its_chain_id_once() -> None:
    """web3 wants it before each call that it checks, and a chain has one."""
    methods: list[str] = []

    def answer(_: str, __: str, ___: Any, body: bytes) -> tuple[int, Any]:
        methods.append(json.loads(body)["method"])
        return 200, {"jsonrpc": "2.0", "id": 0, "result": "0x2105"}

    with serve(answer) as address:
        node = BaseNode(BaseChain(network="base_mainnet", rpc=address.url), Budgets(request=_LONG), Names())
        assert [await node.chain_id() for _ in range(3)] == [8453] * 3
        call: Any = {"to": "0x" + "11" * 20, "chainId": 8453}
        assert [await node.web3.eth.estimate_gas(call) for _ in range(2)] == [8453] * 2
        await node.close()
    assert methods == ["eth_chainId", "eth_estimateGas", "eth_estimateGas"]


async def test_an_error_in_place_of_a_chain_id_is_not_kept() -> None:
    """A node that was troubled is asked again."""
    answers: list[Any] = [{"error": {"code": -32000, "message": "later"}}, {"result": "0x2105"}]

    with serve(lambda *_: (200, {"jsonrpc": "2.0", "id": 0, **answers.pop(0)})) as address:
        node = BaseNode(BaseChain(network="base_mainnet", rpc=address.url), Budgets(request=_LONG), Names())
        with pytest.raises(Inconclusive, match="later"):
            await node.chain_id()
        assert await node.chain_id() == 8453
        await node.close()
