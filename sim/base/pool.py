"""The pool: transactions that wait for a block, one a sender and nonce, a replacement only for a higher fee."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from sim.base.transactions import Signed

REPLACEMENT_PERCENT = 110


class Underpriced(Exception):
    """A transaction with the nonce of another one that waits, without a fee that is a tenth higher."""


class AlreadyKnown(Exception):
    """The same transaction waits already."""


@dataclass(slots=True)
class _Entry:
    signed: Signed
    order: int
    withheld: bool = False


class Pool:
    """What waits, by sender and nonce."""

    def __init__(self) -> None:
        self._waiting: dict[tuple[str, int], _Entry] = {}
        self._order = 0

    def add(self, transaction: Signed, *, is_withheld: bool = False) -> None:
        """Take a transaction in.

        Raises:
            AlreadyKnown: It waits already.
            Underpriced: Another one with its nonce waits and pays about as much.
        """
        key = (transaction.sender, transaction.nonce)
        old = self._waiting.get(key)
        if old is not None and old.signed.hash == transaction.hash:
            raise AlreadyKnown
        if old is not None and not _outbids(transaction, old.signed):
            raise Underpriced
        self._order += 1
        self._waiting[key] = _Entry(transaction, self._order, is_withheld)

    def find(self, tx_hash: bytes) -> Signed | None:
        """Return the transaction of a hash."""
        return next((entry.signed for entry in self._waiting.values() if entry.signed.hash == tx_hash), None)

    def next_nonce(self, sender: str, nonce: int) -> int:
        """Return the first count that neither a block nor the pool has taken."""
        while (sender, nonce) in self._waiting:
            nonce += 1
        return nonce

    def release(self) -> int:
        """Let withheld transactions into the next block; return how many."""
        entries = [entry for entry in self._waiting.values() if entry.withheld]
        for entry in entries:
            entry.withheld = False
        return len(entries)

    def executable(self, base_fee: int, nonce: Callable[[str], int]) -> Iterator[Signed]:
        """Yield and remove what the next block can take, each sender's in the order of nonces, the oldest first.

        Args:
            base_fee: What a unit of gas costs at least.
            nonce: An account's transaction count, as the block so far has left it.
        """
        has_progress = True
        while has_progress:
            has_progress = False
            for key, entry in sorted(self._waiting.items(), key=lambda item: item[1].order):
                sender, number = key
                if number < nonce(sender):
                    del self._waiting[key]
                elif number == nonce(sender) and not entry.withheld and entry.signed.max_fee >= base_fee:
                    del self._waiting[key]
                    has_progress = True
                    yield entry.signed


def _outbids(new: Signed, old: Signed) -> bool:
    return (
        new.max_fee * 100 >= old.max_fee * REPLACEMENT_PERCENT
        and new.max_tip * 100 >= old.max_tip * REPLACEMENT_PERCENT
    )
