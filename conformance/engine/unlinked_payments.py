"""Transactions of checks that pay no link: only the check that made one judges an event about it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager


class StrayPayments:
    """Which check made each transaction that pays no link, and which checks are about to make some."""

    def __init__(self) -> None:
        self._makers: dict[str, str] = {}
        self._active_makers: Counter[str] = Counter()

    @contextmanager
    def collect_for(self, check: str) -> Iterator[set[str]]:
        """Collect the ids of the stray payments that a check makes inside the context."""
        tx_ids: set[str] = set()
        # Before the payment: an event about a transaction may arrive before its id is known here.
        self._active_makers[check] += 1
        try:
            yield tx_ids
        finally:
            self._active_makers[check] -= 1
            self._makers |= dict.fromkeys(tx_ids, check)

    def list_of_others(self, check: str) -> list[str]:
        """Return the ids of the stray payments of other checks."""
        return [tx_id for tx_id, maker in self._makers.items() if maker != check]

    def may_come_from_others(self, check: str) -> bool:
        """Return whether another check is making stray payments now."""
        return any(count for maker, count in self._active_makers.items() if maker != check)
