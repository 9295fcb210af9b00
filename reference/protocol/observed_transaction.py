"""A transaction as a lane's node reports it: facts without verdicts (the adapter contract of specification 9)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from reference.fast_records import record


# Lanes report facts, and the tables of `weld` and `checkout` judge them. So every lane is judged by the same rules
# in the same order.
class TxStatus(StrEnum):
    """The state of a transaction on its chain."""

    ABSENT = "absent"
    PENDING = "pending"
    FAILED = "failed"
    CONFIRMED = "confirmed"


@record
class Transfer:
    """One movement of an asset inside a transaction.

    Attributes:
        ordinal: Its place in the transaction, from 0: log index (Base), index of the instruction (Solana).
        asset: Asset id as text; empty where the instruction does not name it (Solana's unchecked transfer).
        sender: Address that is debited; on Solana the owner of the debited token account.
        receiver: Address that is credited.
        value: Atomic units, without what a close-out adds.
        clawback: Whether an account other than the holder moved it (Algorand).
        accounts: Further accounts, after source, asset, destination and owner, that do not sign (Solana).
        source: The debited token account (Solana), else empty.
    """

    ordinal: int
    asset: str
    sender: str
    receiver: str
    value: int
    clawback: bool = False
    accounts: tuple[str, ...] = ()
    source: str = ""


@dataclass(frozen=True, slots=True)
class AuthorizationUsed:
    """One use of an EIP-3009 authorization inside a transaction.

    Attributes:
        ordinal: Index of its log, counted from the transaction's first log.
        asset: Contract that emitted it.
        authorizer: Whose authorization it was.
        nonce: Its nonce, `0x` and 64 lower-case hex digits.
    """

    ordinal: int
    asset: str
    authorizer: str
    nonce: str


@record
class ObservedTransaction:
    """One transaction as the node reports it.

    Attributes:
        status: Its state on the chain.
        final: Whether it can no longer be undone by the network's own rule (1.2).
        block_time: Unix seconds of its block; 0 while it has none.
        sender: Address that sent it.
        note: Its note bytes (Algorand), else empty.
        transfers: Top-level asset transfers; on Base every Transfer log.
        authorizations_used: Uses of EIP-3009 authorizations (Base).
        memos: Data of the top-level memo instructions (Solana).
        called_contract: The contract that it calls (Base), if the lane is set to read it.
        calldata: The data of that call.
    """

    status: TxStatus
    final: bool = False
    block_time: int = 0
    sender: str = ""
    note: bytes = b""
    transfers: tuple[Transfer, ...] = ()
    authorizations_used: tuple[AuthorizationUsed, ...] = ()
    memos: tuple[bytes, ...] = ()
    called_contract: str = ""
    calldata: bytes = b""


ABSENT = ObservedTransaction(TxStatus.ABSENT)
