"""The cluster: slots that follow each other, what landed in each, and how far it is settled."""

from __future__ import annotations

import asyncio
import hashlib
import itertools
from collections import OrderedDict, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from solders.account import Account
from solders.address_lookup_table_account import AddressLookupTable
from solders.hash import Hash
from solders.keypair import Keypair
from solders.message import MessageV0
from solders.pubkey import Pubkey
from solders.transaction import VersionedTransaction

from sim.clock import BlockClock
from sim.faults import Faults
from sim.solana.svm import Before, Executed, Svm, mint_account

FIRST_SLOT = 1_000
CONFIRMED_SLOTS, FINALIZED_SLOTS = 1, 32
BANK_LAMPORTS = 10**18
DECIMALS = 6
MINTS = ("EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v", "4zMMC9srt5Ri5X14GAgXhaHii3GnPAEERYPJgZJDncDU")
RANKS = {"processed": 0, "confirmed": 1, "finalized": 2}
_KEPT_TIMES = 100_000
SUBMISSION_FAULTS = {
    "withhold": "what is submitted next is taken and put into no slot until `release` or `advance`",
    "reject_late": "what is submitted next is taken and then dropped: it never lands",
    "early_finality": "the node calls everything that landed finalized, although it is not",
}


class Refused(Exception):
    """A transaction that the node does not take; `error` is as the RPC writes it."""

    def __init__(self, error: object, message: str, executed: Executed | None = None) -> None:
        super().__init__(message)
        self.error = error
        self.message = message
        self.executed = executed


@dataclass(frozen=True, slots=True)
class Balances:
    """What the accounts of a transaction hold: lamports, and (place, mint, owner, program, amount, decimals)."""

    lamports: tuple[int, ...]
    tokens: tuple[tuple[int, str, str, str, int, int], ...]


@dataclass(frozen=True, slots=True)
class Landed:
    """A transaction in a slot."""

    transaction: VersionedTransaction
    slot: int
    time: int
    keys: tuple[Pubkey, ...]
    loaded: tuple[tuple[Pubkey, ...], tuple[Pubkey, ...]]
    executed: Executed
    before: Balances
    after: Balances
    undo: Before
    order: int

    @property
    def signature(self) -> str:
        """Its id."""
        return str(self.transaction.signatures[0])


@dataclass(frozen=True, slots=True)
class _Saved:
    accounts: dict[Pubkey, Account | None]
    landed: tuple[Landed, ...]


@dataclass(frozen=True, slots=True)
class _Change:
    """A change from outside any transaction: a cheat call."""

    slot: int
    undo: Before
    order: int


class Chain:
    """One simulated Solana cluster. Nothing here does I/O; time comes from the clock that is passed in."""

    def __init__(self, clock: BlockClock, *, mints: Sequence[str] = MINTS, blockhash_slots: int = 150) -> None:
        self.clock = clock
        self.mints = tuple(Pubkey.from_string(one) for one in mints)
        self.blockhash_slots = blockhash_slots
        self.faults = Faults(SUBMISSION_FAULTS)
        self.genesis = Hash(hashlib.sha256(b"sim-solana" + b"".join(map(bytes, self.mints))).digest())
        self.bank = Keypair.from_seed(hashlib.sha256(b"bank solana").digest())
        self.svm = Svm()
        self.lag = 0
        self.slot = FIRST_SLOT
        self.landed: dict[str, Landed] = {}
        self.times: OrderedDict[int, int] = OrderedDict()
        self._by_account: dict[str, list[Landed]] = defaultdict(list)
        self._hashes: OrderedDict[Hash, int] = OrderedDict()
        self._changes: list[_Change] = []
        self._withheld: list[VersionedTransaction] = []
        self._saved: list[_Saved] = []
        self._forks = 0
        self._order = itertools.count()
        self._moved = asyncio.Event()
        self.svm.put(self.bank.pubkey(), Account(BANK_LAMPORTS, b"", Pubkey.default()))
        for mint in self.mints:
            self.svm.put(mint, mint_account(self.bank.pubkey(), DECIMALS, self.svm.rent(82)))
        self.tick()

    # Slots.

    def tick(self) -> None:
        """Begin the next slot."""
        self.slot += 1
        time = max(self.clock.now(), next(reversed(self.times.values()), 0))
        self.times[self.slot] = time
        if len(self.times) > _KEPT_TIMES:
            self.times.popitem(last=False)
        digest = hashlib.sha256(f"{self.genesis}:{self._forks}:{self.slot}".encode()).digest()
        self._hashes[Hash(digest)] = self.slot
        while next(iter(self._hashes.values())) < self.slot - self.blockhash_slots:
            self._hashes.popitem(last=False)
        self.svm.set_clock(self.slot, time)
        moved, self._moved = self._moved, asyncio.Event()
        moved.set()

    def skip(self, slots: int) -> None:
        """Let many slots pass at once."""
        for _ in range(slots):
            self.tick()

    async def next_slot(self) -> None:
        """Wait until the slot changes."""
        await self._moved.wait()

    @property
    def latest_blockhash(self) -> tuple[Hash, int]:
        """The newest blockhash and the last block height at which it is valid."""
        newest, slot = next(reversed(self._hashes.items()))
        return newest, slot + self.blockhash_slots

    def knows_blockhash(self, wanted: Hash) -> bool:
        """Return whether a transaction may still name a blockhash."""
        return wanted in self._hashes

    def settled(self, slot: int) -> str:
        """Return how far a slot is settled: processed, confirmed or finalized."""
        deep = self.slot - slot
        if deep >= FINALIZED_SLOTS or self.faults.take_submission("early_finality"):
            return "finalized"
        return "confirmed" if deep >= CONFIRMED_SLOTS else "processed"

    def newest(self, commitment: str) -> int:
        """Return the newest slot of a commitment."""
        return self.slot - (0, CONFIRMED_SLOTS, FINALIZED_SLOTS)[RANKS[commitment]]

    # Transactions.

    def submit(self, transaction: VersionedTransaction, *, preflight: bool) -> str:
        """Take a transaction and return its signature.

        Raises:
            Refused: A signature is wrong, or the preflight fails.
        """
        if not all(transaction.verify_with_results()):
            raise Refused("SignatureFailure", "Transaction signature verification failure")
        signature = str(transaction.signatures[0])
        if preflight:
            self._check(transaction)
        if self.faults.take_submission("reject_late"):
            return signature
        if self.faults.take_submission("withhold"):
            self._withheld.append(transaction)
            return signature
        self.land(transaction)
        return signature

    def _check(self, transaction: VersionedTransaction) -> None:
        if str(transaction.signatures[0]) in self.landed:
            raise Refused("AlreadyProcessed", "This transaction has already been processed")
        if not self.knows_blockhash(transaction.message.recent_blockhash):
            raise Refused("BlockhashNotFound", "Blockhash not found")
        executed = self.svm.simulate(transaction)
        if executed.error is not None:
            raise Refused(executed.error, describe(executed.error), executed)

    def land(self, transaction: VersionedTransaction) -> Landed | None:
        """Put a transaction into this slot; None when no leader would take it."""
        if str(transaction.signatures[0]) in self.landed:
            return None
        if not self.knows_blockhash(transaction.message.recent_blockhash):
            return None
        loaded = self._loaded(transaction)
        keys = (*transaction.message.account_keys, *loaded[0], *loaded[1])
        before = self.balances(keys)
        executed, undo = self.svm.execute(transaction, keys)
        if not executed.landed:
            return None
        landed = Landed(
            transaction=transaction,
            slot=self.slot,
            time=self.times[self.slot],
            keys=keys,
            loaded=loaded,
            executed=executed,
            before=before,
            after=self.balances(keys),
            undo=undo,
            order=next(self._order),
        )
        self.landed[landed.signature] = landed
        for key in keys:
            self._by_account[str(key)].append(landed)
        return landed

    def _loaded(self, transaction: VersionedTransaction) -> tuple[tuple[Pubkey, ...], tuple[Pubkey, ...]]:
        """Return what address tables add to a transaction's keys: writable ones, then read-only ones."""
        message = transaction.message
        writable: list[Pubkey] = []
        readonly: list[Pubkey] = []
        if isinstance(message, MessageV0):
            for lookup in message.address_table_lookups:
                found = self.svm.account(lookup.account_key)
                addresses = AddressLookupTable.deserialize(bytes(found.data)).addresses if found else []
                writable += [addresses[place] for place in bytes(lookup.writable_indexes) if place < len(addresses)]
                readonly += [addresses[place] for place in bytes(lookup.readonly_indexes) if place < len(addresses)]
        return tuple(writable), tuple(readonly)

    def balances(self, keys: Sequence[Pubkey]) -> Balances:
        """Return what accounts hold now."""
        tokens = []
        for place, key in enumerate(keys):
            held = self.svm.token(key)
            if held is not None:
                account, decimals, program = held
                tokens.append((place, str(account.mint), str(account.owner), str(program), account.amount, decimals))
        return Balances(tuple(self.svm.lamports(key) for key in keys), tuple(tokens))

    def of_account(self, address: str) -> list[Landed]:
        """Return what searches know of an account's transactions, the newest first."""
        known = self.slot - self.lag
        return [one for one in reversed(self._by_account.get(address, [])) if one.slot <= known]

    def cheat(self, key: Pubkey, account: Account) -> None:
        """Write an account from outside any transaction."""
        self._changes.append(_Change(self.slot, self.svm.put(key, account), next(self._order)))

    def release(self) -> int:
        """Put withheld transactions into this slot; return how many were held."""
        held, self._withheld = self._withheld, []
        for transaction in held:
            self.land(transaction)
        return len(held)

    # What is undone.

    def reorganise(self, depth: int) -> list[str]:
        """Replace the last slots; return the signatures of the transactions that are gone.

        Raises:
            ValueError: There are not so many slots.
        """
        if not 0 < depth <= self.slot - FIRST_SLOT:
            raise ValueError(f"depth must be 1 to {self.slot - FIRST_SLOT}")
        kept = self.slot - depth
        gone = [one for one in self.landed.values() if one.slot > kept]
        changes = [one for one in self._changes if one.slot > kept]
        undone: list[Landed | _Change] = [*gone, *changes]
        self.svm.undo(one.undo for one in sorted(undone, key=lambda one: one.order, reverse=True))
        self._changes = [one for one in self._changes if one.slot <= kept]
        self._forks += 1
        dropped = {one.signature for one in gone}
        self._keep([one for one in self.landed.values() if one.signature not in dropped])
        for wanted in [one for one, slot in self._hashes.items() if slot > kept]:
            del self._hashes[wanted]
        head, self.slot = self.slot, kept
        self.skip(head - kept)
        return sorted(dropped)

    def _keep(self, landed: Sequence[Landed]) -> None:
        self.landed = {one.signature: one for one in landed}
        self._by_account = defaultdict(list)
        for one in landed:
            for key in one.keys:
                self._by_account[str(key)].append(one)

    def save(self) -> int:
        """Keep the chain as it is and return the snapshot's id."""
        self._saved.append(_Saved(self.svm.copy(), tuple(self.landed.values())))
        return len(self._saved) - 1

    def restore(self, number: int) -> None:
        """Return to a snapshot; slots go on.

        Raises:
            ValueError: There is none of that id.
        """
        if not 0 <= number < len(self._saved):
            raise ValueError(f"there is no snapshot {number}")
        saved = self._saved[number]
        self.svm.restore(saved.accounts)
        self._changes, self._withheld = [], []
        self._keep(saved.landed)
        self.tick()


def describe(error: object) -> str:
    """Return an error as a preflight tells it."""
    if isinstance(error, dict) and "InstructionError" in error:
        place, reason = error["InstructionError"]
        told = f"custom program error: {reason['Custom']:#x}" if isinstance(reason, dict) else str(reason)
        return f"Transaction simulation failed: Error processing Instruction {place}: {told}"
    return f"Transaction simulation failed: {error}"


@dataclass(slots=True)
class Leader:
    """Begins a slot every so often."""

    chain: Chain
    seconds: float

    async def run(self) -> None:
        """Begin slots for ever."""
        loop = asyncio.get_running_loop()
        due = loop.time()
        while True:
            due = max(due + self.seconds, loop.time())
            await asyncio.sleep(due - loop.time())
            self.chain.tick()
