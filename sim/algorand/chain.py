"""The chain: a pool, rounds that follow each other, and what can be looked up in them."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count

from nacl.signing import SigningKey

from sim.algorand.encoding import ZERO, digest, pack
from sim.algorand.evaluator import Applied, Evaluator, Network
from sim.algorand.mode import LONGEST_STEP_SECONDS, Mode
from sim.algorand.state import Account, Asset, Holding, State
from sim.algorand.stateless_checks import Protocol, Rejected, Signed
from sim.clock import BlockClock
from sim.faults import Faults

SUPPLY = 10**16
ASSET_SUPPLY = 10**16
SUBMISSION_FAULTS = {
    "withhold": "what is submitted next stays in the pool, unconfirmed, until `release` or `advance`",
    "reject_late": "what is submitted next is accepted and then leaves the pool with an error",
}


@dataclass(frozen=True, slots=True)
class Confirmed:
    """A transaction in a block."""

    applied: Applied
    block: int
    time: int
    position: int


@dataclass(frozen=True, slots=True)
class Block:
    """One round."""

    number: int
    time: int
    previous: bytes
    hash: bytes
    transactions: tuple[Confirmed, ...]
    counter: int


@dataclass(slots=True)
class _Group:
    """A group in the pool.

    Attributes:
        signed: Its transactions.
        due: First round that it may land in.
        rejected_late: Whether it leaves the pool with an error instead.
    """

    signed: tuple[Signed, ...]
    due: int
    rejected_late: bool = False


@dataclass(slots=True)
class _Saved:
    """A snapshot."""

    state: State
    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True)
class Genesis:
    """What a chain starts from: who holds what, and which assets there are.

    Attributes:
        id: Genesis id.
        assets: Ids of the USDC assets.
    """

    id: str = "sim-v1"
    assets: tuple[int, ...] = (31566704, 10458941)

    @property
    def hash(self) -> bytes:
        """Genesis hash."""
        return digest(b"sim" + self.id.encode())


class Chain:
    """One simulated Algorand network. Nothing here does I/O; time comes from the clock that is passed in."""

    def __init__(
        self,
        genesis: Genesis,
        clock: BlockClock,
        protocol: Protocol | None = None,
        *,
        mode: Mode = Mode.STEADY,
        idle_seconds: int = 0,
    ) -> None:
        """Make the first block.

        Args:
            genesis: What the chain starts from.
            clock: Source of block times.
            protocol: Parameters of the consensus version; the present ones when None.
            mode: When blocks are made, and which time they bear.
            idle_seconds: How old the first block is already, as that of a node without traffic is.
        """
        self.genesis = genesis
        self.clock = clock
        self.mode = mode
        self.protocol = protocol or Protocol()
        self.faults = Faults(SUBMISSION_FAULTS)
        self.bank_notes = count()
        self.bank = SigningKey(hashlib.sha256(b"bank" + genesis.id.encode()).digest())
        self.fee_sink = digest(b"fee sink" + genesis.id.encode())
        self.evaluator = Evaluator(Network(genesis.id, genesis.hash), self.protocol, self.fee_sink)
        self.state = self._first_state()
        self.blocks: list[Block] = []
        self.index: dict[str, Confirmed] = {}
        self.lag = 0
        self._pool: list[_Group] = []
        self._withheld: list[_Group] = []
        self._errors: dict[str, tuple[Signed, str]] = {}
        self._pending = State(self.state)
        self._saved: list[_Saved] = []
        self._sealed = asyncio.Event()
        self._sealed_at = clock.now() - idle_seconds
        self.blocks.append(self._block(0, self._sealed_at, ()))

    def _first_state(self) -> State:
        state = State()
        bank = bytes(self.bank.verify_key)
        holdings = {asset: Holding(ASSET_SUPPLY) for asset in self.genesis.assets}
        state.put(bank, Account(SUPPLY, holdings, frozenset(self.genesis.assets)))
        state.put(self.fee_sink, Account(self.protocol.min_balance))
        params = {"t": ASSET_SUPPLY, "dc": 6, "un": "USDC", "an": "USDC", "m": bank, "r": bank, "f": bank, "c": bank}
        for asset in self.genesis.assets:
            state.put_asset(asset, Asset(bank, params))
        state.counter = max(self.genesis.assets)
        return state

    @property
    def round(self) -> int:
        """Number of the newest block."""
        return len(self.blocks) - 1

    @property
    def idle_seconds(self) -> int:
        """How long ago the newest block was made, which its time does not show in DevMode."""
        return max(0, self.clock.now() - self._sealed_at)

    @property
    def indexed_round(self) -> int:
        """Newest round that searches know: the indexer may lag behind."""
        return max(0, self.round - self.lag)

    def submit(self, group: Sequence[Signed]) -> str:
        """Take a group into the pool and return the id of its first transaction.

        Raises:
            Rejected: The node refuses it now.
        """
        self._check_not_withheld(group)
        trial = State(self._pending)
        self.evaluator.apply(trial, group, self.round + 1)
        late = self.faults.take_submission("reject_late")
        is_withheld = not late and self.faults.take_submission("withhold")
        entry = _Group(tuple(group), self.round + self.mode.rounds_to_land, late)
        if is_withheld:
            self._withheld.append(entry)
        else:
            if not late:
                trial.merge()
            self._pool.append(entry)
            if self.mode is Mode.DEV:
                self.seal()
        return group[0].id

    def _check_not_withheld(self, group: Sequence[Signed]) -> None:
        """A withheld group has no effect yet, and still its transactions are in the pool already."""
        withheld_ids = {transaction.id for entry in self._withheld for transaction in entry.signed}
        for transaction in group:
            if transaction.id in withheld_ids:
                raise Rejected(f"transaction already in ledger: {transaction.id}")

    def release(self) -> int:
        """Let withheld groups into the pool; return how many."""
        entries, self._withheld = self._withheld, []
        for entry in entries:
            self._pool += self._still_valid(entry)
            if self.mode is Mode.DEV:
                self.seal()
        return len(entries)

    def _still_valid(self, entry: _Group) -> list[_Group]:
        """Return the group if it takes effect after what is pending; else it leaves the pool with an error."""
        try:
            self.evaluator.apply(self._pending, entry.signed, self.round + 1)
        except Rejected as reason:
            self._fail(entry, str(reason))
            return []
        return [entry]

    def _next_time(self) -> int:
        previous = self.blocks[-1].time
        now = max(self.clock.now(), previous)
        return min(now, previous + LONGEST_STEP_SECONDS) if self.mode is Mode.DEV else now

    def seal(self) -> Block:
        """Make the next block of what is due in the pool."""
        number, time = len(self.blocks), self._next_time()
        transactions: list[Confirmed] = []
        pool = [entry for entry in self._pool if entry.due <= number]
        self._pool = [entry for entry in self._pool if entry.due > number]
        for entry in pool:
            if entry.rejected_late:
                self._fail(entry, "transaction left the pool: overspend at evaluation of the block")
                continue
            try:
                effects = self.evaluator.apply(self.state, entry.signed, number)
            except Rejected as reason:
                self._fail(entry, str(reason))
                continue
            transactions += [
                Confirmed(effect, number, time, len(transactions) + place) for place, effect in enumerate(effects)
            ]
        block = self._block(number, time, transactions)
        self.blocks.append(block)
        self._sealed_at = self.clock.now()
        self.index.update({effect.applied.signed.id: effect for effect in transactions})
        self._look_ahead()
        self._sealed.set()
        self._sealed = asyncio.Event()
        return block

    def _look_ahead(self) -> None:
        """Evaluate again what waits in the pool, on the newest state; what fails now leaves the pool with an error."""
        self._pending = State(self.state)
        entries, self._pool = self._pool, []
        for entry in entries:
            self._pool += [entry] if entry.rejected_late else self._still_valid(entry)

    def _block(self, number: int, time: int, transactions: Sequence[Confirmed]) -> Block:
        previous = self.blocks[-1].hash if self.blocks else ZERO
        ids = [one.applied.signed.id for one in transactions]
        own = digest(b"BH" + pack({"rnd": number, "ts": time, "prev": previous, "txns": ids}))
        return Block(number, time, previous, own, tuple(transactions), self.state.counter)

    def _fail(self, entry: _Group, reason: str) -> None:
        self._errors.update({signed.id: (signed, reason) for signed in entry.signed})

    def pool_transactions(self) -> Iterator[Signed]:
        """Yield what waits for a block, withheld or not."""
        for entry in (*self._pool, *self._withheld):
            yield from entry.signed

    def find_pending(self, transaction: str) -> Signed | None:
        """Return a transaction of the pool, or None."""
        return next((signed for signed in self.pool_transactions() if signed.id == transaction), None)

    def find_error(self, transaction: str) -> tuple[Signed, str] | None:
        """Return a transaction that left the pool with an error, and the error."""
        return self._errors.get(transaction)

    async def wait_after(self, number: int, seconds: float) -> None:
        """Wait until a block after `number` is there, at most `seconds`."""
        ends = asyncio.get_running_loop().time() + seconds
        while self.round <= number:
            time_left = ends - asyncio.get_running_loop().time()
            if time_left <= 0:
                return
            try:
                async with asyncio.timeout(time_left):
                    await self._sealed.wait()
            except TimeoutError:
                return

    def save(self) -> int:
        """Keep the whole chain as it is now and return the snapshot's id."""
        self._saved.append(_Saved(self.state.copy(), tuple(self.blocks)))
        return len(self._saved) - 1

    def restore(self, number: int) -> None:
        """Return to a snapshot; the pool is dropped.

        Raises:
            ValueError: No such snapshot exists.
        """
        if not 0 <= number < len(self._saved):
            raise ValueError(f"there is no snapshot {number}")
        snapshot = self._saved[number]
        self.state = snapshot.state.copy()
        self.blocks = list(snapshot.blocks)
        self.index = {one.applied.signed.id: one for block in self.blocks for one in block.transactions}
        self._pool, self._withheld, self._errors = [], [], {}
        self._pending = State(self.state)

    def opt_in(self, key: bytes, asset: int) -> None:
        """Write a holding into an account without its key, with the Algos that it then must keep.

        Only the control verb `opt_in` does this; everything else on this chain is a signed transaction.

        Raises:
            ValueError: There is no such asset.
        """
        if self.state.asset(asset) is None:
            raise ValueError(f"asset {asset} does not exist")
        account = self.state.account(key)
        if asset not in account.assets:
            bank = bytes(self.bank.verify_key)
            account_after = account.with_holding(asset, Holding())
            shortfall = max(0, account_after.minimum(self.protocol.min_balance) - account_after.algos)
            payer = self.state.account(bank)
            self.state.put(bank, replace(payer, algos=payer.algos - shortfall))
            self.state.put(key, replace(account_after, algos=account_after.algos + shortfall))
            self._look_ahead()

    def totals(self) -> Mapping[str, int]:
        """Return what the chain holds in all, which no transaction changes."""
        sums = {"algos": sum(account.algos for account in self.state.accounts.values())}
        for account in self.state.accounts.values():
            for asset, holding in account.assets.items():
                sums[str(asset)] = sums.get(str(asset), 0) + holding.amount
        return sums


@dataclass(slots=True)
class Miner:
    """Seals a block every so often; in DevMode only submitted groups make blocks."""

    chain: Chain
    seconds: float

    async def seal_blocks(self) -> None:
        """Seal blocks for ever."""
        if self.chain.mode is Mode.DEV:
            await asyncio.get_running_loop().create_future()
        while True:
            await asyncio.sleep(self.seconds)
            self.chain.seal()
