"""A Base node that fails at any one call of a settlement: the same proof is served, its price moves once (P-ER-03)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import product

import pytest

from reference.store.settlements import Fate
from tests.reference.rail.base_stack import PRICE, BasePayer, Settler, SimulatedBase, until
from tests.reference.rail.faltering_node import FalteringNode
from tests.reference.rail.rail_answers import refused_otherwise
from tests.reference.rail.rail_stack import Rail
from tests.reference.rail.rail_tables import rows_of, settlements_of

CALLS = [  # in the order in which a settlement makes them
    ("eth_call", 1),
    ("eth_call", 2),
    ("eth_getBlockByNumber", 1),
    ("eth_maxPriorityFeePerGas", 1),
    ("eth_getBalance", 1),
    ("eth_getTransactionCount", 1),
    ("eth_sendRawTransaction", 1),
    ("eth_getTransactionReceipt", 1),
    ("eth_blockNumber", 1),
    ("eth_getBlockByNumber", 2),
]
_READ_BY_HEALTH = "eth_getBlockByNumber"


@pytest.fixture(params=[True, False], ids=["asked at once", "asked one by one"])
def node(base: SimulatedBase, request: pytest.FixtureRequest) -> Iterator[FalteringNode]:
    """A node in front of the simulated one."""
    running = FalteringNode(base.rpc, takes_batches=request.param)
    yield running
    running.stop()


def all_settled(rail: Rail, count: int) -> bool:
    return [one.fate for one in settlements_of(rail)] == [Fate.SETTLED] * count


@pytest.mark.timeout(1200)
def test_a_node_that_fails_at_any_one_call_costs_nobody(
    own_rail: Callable[..., Rail],
    base: SimulatedBase,
    base_payer: BasePayer,
    settler: Settler,
    on_base: dict[str, str],
    node: FalteringNode,
) -> None:
    """Each call of a settlement is failed once unheard and once with its answer lost: 503, then the receipt."""
    # Otherwise a regular health check of the node would fail in place of the call.
    rail = own_rail(**on_base | {"WP_NODE_BASE_MAINNET": node.url, "WP_RAIL_NODE_LOOK_SECONDS": "3600"})
    paid, expected = 0, []
    for (method, time), deaf in product(CALLS, (True, False)):
        # The rail reads the newest block every five seconds beside its checks, and such a call can be the one that
        # fails. It changes nothing, so the failure is tried again; three such meetings in a row would be a fault.
        for attempt in range(3 if method == _READ_BY_HEALTH else 1):
            proof = base_payer.authorize(rail.quote())
            node.fail(method, time, deaf=deaf)
            answer, paid = rail.present(proof), paid + 1
            expected.append(method)
            if answer.status_code != 200 or attempt == 2:
                break
            until(partial(all_settled, rail, paid))
        refused_otherwise(answer, 503, "chain_unavailable")
        assert rail.present(proof).status_code == 200
        # Nothing is on its way any more, so the next failure meets its own settlement.
        until(partial(all_settled, rail, paid))
    assert node.failed == expected
    assert base_payer.usdc == 10**8 - paid * PRICE
    assert len(rows_of(rail)) == base.count_of(settler.address) == paid
