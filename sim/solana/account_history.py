"""Every account with its past: what it was in each slot, so that older states can be read and newer ones undone."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator
from operator import itemgetter

from solders.account import Account
from solders.pubkey import Pubkey

_slot_of = itemgetter(0)
Version = tuple[int, Account | None]


class Accounts:
    """Versions of accounts by slot. An account that was never written here is what the VM was born with."""

    def __init__(self, born_with: Callable[[Pubkey], Account | None]) -> None:
        self._born_with = born_with
        self._versions: dict[Pubkey, list[Version]] = {}

    def __contains__(self, key: Pubkey) -> bool:
        return key in self._versions

    def at(self, key: Pubkey, slot: int) -> Account | None:
        """Return an account as it was at the end of a slot, None where there was none."""
        versions = self._versions.get(key)
        if versions is None:
            return self._born_with(key)
        place = bisect_right(versions, slot, key=_slot_of)
        return versions[place - 1][1] if place else None

    def remember(self, key: Pubkey) -> None:
        """Keep what an account is before the VM writes it for the first time."""
        if key not in self._versions:
            self._versions[key] = [(-1, self._born_with(key))]

    def put(self, key: Pubkey, slot: int, account: Account | None) -> None:
        """Record what was written to a remembered account in a slot that is not older than its newest version."""
        versions = self._versions[key]
        if versions[-1][0] == slot:
            versions.pop()
        versions.append((slot, account))

    def cut(self, slot: int) -> None:
        """Forget what was written after a slot."""
        for versions in self._versions.values():
            del versions[bisect_right(versions, slot, key=_slot_of) :]

    def all_at(self, slot: int) -> Iterator[tuple[Pubkey, Account]]:
        """Yield every written account that is there at the end of a slot."""
        for key in self._versions:
            account = self.at(key, slot)
            if account is not None:
                yield key, account

    def known_keys(self) -> Iterator[Pubkey]:
        """Yield the key of every account that was ever written."""
        yield from self._versions

    def copy(self) -> dict[Pubkey, list[Version]]:
        """Return all versions, to be given back to `load`."""
        return {key: list(versions) for key, versions in self._versions.items()}

    def load(self, versions: dict[Pubkey, list[Version]]) -> None:
        """Return to copied versions.

        An account that was written only after the copy was made becomes what it was before it was first written.
        """
        first = {key: own[:1] for key, own in self._versions.items()}
        self._versions = {key: list(own) for key, own in (first | versions).items()}
