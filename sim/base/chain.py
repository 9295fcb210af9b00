"""The chain: a pool, blocks that follow each other, and the state they lead to.

State is what the operations since the genesis make of it. A reorganisation or a restored snapshot therefore builds a
new EVM and runs the kept operations again, which is cheap (a tenth of a millisecond each) and cannot leave a trace.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field

from coincurve import PrivateKey
from eth_utils.crypto import keccak

from sim.base.block_records import Block, FoundLog, Mined, Operation
from sim.base.pool import Pool
from sim.base.state import State
from sim.base.token import NETWORK_TOKENS, genesis_operations
from sim.base.transactions import address_of
from sim.base.vm import BlockContext, Message, Outcome, Vm
from sim.clock import BlockClock
from sim.faults import Faults

BASE_FEE = 1_000_000
SAFE_BLOCKS, FINALIZED_BLOCKS = 12, 24
BANK_WEI = 10**30
SUBMISSION_FAULTS = {
    "withhold": "what is submitted next stays in the pool, in no block, until `release` or `advance`",
    "reject_late": "what is submitted next is accepted and then dropped from the pool: it never lands",
    "early_finality": "the node reports ten blocks that do not exist, so that what is new looks final",
}
_EARLY_BLOCKS = 10


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
        self._state = State(chain_id)
        self._past: tuple[bytes, State] | None = None
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

    @property
    def vm(self) -> Vm:
        """The state that the newest block and cheat calls after it lead to."""
        return self._state.vm

    def state_at(self, block: Block) -> State:
        """Return the state that a block of this chain led to; an older one is made by doing its past again."""
        if block is self.head:
            return self._state
        if self._past is None or self._past[0] != block.hash:
            state = State(self.id)
            for earlier_block in self.blocks[: block.number + 1]:
                state.replay(earlier_block)
            self._past = block.hash, state
        return self._past[1]

    def reported_number(self) -> int:
        """Return the newest block's number as the node tells it: the truth, unless a fault makes it lie."""
        lies = self.faults.take_submission("early_finality")
        return self.head.number + (_EARLY_BLOCKS if lies else 0)

    def nonce(self, address: str) -> int:
        """Return an account's transaction count in blocks."""
        return self._state.nonce(address)

    def pending_nonce(self, address: str) -> int:
        """Return an account's next transaction count, with what waits in the pool without a gap."""
        return self.pool.next_nonce(address, self.nonce(address))

    def try_out(self, message: Message, block: Block | None = None) -> Outcome:
        """Run a call on top of a block, or as if in the next one, and undo it."""
        if block is None:
            return self.vm.try_out(message, BlockContext(self.head.number + 1, self._next_time()))
        return self.state_at(block).vm.try_out(message, block.context)

    def find_block(self, block_hash: bytes) -> Block | None:
        """Return the block of a hash."""
        return next((block for block in reversed(self.blocks) if block.hash == block_hash), None)

    def logs(self, first: int, last: int) -> Iterator[FoundLog]:
        """Yield the events of the blocks `first` to `last`, as far as searches know them."""
        for block in self.blocks[max(0, first) : max(0, min(last, self.head.number - self.lag) + 1)]:
            for transaction in block.mined:
                for place, log in enumerate(transaction.outcome.logs):
                    yield FoundLog(log, transaction.first_log + place, transaction, block)

    # What is done.

    def operate(self, operation: Operation) -> None:
        """Change the state from outside any transaction; only the genesis and cheat calls do."""
        operation(self.vm)
        self._operations.append(operation)

    def seal(self) -> Block:
        """Make the next block of what the pool holds and can be paid for."""
        context = BlockContext(len(self.blocks), self._next_time())
        transactions: list[Mined] = []
        for transaction in self.pool.executable(self.base_fee, self.nonce):
            result = self._state.mine(transaction, context, self.base_fee, transactions)
            if result is not None:
                transactions.append(result)
        return self._append(context, tuple(transactions))

    def _next_time(self) -> int:
        return max(self.clock.now(), self.blocks[-1].time if self.blocks else 0)

    def _append(self, context: BlockContext, transactions: tuple[Mined, ...]) -> Block:
        parent = self.blocks[-1].hash if self.blocks else bytes(32)
        facts = f"{self.id}:{self._forks}:{context.number}:{context.time}".encode()
        own = bytes(keccak(facts + parent + b"".join(one.signed.hash for one in transactions)))
        operations, self._operations = tuple(self._operations), []
        block = Block(context.number, context.time, parent, own, self.base_fee, operations, transactions)
        self.blocks.append(block)
        self.index.update({one.signed.hash: one for one in transactions})
        return block

    # What is undone.

    def reorganise(self, depth: int) -> list[bytes]:
        """Replace the last blocks by as many empty ones; return the hashes of the transactions that are gone.

        What waits in the pool goes on waiting.

        Raises:
            ValueError: There are not so many blocks after the genesis.
        """
        if not 0 < depth < len(self.blocks):
            raise ValueError(f"depth must be 1 to {len(self.blocks) - 1}")
        removed_blocks = self.blocks[-depth:]
        self._forks += 1
        self._rebuild(self.blocks[:-depth])
        for old in removed_blocks:
            self._append(BlockContext(old.number, old.time), ())
        return [mined.signed.hash for block in removed_blocks for mined in block.mined]

    def save(self) -> int:
        """Keep the chain as it is now and return the snapshot's id."""
        self.seal()
        self._saved.append(tuple(self.blocks))
        return len(self._saved) - 1

    def restore(self, number: int) -> None:
        """Return to a snapshot; the pool is dropped.

        Raises:
            ValueError: No such snapshot exists.
        """
        if not 0 <= number < len(self._saved):
            raise ValueError(f"there is no snapshot {number}")
        self._forks += 1
        self._rebuild(list(self._saved[number]))
        self.pool = Pool()

    def _rebuild(self, blocks: list[Block]) -> None:
        self._state, self._operations = State(self.id), []
        self.blocks = []
        self.index = {}
        for block in blocks:
            self._state.replay(block)
            self.blocks.append(block)
            self.index.update({one.signed.hash: one for one in block.mined})


@dataclass(slots=True)
class Miner:
    """Seals a block every so often."""

    chain: Chain
    seconds: float
    _task: asyncio.Task[None] | None = field(default=None)

    async def seal_blocks(self) -> None:
        """Seal blocks for ever."""
        while True:
            await asyncio.sleep(self.seconds)
            self.chain.seal()
