"""Asking a node for several things at once: each call gets its own answer, or none of the answers is believed."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any

import aiohttp
import pytest

from reference.lanes.json_rpc import JsonRpc, NodeRefused
from reference.lanes.lane import ChainUnavailable
from reference.lanes.node import Node
from tests.reference.lanes.json_rpc_node import Refusal, RpcNode, serve_node

CALLS: tuple[tuple[Any, ...], ...] = (("one", 1), ("two", "x", {"y": []}), ("three",))


@pytest.fixture
async def rpc_and_node() -> AsyncIterator[tuple[JsonRpc, RpcNode]]:
    """A node that tells each of three methods apart."""
    async with serve_node(RpcNode()) as node, aiohttp.ClientSession() as session:
        node.results = {"one": "1", "two": Refusal("no two", -7), "three": None}
        yield JsonRpc(Node(session, node.url, {})), node


def texts_of(report: list[Any]) -> list[Any]:
    """Results as they are, refusals by their words."""
    return [(one.code, one.message) if isinstance(one, NodeRefused) else one for one in report]


async def test_a_batch_is_one_request(rpc_and_node: tuple[JsonRpc, RpcNode]) -> None:
    """Answers stand in the order of the calls, whatever order the node gave them in; a refusal is its call's own."""
    rpc, node = rpc_and_node
    assert texts_of(await rpc.batch(*CALLS)) == ["1", (-7, "no two"), None]
    assert (node.requests, node.asked) == (1, [("one", [1]), ("two", ["x", {"y": []}]), ("three", [])])


@pytest.mark.parametrize(("code", "requests"), [(-32600, 3), (-32005, 4)], ids=["never", "not now"])
async def test_a_node_that_takes_no_batches_is_asked_one_by_one(
    rpc_and_node: tuple[JsonRpc, RpcNode], code: int, requests: int
) -> None:
    """It refuses the whole with one error; one to which it is no request is not asked so again."""
    rpc, node = rpc_and_node
    node.takes_batches, node.refusal_of_batches = False, code
    assert texts_of(await rpc.batch(*CALLS)) == ["1", (-7, "no two"), None]
    assert node.requests == 4
    assert texts_of(await rpc.batch(*CALLS)) == ["1", (-7, "no two"), None]
    assert node.requests == 4 + requests


async def test_what_a_node_has_no_reason_to_refuse(rpc_and_node: tuple[JsonRpc, RpcNode]) -> None:
    """One refusal among the calls, and the chain counts as away."""
    rpc, _ = rpc_and_node
    assert await rpc.ask_all(CALLS[0], CALLS[2]) == ["1", None]
    with pytest.raises(ChainUnavailable, match="the node refused two: no two"):
        await rpc.ask_all(*CALLS)


def _without_ids(report: list[Any]) -> Any:
    return [{name: value for name, value in one.items() if name != "id"} for one in report]


@pytest.mark.parametrize(
    "arranged",
    [
        lambda told: told[1:],
        lambda told: [*told, told[0]],
        lambda told: [told[0], told[0], told[0]],
        lambda told: [{**told[0], "id": True}, *told[1:]],
        lambda told: [{**told[0], "id": [1]}, *told[1:]],
        lambda told: [{**told[0], "id": told[0]["id"] + 100}, *told[1:]],
        lambda told: [{**told[0], "jsonrpc": "1.0"}, *told[1:]],
        lambda told: [None, *told[1:]],
        lambda told: [{"jsonrpc": "2.0", "id": told[0]["id"]}, *told[1:]],
        lambda told: [{"jsonrpc": "2.0", "id": told[0]["id"], "error": {"code": 1}}, *told[1:]],
        _without_ids,
        lambda told: told[0],
        lambda _: {"error": "busy"},
        lambda _: {},
        lambda _: [],
    ],
)
async def test_a_batch_whose_answers_are_not_one_a_call_is_none(
    rpc_and_node: tuple[JsonRpc, RpcNode], arranged: Callable[[list[Any]], Any]
) -> None:
    """One too few, too many, twice, of another call or of no form at all."""
    rpc, node = rpc_and_node
    assert await rpc.call("three") is None  # so that no call of the batch has the number 1
    node.arranged = arranged
    with pytest.raises(ChainUnavailable):
        await rpc.batch(*CALLS)
