"""Slots: their hashes and times, what is confirmed and final, and how long a blockhash is good."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum

from solders.hash import Hash

FIRST_SLOT = 1000
SKIPPED_SLOTS = (
    37  # slots without a block before the first one here, so that heights and slots differ as on the real network
)
FINAL_AFTER = 32
SLOT_HASHES = 512
_KEPT_SLOTS = 50_000


class Level(IntEnum):
    """Commitment levels, weakest first."""

    processed = 0
    confirmed = 1
    finalized = 2


@dataclass(frozen=True, slots=True)
class Slot:
    """One slot with its block.

    Attributes:
        number: Slot number.
        time: Unix seconds.
        hash: Blockhash.
        parent: Blockhash of the block before.
    """

    number: int
    time: int
    hash: Hash
    parent: Hash

    @property
    def height(self) -> int:
        """Block height."""
        return self.number - SKIPPED_SLOTS


@dataclass(frozen=True, slots=True)
class Standing:
    """Which slots an answer calls processed, confirmed and finalized."""

    head: int
    lying: bool = False

    def slot(self, level: Level) -> int:
        """Return the newest slot of a commitment level."""
        if self.lying:
            return self.head
        return self.head - (0, 1, FINAL_AFTER)[level]

    def level(self, slot: int) -> Level:
        """Return the highest level that a slot has reached."""
        return next(level for level in reversed(Level) if slot <= self.slot(level))


class Slots:
    """The slots of the chain; the newest is open and takes transactions."""

    def __init__(self, seed: bytes, window: int) -> None:
        self.window = window
        self._seed = seed
        self._made = 0
        self._slots: dict[int, Slot] = {}
        self._by_hash: dict[Hash, Slot] = {}
        self.head = Slot(FIRST_SLOT - 1, 0, Hash(hashlib.sha256(seed).digest()), Hash.default())

    def open_next(self, time: int) -> Slot:
        """Close the open slot and open the next."""
        self._made += 1
        number = self.head.number + 1
        preimage = b"%s %d %d %d %s" % (self._seed, self._made, number, time, bytes(self.head.hash))
        slot = Slot(number, max(time, self.head.time), Hash(hashlib.sha256(preimage).digest()), self.head.hash)
        self._slots[number] = self._by_hash[slot.hash] = self.head = slot
        old = self._slots.pop(number - max(_KEPT_SLOTS, self.window) - 1, None)
        if old is not None:
            self._by_hash.pop(old.hash, None)
        return slot

    def get(self, number: int) -> Slot | None:
        """Return a slot of this fork, None if it does not exist or is forgotten."""
        return self._slots.get(number)

    def is_recent(self, blockhash: Hash, slot: int) -> bool:
        """Return whether a transaction with that blockhash is young enough for a bank of a slot."""
        known_slot = self._by_hash.get(blockhash)
        return known_slot is not None and known_slot.number <= slot <= known_slot.number + self.window

    def before(self, number: int, count: int) -> Iterator[Slot]:
        """Yield so many slots before one, newest first."""
        for slot_number in range(number - 1, number - 1 - count, -1):
            slot = self._slots.get(slot_number)
            if slot is not None:
                yield slot

    def cut(self, number: int) -> list[Slot]:
        """Forget every slot after one that is kept, and return the forgotten.

        Raises:
            ValueError: That slot is not kept.
        """
        if number not in self._slots:
            raise ValueError(f"slot {number} is not there to return to")
        removed_slots = [self._slots.pop(gone) for gone in range(number + 1, self.head.number + 1)]
        for slot in removed_slots:
            del self._by_hash[slot.hash]
        self.head = self._slots[number]
        return removed_slots

    def copy(self) -> dict[int, Slot]:
        """Return the slots, to be given back to `load`."""
        return dict(self._slots)

    def load(self, slots: dict[int, Slot]) -> None:
        """Return to copied slots; new ones get hashes that were never reported before."""
        self._slots = dict(slots)
        self._by_hash = {slot.hash: slot for slot in slots.values()}
        self.head = slots[max(slots)]
