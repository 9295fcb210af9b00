"""Transactions that checks make and that pay no link: an event that tells of one is its own check's to judge."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager


class StrayPayments:
    """Which check made each transaction that pays no link, and which checks are about to make some."""

    def __init__(self) -> None:
        self._maker: dict[str, str] = {}
        self._begun: Counter[str] = Counter()

    @contextmanager
    def by(self, check: str) -> Iterator[set[str]]:
        """Let a check make some, and take their ids at the end: an event may tell of one before its id is known."""
        made: set[str] = set()
        self._begun[check] += 1
        try:
            yield made
        finally:
            self._begun[check] -= 1
            self._maker |= dict.fromkeys(made, check)

    def of_others(self, check: str) -> list[str]:
        """Return the ids of those that other checks made."""
        return [tx_id for tx_id, maker in self._maker.items() if maker != check]

    def come_from_others(self, check: str) -> bool:
        """Return whether another check is about to make one."""
        return any(count for maker, count in self._begun.items() if maker != check)
