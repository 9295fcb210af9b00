"""The only node of an Algorand network with ordinary rounds says `broadcast queue full` of what it has taken.

The answers are those of algod v5.1: it puts a transaction into its pool, passes it on, and returns the fault of the
second step. Without a peer nothing leaves its queue, so each transaction after the hundredth is answered so.
"""

from __future__ import annotations

import pytest
from algosdk import account, transaction

from conformance.http.client import Names
from conformance.lanes.algorand.node import AlgorandNode, Refused
from conformance.target import Budgets
from conformance.target.lanes.algorand import AlgorandChain
from tests.conformance.served import Answer, serve

FULL = {"message": "broadcast queue full"}
PARAMS = {
    "consensus-version": "future",
    "fee": 0,
    "genesis-hash": "A" * 43 + "=",
    "genesis-id": "weldproof-v1",
    "last-round": 200,
    "min-fee": 1000,
}
CONFIRMED_INFO = {"pool-error": "", "confirmed-round": 202, "txn": {}}
KEY, ADDRESS = account.generate_account()


def algod(*, takes: bool, message: object = FULL) -> Answer:
    """Answer as a node whose queue is full, and which has the transaction in its pool or has not."""

    def answer(method: str, path: str, *_: object) -> tuple[int, object]:
        if path.startswith("/v2/transactions/params"):
            return 200, PARAMS
        if method == "POST":
            return 400, message
        return (200, CONFIRMED_INFO) if takes else (404, {"message": "could not find the transaction in the pool"})

    return answer


async def sent_by_the_suite(url: str) -> str:
    """Send a payment of nothing as the suite's payers do."""
    node = AlgorandNode(AlgorandChain(algod=url), Budgets(request=5.0, confirmation=5.0), Names())
    try:
        sender = node.account(str(KEY))
        return await node.submit([transaction.PaymentTxn(ADDRESS, await node.params(), ADDRESS, 0)], sender)
    finally:
        await node.close()


async def test_a_transaction_in_the_pool_was_taken() -> None:
    """The answer is held against the pool, so that no payment that lands is reported as refused."""
    with serve(algod(takes=True)) as node:
        assert len(await sent_by_the_suite(node.url)) == 52


@pytest.mark.parametrize(
    ("takes", "message"),
    [(False, FULL), (True, {"message": "overspend"})],
    ids=["it is not in the pool", "another reason"],
)
async def test_any_other_refusal_is_one(takes: bool, message: object) -> None:
    """The words alone are not enough, and neither is the pool."""
    with serve(algod(takes=takes, message=message)) as node, pytest.raises(Refused):
        await sent_by_the_suite(node.url)
