"""What has landed: transactions by signature and by the accounts they name."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from solders.pubkey import Pubkey

from sim.solana.transactions import Sent
from sim.solana.vm import Outcome


@dataclass(frozen=True, slots=True)
class Balances:
    """What the accounts of a transaction held at one moment, in the order of its keys.

    Attributes:
        lamports: Of every account.
        tokens: Of the token accounts, as the RPC tells them.
    """

    lamports: tuple[int, ...]
    tokens: tuple[dict[str, Any], ...]


@dataclass(frozen=True, slots=True)
class Landed:
    """A transaction in a block, be it that it failed there."""

    sent: Sent
    slot: int
    time: int
    outcome: Outcome
    before: Balances
    after: Balances


class Ledger:
    """The landed transactions of one fork, in order."""

    def __init__(self, entries: Sequence[Landed] = ()) -> None:
        self._all: list[Landed] = []
        self._by_id: dict[str, Landed] = {}
        self._places: dict[str, int] = {}
        self._by_key: defaultdict[Pubkey, list[Landed]] = defaultdict(list)
        for entry in entries:
            self.add(entry)

    def __len__(self) -> int:
        return len(self._all)

    def add(self, entry: Landed) -> None:
        """Add a transaction after all others."""
        self._places[entry.sent.id] = len(self._all)
        self._all.append(entry)
        self._by_id[entry.sent.id] = entry
        for key in dict.fromkeys(entry.sent.keys):
            self._by_key[key].append(entry)

    def get(self, signature: str) -> Landed | None:
        """Return a transaction by its first signature."""
        return self._by_id.get(signature)

    def place(self, signature: str) -> int | None:
        """Return a transaction's place in the order of landing, None when it is not there."""
        return self._places.get(signature)

    def entries_naming(self, key: Pubkey) -> Iterator[Landed]:
        """Yield the transactions that name an account, newest first."""
        yield from reversed(self._by_key.get(key, ()))

    def entries(self) -> list[Landed]:
        """Return every transaction, oldest first."""
        return list(self._all)

    def after(self, slot: int) -> Iterator[Landed]:
        """Yield the transactions of later slots, oldest first."""
        place = bisect_right(self._all, slot, key=lambda one: one.slot)
        yield from self._all[place:]

    def of_slot(self, slot: int) -> list[Landed]:
        """Return the transactions of a slot in order."""
        return [one for one in self.after(slot - 1) if one.slot == slot]
