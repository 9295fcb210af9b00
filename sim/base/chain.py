"""The chain: a pool, blocks that follow each other, and the state they lead to.

State is what the operations since the genesis make of it. A reorganisation or a restored snapshot therefore builds a
new EVM and runs the kept operations again, which is cheap (a tenth of a millisecond each) and cannot leave a trace.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from coincurve import PrivateKey
from eth_utils.crypto import keccak

from sim.base.pool import Pool
from sim.base.token import NETWORK_TOKENS, genesis_operations
from sim.base.transactions import Signed, address_of
from sim.base.vm import BlockContext, Log, Message, Outcome, Vm
from sim.clock import BlockClock
from sim.faults import Faults

BASE_FEE = 1_000_000
SAFE_BLOCKS, FINALIZED_BLOCKS = 12, 24
BANK_WEI = 10**30
COINBASE = "0x4200000000000000000000000000000000000011"
SUBMISSION_FAULTS = {
    "withhold": "what is submitted next stays in the pool, in no block, until `release` or `advance`",
    "reject_late": "what is submitted next is accepted and then dropped from the pool: it never lands",
    "early_finality": "the node tells of ten blocks that do not exist, so that what is new looks final",
}
_EARLY_BLOCKS = 10

Operation = Callable[[Vm], None]


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


class Chain:
    """One simulated EVM chain. Nothing here does I/O; time comes from the clock that is passed in."""

    def __init__(self, chain_id: int, clock: BlockClock) -> None:
        self.id = chain_id
        self.clock = clock
        self.faults = Faults(SUBMISSION_FAULTS)
        self.token = NETWORK_TOKENS[chain_id]
        self.bank = PrivateKey(hashlib.sha256(f"bank {chain_id}".encode()).digest())
        self.bank_address = address_of(self.bank.public_key)
        self.base_fee = BASE_FEE
        self.lag = 0
        self.pool = Pool()
        self.blocks: list[Block] = []
        self.index: dict[bytes, Mined] = {}
        self.vm = Vm(chain_id)
        self._nonces: dict[str, int] = {}
        self._operations: list[Operation] = []
        self._saved: list[tuple[Block, ...]] = []
        self._forks = 0
        for operation in genesis_operations(self.token, self.bank_address, BANK_WEI):
            self.operate(operation)
        self.seal()

    # What is asked.

    @property
    def head(self) -> Block:
        """The newest block."""
        return self.blocks[-1]

    def told_number(self) -> int:
        """Return the newest block's number as the node tells it: the truth, unless a fault makes it lie."""
        lies = self.faults.take_submission("early_finality")
        return self.head.number + (_EARLY_BLOCKS if lies else 0)

    def nonce(self, address: str) -> int:
        """Return an account's transaction count in blocks."""
        return self._nonces.get(address, 1 if self.vm.code(address) else 0)

    def pending_nonce(self, address: str) -> int:
        """Return an account's next transaction count, with what waits in the pool without a gap."""
        return self.pool.next_nonce(address, self.nonce(address))

    def try_out(self, message: Message, *, pending: bool = False) -> Outcome:
        """Run a call on top of the newest block, or as if in the next one, and undo it."""
        context = BlockContext(self.head.number + 1, self._next_time()) if pending else self.head.context
        return self.vm.try_out(message, context)

    def find_block(self, wanted: bytes) -> Block | None:
        """Return the block of a hash."""
        return next((block for block in reversed(self.blocks) if block.hash == wanted), None)

    def logs(self, first: int, last: int) -> Iterator[FoundLog]:
        """Yield the events of the blocks `first` to `last`, as far as searches know them."""
        for block in self.blocks[max(0, first) : max(0, min(last, self.head.number - self.lag) + 1)]:
            for mined in block.mined:
                for place, log in enumerate(mined.outcome.logs):
                    yield FoundLog(log, mined.first_log + place, mined, block)

    # What is done.

    def operate(self, operation: Operation) -> None:
        """Change the state from outside any transaction; only the genesis and cheat calls do."""
        operation(self.vm)
        self._operations.append(operation)

    def seal(self) -> Block:
        """Make the next block of what the pool holds and can be paid for."""
        context = BlockContext(len(self.blocks), self._next_time())
        mined: list[Mined] = []
        for signed in self.pool.executable(self.base_fee, self.nonce):
            one = self._mine(signed, context, mined)
            if one is not None:
                mined.append(one)
        return self._append(context, tuple(mined))

    def _next_time(self) -> int:
        return max(self.clock.now(), self.blocks[-1].time if self.blocks else 0)

    def _append(self, context: BlockContext, mined: tuple[Mined, ...]) -> Block:
        parent = self.blocks[-1].hash if self.blocks else bytes(32)
        told = f"{self.id}:{self._forks}:{context.number}:{context.time}".encode()
        own = bytes(keccak(told + parent + b"".join(one.signed.hash for one in mined)))
        operations, self._operations = tuple(self._operations), []
        block = Block(context.number, context.time, parent, own, self.base_fee, operations, mined)
        self.blocks.append(block)
        self.index.update({one.signed.hash: one for one in mined})
        return block

    def _mine(self, signed: Signed, context: BlockContext, before: Sequence[Mined]) -> Mined | None:
        price = min(signed.max_fee, self.base_fee + signed.max_tip)
        if self.vm.balance(signed.sender) < signed.gas * signed.max_fee + signed.value:
            return None
        self._nonces[signed.sender] = signed.nonce + 1
        message = Message(signed.sender, signed.to, signed.data, signed.value, signed.gas, signed.nonce)
        outcome = self.vm.run(message, context)
        fee = outcome.gas_used * price
        self.vm.set_balance(signed.sender, self.vm.balance(signed.sender) - fee)
        self.vm.set_balance(COINBASE, self.vm.balance(COINBASE) + fee)
        first_log = sum(len(one.outcome.logs) for one in before)
        return Mined(signed, outcome, context.number, len(before), first_log, price)

    # What is undone.

    def reorganise(self, depth: int) -> list[bytes]:
        """Replace the last blocks by as many empty ones; return the hashes of the transactions that are gone.

        Raises:
            ValueError: There are not so many blocks after the genesis.
        """
        if not 0 < depth < len(self.blocks):
            raise ValueError(f"depth must be 1 to {len(self.blocks) - 1}")
        dropped = self.blocks[-depth:]
        self._forks += 1
        self._rebuild(self.blocks[:-depth])
        for old in dropped:
            self._append(BlockContext(old.number, old.time), ())
        return [mined.signed.hash for block in dropped for mined in block.mined]

    def save(self) -> int:
        """Keep the chain as it is now and return the snapshot's id."""
        self.seal()
        self._saved.append(tuple(self.blocks))
        return len(self._saved) - 1

    def restore(self, number: int) -> None:
        """Return to a snapshot; the pool is dropped.

        Raises:
            ValueError: There is none of that id.
        """
        if not 0 <= number < len(self._saved):
            raise ValueError(f"there is no snapshot {number}")
        self._forks += 1
        self._rebuild(list(self._saved[number]))

    def _rebuild(self, kept: list[Block]) -> None:
        self.vm, self._nonces, self._operations = Vm(self.id), {}, []
        self.pool = Pool()
        self.blocks = []
        self.index = {}
        for block in kept:
            for operation in block.operations:
                operation(self.vm)
            done: list[Mined] = []
            for mined in block.mined:
                again = self._mine(mined.signed, block.context, done)
                assert again is not None  # noqa: S101 - the same operations lead to the same state
                done.append(again)
            self.blocks.append(block)
            self.index.update({one.signed.hash: one for one in block.mined})


@dataclass(slots=True)
class Miner:
    """Seals a block every so often."""

    chain: Chain
    seconds: float
    _task: asyncio.Task[None] | None = field(default=None)

    async def run(self) -> None:
        """Seal blocks for ever."""
        while True:
            await asyncio.sleep(self.seconds)
            self.chain.seal()
