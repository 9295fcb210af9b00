"""The SVM: LiteSVM with a memory of what it changed, so that what a reorganisation takes away can be undone.

LiteSVM keeps no history of accounts and knows exactly one blockhash. So its own blockhash check is off (the chain keeps
the window), and every change notes what an account was before. Undoing builds a new instance from the accounts that
were ever touched.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from solders.account import Account
from solders.litesvm import LiteSVM
from solders.pubkey import Pubkey
from solders.token.state import TokenAccount
from solders.transaction import VersionedTransaction
from solders.transaction_metadata import FailedTransactionMetadata

TOKEN_PROGRAM = Pubkey.from_string("TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA")
TOKEN_2022_PROGRAM = Pubkey.from_string("TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb")
ASSOCIATED_PROGRAM = Pubkey.from_string("ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL")
TOKEN_PROGRAMS = (TOKEN_PROGRAM, TOKEN_2022_PROGRAM)
ACCOUNT_BYTES, MINT_BYTES = 165, 82
_DECIMALS_AT = 44


@dataclass(frozen=True, slots=True)
class Executed:
    """What came of a transaction.

    Attributes:
        error: None, or the error as the RPC writes it.
        landed: Whether it is in a block: a transaction that fails before its fee is paid is in none.
        logs: What programs logged.
        units: Compute units.
        fee: Lamports.
        inner: For each top-level instruction, (program index, account indices, data, stack height) of those it called.
    """

    error: Any
    landed: bool
    logs: tuple[str, ...]
    units: int
    fee: int
    inner: tuple[tuple[tuple[int, bytes, bytes, int], ...], ...]


Before = Mapping[Pubkey, Account | None]


class Svm:
    """All accounts of one chain and the programs that change them."""

    def __init__(self) -> None:
        self._svm = _fresh()
        self._touched: set[Pubkey] = set()

    def account(self, key: Pubkey) -> Account | None:
        """Return an account; one without lamports is none."""
        found = self._svm.get_account(key)
        return None if found is None or found.lamports == 0 else found

    def lamports(self, key: Pubkey) -> int:
        """Return an account's lamports."""
        return self._svm.get_balance(key) or 0

    def rent(self, size: int) -> int:
        """Return the lamports that exempt an account of `size` bytes from rent."""
        return int(self._svm.minimum_balance_for_rent_exemption(size))

    def owned_tokens(self) -> list[tuple[Pubkey, TokenAccount]]:
        """Return every account of the token program that holds tokens."""
        found = []
        for key, account in self._svm.get_program_accounts(TOKEN_PROGRAM):
            if len(account.data) == ACCOUNT_BYTES:
                found.append((key, TokenAccount.from_bytes(bytes(account.data))))
        return found

    def token(self, key: Pubkey) -> tuple[TokenAccount, int, Pubkey] | None:
        """Return a token account with its mint's decimals and its program, or None."""
        found = self.account(key)
        if found is None or found.owner not in TOKEN_PROGRAMS or len(found.data) < ACCOUNT_BYTES:
            return None
        held = TokenAccount.from_bytes(bytes(found.data)[:ACCOUNT_BYTES])
        return held, self.decimals(held.mint), found.owner

    def decimals(self, mint: Pubkey) -> int:
        """Return a mint's decimals; 0 when there is none."""
        found = self.account(mint)
        return bytes(found.data)[_DECIMALS_AT] if found is not None and len(found.data) >= MINT_BYTES else 0

    def set_clock(self, slot: int, time: int) -> None:
        """Tell programs the slot and its time."""
        clock = self._svm.get_clock()
        clock.slot, clock.unix_timestamp = slot, time
        self._svm.set_clock(clock)

    def put(self, key: Pubkey, account: Account) -> Before:
        """Write an account and return what it was."""
        before = self._before([key])
        self._svm.set_account(key, account)
        return before

    def execute(self, transaction: VersionedTransaction, keys: Iterable[Pubkey]) -> tuple[Executed, Before]:
        """Run a transaction for good and return what its accounts were before."""
        before = self._before(keys)
        return _executed(self._svm.send_transaction(transaction)), before

    def simulate(self, transaction: VersionedTransaction, *, check_signatures: bool = True) -> Executed:
        """Run a transaction without effect."""
        self._svm.with_sigverify(check_signatures)
        try:
            return _executed(self._svm.simulate_transaction(transaction))
        finally:
            self._svm.with_sigverify(True)

    def undo(self, changes: Iterable[Before]) -> None:
        """Undo changes, given from the newest to the oldest."""
        state = {key: self._svm.get_account(key) for key in self._touched}
        for before in changes:
            state.update(before)
        clock = self._svm.get_clock()
        self._svm = _fresh()
        self._svm.set_clock(clock)
        for key, account in state.items():
            if account is not None:
                self._svm.set_account(key, account)

    def copy(self) -> dict[Pubkey, Account | None]:
        """Return every account that was ever touched."""
        return {key: self._svm.get_account(key) for key in self._touched}

    def restore(self, accounts: Mapping[Pubkey, Account | None]) -> None:
        """Return to a copy."""
        self.undo([{key: accounts.get(key) for key in self._touched}])

    def _before(self, keys: Iterable[Pubkey]) -> Before:
        wanted = list(keys)
        self._touched.update(wanted)
        return {key: self._svm.get_account(key) for key in wanted}


def _fresh() -> LiteSVM:
    return LiteSVM().with_blockhash_check(False).with_transaction_history(0)


def _executed(result: Any) -> Executed:
    failed = isinstance(result, FailedTransactionMetadata)
    meta = result.meta() if failed else (result if hasattr(result, "logs") else result.meta())
    error = error_view(result.err()) if failed else None
    inner = tuple(
        tuple(
            (
                one.instruction().program_id_index,
                bytes(one.instruction().accounts),
                bytes(one.instruction().data),
                one.stack_height(),
            )
            for one in group
        )
        for group in meta.inner_instructions()
    )
    return Executed(
        error=error,
        landed=not isinstance(error, str),
        logs=tuple(meta.logs()),
        units=meta.compute_units_consumed(),
        fee=meta.fee(),
        inner=inner,
    )


def _called(inner: Any) -> tuple[int, bytes, bytes, int]:
    instruction = inner.instruction()
    return instruction.program_id_index, bytes(instruction.accounts), bytes(instruction.data), inner.stack_height()


def error_view(error: Any) -> Any:
    """Return a transaction's error as the RPC writes it: a name, or `InstructionError` with its place and reason."""
    inner = getattr(error, "err", None)
    if hasattr(error, "index") and inner is not None:
        reason = {"Custom": inner.code} if hasattr(inner, "code") else str(inner).rpartition(".")[2]
        return {"InstructionError": [error.index, reason]}
    if hasattr(error, "account_index"):
        return {type(error).__name__.removeprefix("TransactionError"): {"account_index": error.account_index}}
    return str(error).rpartition(".")[2]


def associated(owner: Pubkey, mint: Pubkey) -> Pubkey:
    """Return the associated token account of an owner for a mint."""
    seeds = [bytes(owner), bytes(TOKEN_PROGRAM), bytes(mint)]
    return Pubkey.find_program_address(seeds, ASSOCIATED_PROGRAM)[0]


def mint_account(authority: Pubkey, decimals: int, lamports: int) -> Account:
    """Return a mint's account with no supply."""
    data = struct.pack("<I32sQBBI32s", 1, bytes(authority), 0, decimals, 1, 0, bytes(32))
    return Account(lamports, data, TOKEN_PROGRAM)


def token_account(mint: Pubkey, owner: Pubkey, amount: int, lamports: int) -> Account:
    """Return an account that holds tokens."""
    data = struct.pack(
        "<32s32sQI32sBIQQI32s", bytes(mint), bytes(owner), amount, 0, bytes(32), 1, 0, 0, 0, 0, bytes(32)
    )
    return Account(lamports, data, TOKEN_PROGRAM)
