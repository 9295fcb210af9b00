"""How much of the operator's money a run may take, and of what: the network's USDC and nothing else."""

from __future__ import annotations

import hmac
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from conformance.outcome import Inconclusive
from conformance.vocabulary.networks import Network


@dataclass(slots=True)
class Wallet:
    """What one run may take of the operator's money, the same for its payers on every lane.

    Attributes:
        main_network: Whether the operator said that main networks may be paid on.
        most: Atomic units of USDC that the run may take in all; None where only the profile's limits hold.
        spent: Atomic units of USDC that it took so far; what comes back at the end is not counted off.
        label: Text from which the paying account's key is derived, together with the funder's key. A later process
            that has both can then give back what the account holds. Without a label the key is random.
    """

    main_network: bool = False
    most: int | None = None
    spent: int = 0
    label: str | None = None


def derive_seed(funder_key: bytes, label: str) -> bytes:
    """Return 32 bytes that make the key of a paying account, from the funder's key and a label."""
    return hmac.digest(funder_key, b"weldproof pay, paying account: " + label.encode(), "sha256")


class SpendingLimit:
    """Lets the operator's account give USDC up to a limit, and counts what it gives.

    Every payment of the suite spends what this account gave before, so no payment can go beyond the limit. A limit
    holds over the whole run: what other payers took, on whatever lane, counts as well.
    """

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
        self._wallet = wallet
        self._most = int(most)

    @property
    def _remainder(self) -> int:
        most = self._most if self._wallet.most is None else min(self._most, self._wallet.most)
        return most - self._wallet.spent

    def size_purse(self, usual: int) -> int:
        """Return how much to give at a time: the usual amount, or what is left of the limit."""
        return max(0, min(usual, self._remainder))

    async def take(self, asset: str, amount: int, decimals: Callable[[], Awaitable[int]]) -> None:
        """Count `amount` atomic units before they are given.

        Args:
            asset: Id of the asset, as its chain writes it.
            amount: How many of its atomic units.
            decimals: Asks the node for the asset's decimals.

        Raises:
            Inconclusive: It is another asset than the network's USDC, or has other decimals; or they would go beyond
                the limit. Nothing is counted.
        """
        if not self.usdc.is_asset(asset):
            raise Inconclusive(
                f"the asset {asset[:80]} is not USDC of {self.usdc.key} ({self.usdc.asset_id}): nothing else is paid "
                f"from the account of [{self.table}] funder"
            )
        decimal_places = await decimals()
        if decimal_places != self.usdc.decimals:
            raise Inconclusive(
                f"USDC of {self.usdc.key} has {self.usdc.decimals} decimals, and the node's asset {asset[:80]} has "
                f"{decimal_places}: nothing is paid from the account of [{self.table}] funder"
            )
        if amount > self._remainder:
            raise Inconclusive(self._explain_excess(amount))
        self._wallet.spent += amount

    def _explain_excess(self, amount: int) -> str:
        limit = f"[{self.table}] spending_limit is {self._most} atomic units"
        if self._wallet.most is not None and self._wallet.most < self._most:
            limit = f"this command may pay {self._wallet.most} atomic units of USDC"
        return f"{limit}: {self._wallet.spent} were given on all lanes, and this payment needs {amount} more"
