"""How much of the operator's money a run may take."""

from __future__ import annotations

from conformance.check import Inconclusive


class SpendingLimit:
    """Counts what the operator's account gives; what comes back at the end is not counted off.

    Every payment of the suite spends what this account gave before, so no payment can go beyond the limit.
    """

    def __init__(self, table: str, most: str | None) -> None:
        """Take a limit.

        Args:
            table: Table of the profile, for the sentence.
            most: Atomic units of USDC, as decimal digits; None for no limit.
        """
        self._table = table
        self._most = None if most is None else int(most)
        self._given = 0

    def purse(self, usual: int) -> int:
        """Return how much to give at a time: the usual amount, or what is left of the limit."""
        return usual if self._most is None else max(0, min(usual, self._most - self._given))

    def take(self, amount: int) -> None:
        """Count `amount` atomic units before they are given.

        Raises:
            Inconclusive: They would go beyond the limit; nothing is counted.
        """
        if self._most is not None and self._given + amount > self._most:
            raise Inconclusive(
                f"[{self._table}] spending_limit is {self._most} atomic units: {self._given} were given, and this "
                f"payment needs {amount} more"
            )
        self._given += amount
