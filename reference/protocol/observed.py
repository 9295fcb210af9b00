"""What a lane saw on its chain: facts, no verdicts (the adapter contract of profile section 9)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class TxStatus(StrEnum):
    """Where a transaction stands on its chain."""

    ABSENT = "absent"
    PENDING = "pending"
    FAILED = "failed"
    CONFIRMED = "confirmed"


@dataclass(frozen=True, slots=True)
class Transfer:
    """One movement of an asset inside a transaction.

    Attributes:
        ordinal: Its place among the transaction's transfers, from 0.
        asset: Asset id as text.
        sender: Address that is debited.
        receiver: Address that is credited.
        value: Atomic units, without what a close-out adds.
        clawback: Whether somebody other than the holder moved it.
    """

    ordinal: int
    asset: str
    sender: str
    receiver: str
    value: int
    clawback: bool = False


@dataclass(frozen=True, slots=True)
class ObservedTransaction:
    """One transaction as the node tells it.

    Attributes:
        status: Where it stands.
        final: Whether it can no longer be undone by the network's own rule (profile 1.2).
        block_time: Unix seconds of its block; 0 while it has none.
        sender: Address that sent it.
        note: Its note bytes (Algorand), else empty.
        transfers: Top-level asset transfers.
    """

    status: TxStatus
    final: bool = False
    block_time: int = 0
    sender: str = ""
    note: bytes = b""
    transfers: tuple[Transfer, ...] = ()


ABSENT = ObservedTransaction(TxStatus.ABSENT)
