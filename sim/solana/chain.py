"""The chain: slots, the transactions in them, the state they lead to, and how all that is undone."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from solders.account import Account
from solders.hash import Hash
from solders.keypair import Keypair
from solders.message import Message, MessageV0
from solders.pubkey import Pubkey
from solders.signature import Signature
from solders.transaction import VersionedTransaction

from sim.clock import BlockClock
from sim.faults import Faults
from sim.solana.account_history import Accounts, Version
from sim.solana.ledger import Balances, Landed, Ledger
from sim.solana.slots import FINAL_AFTER, SLOT_HASHES, Slot, Slots, Standing
from sim.solana.token_accounts import MINT_BYTES, USDC_MINTS, new_mint, read_held, read_mint, ui_amount
from sim.solana.transactions import Sent, resolve
from sim.solana.vm import LOOKUP_TABLES, SYSTEM, Outcome, Vm

BANK_LAMPORTS = 10**18
LAMPORTS_PER_SIGNATURE = 5000
SUBMISSION_FAULTS = {
    "withhold": "what is sent next is accepted and stays in no block until `release` or `advance`",
    "reject_late": "what is sent next is accepted and then dropped: it never lands",
    "early_finality": "the next answers with a commitment call everything in a block finalized, although it is not",
}


@dataclass(slots=True)
class _Saved:
    """A snapshot."""

    accounts: dict[Pubkey, list[Version]]
    slots: dict[int, Slot]
    landed: list[Landed]


class Chain:
    """One simulated Solana cluster. Nothing here does I/O; time comes from the clock that is passed in.

    A transaction is executed in the open slot when it is sent. Every account keeps what it was in each slot: that is
    how reads at a commitment, preflights on a finalized bank, reorganisations and snapshots find an older state.

    Attributes:
        changed: Is set, and replaced by another, when something lands, a slot closes or anything is undone.
    """

    def __init__(self, clock: BlockClock, mints: Sequence[str] = USDC_MINTS, *, window: int = 3000) -> None:
        self.clock = clock
        self.faults = Faults(SUBMISSION_FAULTS)
        self.mints = tuple(Pubkey.from_string(mint) for mint in mints)
        seed = hashlib.sha256("sim solana {}".format(" ".join(mints)).encode()).digest()
        self.genesis_hash = Hash(seed)
        self.bank = Keypair.from_seed(hashlib.sha256(b"bank" + seed).digest())
        self.lag = 0
        self.slots = Slots(seed, window)
        self.ledger = Ledger()
        self.vm = Vm()
        self.accounts = Accounts(lambda key: self.vm.account(key))  # noqa: PLW0108 - the VM is replaced by others
        self._withheld: dict[str, VersionedTransaction] = {}
        self._refused: set[str] = set()
        self._saved: list[_Saved] = []
        self.changed = asyncio.Event()
        self._write_genesis()
        for _ in range(FINAL_AFTER + 2):
            self.seal()

    def _write_genesis(self) -> None:
        self.write(self.bank.pubkey(), Account(BANK_LAMPORTS, b"", SYSTEM))
        for mint in self.mints:
            self.write(mint, new_mint(self.bank.pubkey(), self.vm.rent_exempt(MINT_BYTES)))

    # What is asked.

    @property
    def head(self) -> Slot:
        """The open slot."""
        return self.slots.head

    def final_slots(self) -> Standing:
        """Return which slots the next answer calls final: the truth, unless a fault makes the node lie."""
        return Standing(self.head.number, self.faults.take_submission("early_finality"))

    def account(self, key: Pubkey, slot: int | None = None) -> Account | None:
        """Return an account, as it is now or as it was at the end of a slot."""
        return self.accounts.at(key, self.head.number if slot is None else slot)

    def refusal(self, transaction: VersionedTransaction, slot: int) -> str | None:
        """Return why a bank of a slot does not look at a transaction at all, None when it does."""
        if not self.slots.is_recent(transaction.message.recent_blockhash, slot):
            return "BlockhashNotFound"
        earlier = self.ledger.get(str(transaction.signatures[0]))
        return "AlreadyProcessed" if earlier is not None and earlier.slot <= slot else None

    def fee(self, message: Message | MessageV0, slot: int) -> int:
        """Return the lamports that a message costs its payer."""
        signers = message.header.num_required_signatures
        draft = VersionedTransaction.populate(message, [Signature.default()] * signers)
        return self.try_out(draft, slot).fee or LAMPORTS_PER_SIGNATURE * signers

    def try_out(self, transaction: VersionedTransaction, slot: int) -> Outcome:
        """Execute a transaction on the state of a slot and keep nothing."""
        resolved_transaction = resolve(transaction, lambda key: self.account(key, slot))
        tables = [one.account_key for one in getattr(transaction.message, "address_table_lookups", [])]
        with self._as_of(slot, (*resolved_transaction.keys, *tables)):
            self._set_sysvars(resolved_transaction, self.slots.get(slot) or self.head)
            return self.vm.try_out(transaction)

    @contextmanager
    def _as_of(self, slot: int, keys: Iterable[Pubkey]) -> Iterator[None]:
        """Let the VM see some accounts as they were in an older slot."""
        known_keys = [key for key in keys if key in self.accounts]
        older = [(key, self.account(key, slot), self.account(key)) for key in known_keys]
        changes = [(key, old, new) for key, old, new in older if old is not new and not _is_program(old, new)]
        try:
            for key, old, _ in changes:
                self.vm.set_account(key, old)
            yield
        finally:
            for key, _, new in changes:
                self.vm.set_account(key, new)

    # What is done.

    def write(self, key: Pubkey, account: Account | None) -> None:
        """Write an account from outside any transaction; only the genesis and cheat calls do.

        Raises:
            ValueError: A program or sysvar cannot be that.
        """
        self.accounts.remember(key)
        self.vm.set_account(key, account)
        self.accounts.put(key, self.head.number, account if account is not None and account.lamports else None)

    def submit(self, transaction: VersionedTransaction) -> None:
        """Take what a client sent. What the network would drop without a word leaves no trace.

        The signatures must have been verified.
        """
        signature = str(transaction.signatures[0])
        if signature in self._refused or signature in self._withheld:
            return
        if self.faults.take_submission("reject_late"):
            self._refused.add(signature)
        elif self.faults.take_submission("withhold"):
            self._withheld[signature] = transaction
        else:
            self.land(transaction)

    def land(self, transaction: VersionedTransaction) -> Landed | None:
        """Execute a transaction in the open slot; None when the network drops it."""
        slot = self.head
        if self.refusal(transaction, slot.number) is not None:
            return None
        resolved_transaction = resolve(transaction, self.account)
        writable = [key for place, key in enumerate(resolved_transaction.keys) if resolved_transaction.may_write(place)]
        for key in writable:
            self.accounts.remember(key)
        before = self._balances(resolved_transaction)
        self._set_sysvars(resolved_transaction, slot)
        outcome = self.vm.execute(transaction)
        if not self._keep(writable):
            return None
        entry = Landed(
            resolved_transaction, slot.number, slot.time, outcome, before, self._balances(resolved_transaction)
        )
        self.ledger.add(entry)
        self._tell()
        return entry

    def _set_sysvars(self, transaction: Sent, slot: Slot) -> None:
        """Let programs see a slot. Its predecessors are many, and only what makes or uses a lookup table reads them."""
        self.vm.set_time(slot.number, slot.time)
        if LOOKUP_TABLES in transaction.keys or getattr(transaction.raw.message, "address_table_lookups", None):
            self.vm.set_slot_hashes((one.number, one.hash) for one in self.slots.before(slot.number, SLOT_HASHES))

    def _keep(self, writable: Sequence[Pubkey]) -> bool:
        """Record what the VM has written; return whether that is anything: what lands has paid a fee at least."""
        changes = [(key, self.vm.account(key)) for key in writable]
        changes = [(key, account) for key, account in changes if account != self.account(key)]
        for key, account in changes:
            self.accounts.put(key, self.head.number, account)
        return bool(changes)

    def _balances(self, transaction: Sent) -> Balances:
        accounts = [self.account(key) for key in transaction.keys]
        tokens = []
        for place, account in enumerate(accounts):
            token_account = read_held(account)
            mint = None if token_account is None else read_mint(self.account(token_account.mint))
            if token_account is not None and mint is not None:
                tokens.append(
                    {
                        "accountIndex": place,
                        "mint": str(token_account.mint),
                        "owner": str(token_account.owner),
                        "programId": str(token_account.program),
                        "uiTokenAmount": ui_amount(token_account.amount, mint.decimals),
                    }
                )
        return Balances(tuple(0 if one is None else one.lamports for one in accounts), tuple(tokens))

    def release(self) -> list[str]:
        """Let withheld transactions land; return the signatures of those that do."""
        transactions, self._withheld = self._withheld, {}
        return [signature for signature, transaction in transactions.items() if self.land(transaction) is not None]

    def seal(self) -> Slot:
        """Close the open slot and open the next."""
        slot = self.slots.open_next(self.clock.now())
        self._tell()
        return slot

    def _tell(self) -> None:
        self.changed.set()
        self.changed = asyncio.Event()

    # What is undone.

    def reorganise(self, depth: int) -> list[str]:
        """Replace the last slots by as many empty ones; return the signatures of the transactions that are gone.

        The open slot counts as the last one. Finality does not hinder it: that is how a test makes a node lie.

        Raises:
            ValueError: There are not so many slots.
        """
        newest = self.head.number - depth
        removed_slots = self.slots.cut(newest)
        removed_entries = list(self.ledger.after(newest))
        self.ledger = Ledger(self.ledger.entries()[: len(self.ledger) - len(removed_entries)])
        self.accounts.cut(newest)
        self._rebuild()
        for old in removed_slots:
            self.slots.open_next(old.time)
        self._tell()
        return [one.sent.id for one in removed_entries]

    def save(self) -> int:
        """Keep the chain as it is now and return the snapshot's id."""
        self.seal()
        self._saved.append(_Saved(self.accounts.copy(), self.slots.copy(), self.ledger.entries()))
        return len(self._saved) - 1

    def restore(self, number: int) -> None:
        """Return to a snapshot; what was withheld is forgotten.

        Raises:
            ValueError: No such snapshot exists.
        """
        if not 0 <= number < len(self._saved):
            raise ValueError(f"there is no snapshot {number}")
        snapshot = self._saved[number]
        self.accounts.load(snapshot.accounts)
        self.slots.load(snapshot.slots)
        self.ledger = Ledger(snapshot.landed)
        self._rebuild()
        self._withheld, self._refused = {}, set()
        self._tell()

    def _rebuild(self) -> None:
        """Give the accounts to a new VM, since the old one keeps programs that were undone."""
        self.vm = Vm()
        self.vm.set_time(self.head.number, self.head.time)
        accounts = list(self.accounts.all_at(self.head.number))
        for key, account in sorted(accounts, key=lambda one: one[1].executable):  # a program is read after its data
            self.vm.set_account(key, account)

    def totals(self) -> dict[str, int]:
        """Return what all accounts hold together: lamports, and tokens by mint."""
        sums = {"lamports": 0}
        for _, account in self.accounts.all_at(self.head.number):
            sums["lamports"] += account.lamports
            token_account = read_held(account)
            if token_account is not None:
                sums[str(token_account.mint)] = sums.get(str(token_account.mint), 0) + token_account.amount
        return sums


def _is_program(*versions: Account | None) -> bool:
    """A program cannot be taken out of the VM for a moment: a preflight on an older bank finds it already."""
    return any(one is not None and one.executable for one in versions)


@dataclass(slots=True)
class Miner:
    """Closes a slot every so often."""

    chain: Chain
    seconds: float

    async def close_slots(self) -> None:
        """Close slots for ever."""
        while True:
            await asyncio.sleep(self.seconds)
            self.chain.seal()
