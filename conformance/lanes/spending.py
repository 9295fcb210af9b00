"""Spending limits: how much USDC of the operator a run may take; no other asset is ever taken."""

from __future__ import annotations

import hmac
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from conformance.outcome import Inconclusive
from conformance.vocabulary.networks import Network


@dataclass(slots=True)
class Wallet:
    """How much of the operator's money one run may take, shared by its payers on all lanes.

    Attributes:
        main_network: Whether the operator allowed payments on main networks.
        most: Atomic units of USDC that the run may take in all; None if only the profile's limits hold.
        spent: Atomic units of USDC that it took so far; money that is returned at the end is not subtracted.
        label: Text from which the paying account's key is derived, together with the funder's key. A later process
            that has both can then give back what the account holds. Without a label the key is random.
    """

    main_network: bool = False
    most: int | None = None
    spent: int = 0
    label: str | None = None


def derive_seed(funder_key: bytes, label: str) -> bytes:
    """Return 32 bytes that make the key of a paying account, from the funder's key and a label."""
    # Derived, not stored: a later process with the funder's key and the label can empty the account after a crash,
    # and a reader of the label alone cannot.
    return hmac.digest(funder_key, b"weldproof pay, paying account: " + label.encode(), "sha256")


class SpendingLimit:
    """A limit of the USDC that the operator's account gives in a run, with the count of what it gave."""

    def __init__(self, table: str, most: str | None, usdc: Network, wallet: Wallet) -> None:
        """Take a limit.

        Args:
            table: Table of the profile, for the sentence.
            most: Atomic units of USDC, as decimal digits.
            usdc: The network whose USDC may be given.
            wallet: What the run took so far.

        Raises:
            Inconclusive: There is no limit.
        """
        if most is None:
            raise Inconclusive(f"[{table}] has a funder and no spending_limit, so nothing is taken from its account")
        self.usdc = usdc
        self.table = table
        self.label = wallet.label
        # Shared with the payers of other lanes: the limit holds over the whole run. Every payment of the suite spends
        # only what this account gave before, so no payment can exceed the limit, whatever a target asks for.
        self._wallet = wallet
        self._most = int(most)

    @property
    def _remainder(self) -> int:
        most = self._most if self._wallet.most is None else min(self._most, self._wallet.most)
        return most - self._wallet.spent

    def size_purse(self, usual: int) -> int:
        """Return how much to give at a time: the usual amount, or the rest of the limit."""
        # Not negative: a limit of this command may be smaller than what other lanes took already.
        return max(0, min(usual, self._remainder))

    async def take(self, asset: str, amount: int, decimals: Callable[[], Awaitable[int]]) -> None:
        """Count `amount` atomic units before they are given.

        Args:
            asset: Id of the asset, as its chain writes it.
            amount: How many of its atomic units.
            decimals: Asks the node for the asset's decimals.

        Raises:
            Inconclusive: It is another asset than the network's USDC, or has other decimals, or the amount exceeds
                the limit. Nothing is counted then.
        """
        # An entry of a hostile rail could name any asset of the operator's account.
        if not self.usdc.is_asset(asset):
            raise Inconclusive(
                f"the asset {asset[:80]} is not USDC of {self.usdc.key} ({self.usdc.asset_id}): nothing else is paid "
                f"from the account of [{self.table}] funder"
            )
        # A wrong number of decimals would make an amount a million times larger than the operator meant.
        decimal_places = await decimals()
        if decimal_places != self.usdc.decimals:
            raise Inconclusive(
                f"USDC of {self.usdc.key} has {self.usdc.decimals} decimals, and the node's asset {asset[:80]} has "
                f"{decimal_places}: nothing is paid from the account of [{self.table}] funder"
            )
        if amount > self._remainder:
            raise Inconclusive(self._explain_excess(amount))
        # Counted before the transfer: a transfer whose answer is lost counts as spent.
        self._wallet.spent += amount

    def _explain_excess(self, amount: int) -> str:
        limit = f"[{self.table}] spending_limit is {self._most} atomic units"
        if self._wallet.most is not None and self._wallet.most < self._most:
            limit = f"this command may pay {self._wallet.most} atomic units of USDC"
        return f"{limit}: {self._wallet.spent} were given on all lanes, and this payment needs {amount} more"
