"""What a chain is made of: blocks, the transactions in them with what came of each, and their events."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from sim.base.transactions import Signed
from sim.base.vm import BlockContext, Log, Outcome, Vm

Operation: TypeAlias = Callable[[Vm], None]


@dataclass(frozen=True, slots=True)
class Mined:
    """A transaction in a block, with what came of it.

    Attributes:
        signed: The transaction.
        outcome: What the EVM made of it.
        block: Number of its block.
        position: Its place in the block.
        first_log: Place of its first event among the block's.
        price: Wei it paid for a unit of gas.
    """

    signed: Signed
    outcome: Outcome
    block: int
    position: int
    first_log: int
    price: int


@dataclass(frozen=True, slots=True)
class Block:
    """One block, with the operations that were done to the state before its transactions."""

    number: int
    time: int
    parent: bytes
    hash: bytes
    base_fee: int
    operations: tuple[Operation, ...]
    mined: tuple[Mined, ...]

    @property
    def gas_used(self) -> int:
        """Gas of all its transactions."""
        return sum(one.outcome.gas_used for one in self.mined)

    @property
    def context(self) -> BlockContext:
        """What code of this block can read about it."""
        return BlockContext(self.number, self.time)


@dataclass(frozen=True, slots=True)
class FoundLog:
    """An event with its place on the chain."""

    log: Log
    index: int
    mined: Mined
    block: Block
