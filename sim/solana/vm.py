"""The real SVM (LiteSVM) with the token, associated-token-account, memo, lookup-table and guard programs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import orjson
from solders.account import Account
from solders.clock import Clock
from solders.hash import Hash
from solders.litesvm import LiteSVM
from solders.pubkey import Pubkey
from solders.transaction import VersionedTransaction
from solders.transaction_metadata import (
    FailedTransactionMetadata,
    InnerInstruction,
    SimulatedTransactionInfo,
    TransactionMetadata,
)

from sim.solana import wallet_guard_program

SYSTEM = Pubkey.default()
LOOKUP_TABLES = Pubkey.from_string("AddressLookupTab1e1111111111111111111111111")
_EMPTY_ACCOUNT = Account(0, b"", SYSTEM)
_SLOTS_PER_EPOCH = 432_000


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the VM made of a transaction.

    Attributes:
        err: The transaction error as the RPC tells it, None on success.
        logs: Log lines.
        units: Compute units.
        fee: Lamports the fee payer pays.
        inner: Per instruction, what it called.
        returned: Program and bytes of the return data, None without any.
        accounts: After a simulation that succeeded, the accounts it would have written.
    """

    err: Any
    logs: tuple[str, ...]
    units: int
    fee: int
    inner: tuple[tuple[InnerInstruction, ...], ...]
    returned: tuple[Pubkey, bytes] | None
    accounts: tuple[tuple[Pubkey, Account], ...] = ()


class Vm:
    """One SVM. Signatures, blockhashes and duplicates are the chain's business; everything else is checked here."""

    def __init__(self) -> None:
        self._svm = LiteSVM().with_blockhash_check(False).with_sigverify(False).with_transaction_history(0)
        self._svm.add_program(wallet_guard_program.GUARD, wallet_guard_program.elf())

    def account(self, key: Pubkey) -> Account | None:
        """Return an account, or None."""
        return self._svm.get_account(key)

    def set_account(self, key: Pubkey, account: Account | None) -> None:
        """Write an account as it is; None removes it.

        Raises:
            ValueError: A program or sysvar cannot be that.
        """
        try:
            self._svm.set_account(key, _EMPTY_ACCOUNT if account is None else account)
        except Exception as fault:  # solders does not export LiteSVMError
            raise ValueError(str(fault)) from fault

    def rent_exempt(self, size: int) -> int:
        """Return the lamports that an account of `size` bytes must hold."""
        return self._svm.minimum_balance_for_rent_exemption(size)

    def set_time(self, slot: int, unix_seconds: int) -> None:
        """Set what programs read from the clock."""
        epoch = slot // _SLOTS_PER_EPOCH
        self._svm.set_clock(Clock(slot, 0, epoch, epoch + 1, unix_seconds))

    def set_slot_hashes(self, hashes: Iterable[tuple[int, Hash]]) -> None:
        """Set the sysvar that creating an address lookup table reads."""
        self._svm.set_slot_hashes(list(hashes))

    def execute(self, transaction: VersionedTransaction) -> Outcome:
        """Execute a transaction and keep its effects."""
        return _outcome(self._svm.send_transaction(transaction))

    def try_out(self, transaction: VersionedTransaction) -> Outcome:
        """Execute a transaction and keep nothing."""
        return _outcome(self._svm.simulate_transaction(transaction))


def _outcome(metadata: TransactionMetadata | FailedTransactionMetadata | SimulatedTransactionInfo) -> Outcome:
    meta = metadata if isinstance(metadata, TransactionMetadata) else metadata.meta()
    err = orjson.loads(metadata.to_json())["err"] if isinstance(metadata, FailedTransactionMetadata) else None
    accounts = metadata.post_accounts() if isinstance(metadata, SimulatedTransactionInfo) else []
    data = meta.return_data()
    return Outcome(
        err=err,
        logs=tuple(meta.logs()),
        units=meta.compute_units_consumed(),
        fee=meta.fee(),
        inner=_inner(meta.inner_instructions()),
        returned=(data.program_id, bytes(data.data)) if data.data else None,
        accounts=tuple(accounts),
    )


def _inner(groups: Sequence[Sequence[InnerInstruction]]) -> tuple[tuple[InnerInstruction, ...], ...]:
    return tuple(tuple(one) for one in groups)
