"""A transaction is taken back by a node whose slots go on while it is asked to."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from conformance.checks.rail.solana.finality import replace_slots
from conformance.lanes.solana.payer import SolanaPayer
from conformance.outcome import Inconclusive


class Node:
    """A chain with one transaction, on which slots pass before each reorganisation."""

    def __init__(self, passing: int) -> None:
        self.head, self.own, self.passing = 1000, 990, passing
        self.node = self

    async def status(self, _: str) -> SimpleNamespace | None:
        return SimpleNamespace(slot=self.own) if self.own else None

    async def slot(self) -> int:
        return self.head

    async def control(self, _: str, *, depth: int) -> dict[str, Any]:
        self.head += self.passing
        if self.head - depth < self.own:
            self.own = 0
        return {}


@pytest.mark.parametrize("passing", [0, 1, 30, 60])
async def test_slots_that_pass_meanwhile_do_not_save_it(passing: int) -> None:
    node = Node(passing)
    await replace_slots(cast("SolanaPayer", node), "x")
    assert not node.own


async def test_a_node_that_keeps_it_leaves_the_row_open() -> None:
    with pytest.raises(Inconclusive, match="still knows"):
        await replace_slots(cast("SolanaPayer", Node(10**6)), "x")
