"""Accounts and assets, as values that are replaced and never changed in place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any


@dataclass(frozen=True, slots=True)
class Holding:
    """What an account holds of one asset."""

    amount: int = 0
    frozen: bool = False


@dataclass(frozen=True, slots=True)
class Account:
    """One account.

    Attributes:
        algos: Micro-Algos.
        assets: Holdings by asset id; opting in makes an empty one.
        created: Ids of assets it created.
        auth: Key that must sign for it after a rekey, else None.
    """

    algos: int = 0
    assets: Mapping[int, Holding] = field(default_factory=dict)
    created: frozenset[int] = frozenset()
    auth: bytes | None = None

    @property
    def is_empty(self) -> bool:
        """Whether nothing is left of it."""
        return self.algos == 0 and not self.assets and not self.created and self.auth is None

    def minimum(self, unit: int) -> int:
        """Return its minimum balance."""
        return unit * (1 + len(self.assets))

    def with_holding(self, asset: int, holding: Holding | None) -> Account:
        """Return the account with one holding set, or without it if `holding` is empty."""
        assets = dict(self.assets)
        if holding is None:
            del assets[asset]
        else:
            assets[asset] = holding
        return replace(self, assets=assets)


@dataclass(frozen=True, slots=True)
class Asset:
    """One asset: who made it and its parameters in the chain's short names."""

    creator: bytes
    params: Mapping[str, Any]


class State:
    """Accounts and assets over an optional parent: reads fall through, writes stay here until merged."""

    def __init__(self, parent: State | None = None) -> None:
        self._parent = parent
        self._accounts: dict[bytes, Account] = {}
        self._assets: dict[int, Asset | None] = {}
        self.counter: int = 0 if parent is None else parent.counter
        self.leases: dict[tuple[bytes, bytes], int] = {}
        self.ids: dict[str, int] = {}

    def account(self, key: bytes) -> Account:
        """Return an account; one that was never used is empty."""
        stored_account = self._accounts.get(key)
        if stored_account is not None:
            return stored_account
        return Account() if self._parent is None else self._parent.account(key)

    def put(self, key: bytes, account: Account) -> None:
        """Replace an account."""
        self._accounts[key] = account

    def asset(self, asset_id: int) -> Asset | None:
        """Return an asset, or None when it does not exist any more or yet."""
        if asset_id in self._assets:
            return self._assets[asset_id]
        return None if self._parent is None else self._parent.asset(asset_id)

    def put_asset(self, asset_id: int, asset: Asset | None) -> None:
        """Set or destroy an asset."""
        self._assets[asset_id] = asset

    def lease(self, sender: bytes, lease: bytes) -> int:
        """Return the last round of a lease, or 0."""
        own = self.leases.get((sender, lease), 0)
        return own or (0 if self._parent is None else self._parent.lease(sender, lease))

    def knows(self, transaction: str) -> bool:
        """Return whether a transaction with this id was applied."""
        return transaction in self.ids or (self._parent is not None and self._parent.knows(transaction))

    @property
    def changed_accounts(self) -> Mapping[bytes, Account]:
        """Accounts that were written here."""
        return self._accounts

    def merge(self) -> None:
        """Write everything down into the parent."""
        if self._parent is not None:
            self._parent.take(self)

    def take(self, child: State) -> None:
        """Take over what a child wrote."""
        self._accounts.update(child._accounts)
        self._assets.update(child._assets)
        self.leases.update(child.leases)
        self.ids.update(child.ids)
        self.counter = child.counter

    def copy(self) -> State:
        """Return an independent copy of a state without parent."""
        twin = State()
        twin._accounts = dict(self._accounts)
        twin._assets = dict(self._assets)
        twin.counter, twin.leases, twin.ids = self.counter, dict(self.leases), dict(self.ids)
        return twin

    @property
    def accounts(self) -> Mapping[bytes, Account]:
        """Every account of a state without parent."""
        return self._accounts

    @property
    def assets(self) -> Mapping[int, Asset | None]:
        """Every asset of a state without parent."""
        return self._assets
