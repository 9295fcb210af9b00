"""Token transfers and memos of a Solana transaction, read from its raw bytes (5.5, P-LN-06).

A node's parsed view is not asked: with a reference account it calls the owner a multisig, and it shows what a program
did inside beside what the payer signed for. Only top-level instructions of the SPL Token program count.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

import base58
from solders.pubkey import Pubkey
from solders.transaction import VersionedTransaction

from reference.protocol.observed import Transfer

TOKEN_PROGRAM = "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA"  # noqa: S105 - a public program id
ASSOCIATED_PROGRAM = "ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL"
MEMO_PROGRAMS = frozenset(
    {"MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr", "Memo1UhkJRfHyvLMcVucJwxXeuD728EqVDDwQDxFMNo"}
)
_TRANSFER, _TRANSFER_CHECKED = 3, 12
_SIGNATURE_BYTES = 64
_KEY_BYTES = 32


class NotATransaction(ValueError):
    """Bytes that are no Solana transaction."""


def reference_account(digest: bytes) -> str:
    """Return the address that 32 bytes are."""
    return str(Pubkey.from_bytes(digest))


def is_address(text: str) -> bool:
    """Return whether a text is an account's address in its one spelling."""
    try:
        raw = base58.b58decode(text)
    except ValueError:
        return False
    return len(raw) == _KEY_BYTES and base58.b58encode(raw).decode() == text


def associated_account(owner: str, mint: str) -> str:
    """Return the associated token account of an owner for a mint, derived."""
    seeds = [bytes(Pubkey.from_string(one)) for one in (owner, TOKEN_PROGRAM, mint)]
    return str(Pubkey.find_program_address(seeds, Pubkey.from_string(ASSOCIATED_PROGRAM))[0])


def signature_of(raw: bytes) -> str:
    """Return the transaction's id: its first signature, base58.

    Raises:
        NotATransaction: The bytes are not a transaction.
    """
    return str(_decoded(raw).signatures[0])


def fee_payer(raw: bytes) -> str:
    """Return the payer of the transaction's fee: its first account."""
    return str(_decoded(raw).message.account_keys[0])


def looked_up(raw: bytes) -> int:
    """Return how many accounts a transaction takes from address tables.

    Raises:
        NotATransaction: The bytes are not a transaction.
    """
    tables = getattr(_decoded(raw).message, "address_table_lookups", ())
    return sum(len(bytes(one.writable_indexes)) + len(bytes(one.readonly_indexes)) for one in tables)


def transfers(raw: bytes, loaded: Sequence[str]) -> tuple[Transfer, ...]:
    """Return the token program's top-level transfers of a transaction; `ordinal` is the instruction's index.

    Args:
        raw: The transaction as it was sent.
        loaded: What address tables added to its static keys: the writable ones, then the read-only ones.

    Raises:
        NotATransaction: The bytes are not a transaction.
    """
    keys, message = accounts(raw, loaded), _decoded(raw).message
    signers = frozenset(keys[: message.header.num_required_signatures])
    found = []
    for place, instruction in enumerate(message.instructions):
        named = _named(keys, instruction.accounts)
        if named is not None and _at(keys, instruction.program_id_index) == TOKEN_PROGRAM:
            transfer = _transfer(place, bytes(instruction.data), named, signers)
            found += [] if transfer is None else [transfer]
    return tuple(found)


def memos(raw: bytes, loaded: Sequence[str]) -> tuple[bytes, ...]:
    """Return the data of the top-level memo instructions of a transaction.

    Args:
        raw: The transaction as it was sent.
        loaded: What address tables added to its static keys.

    Raises:
        NotATransaction: The bytes are not a transaction.
    """
    keys = accounts(raw, loaded)
    return tuple(
        bytes(instruction.data)
        for instruction in _decoded(raw).message.instructions
        if _at(keys, instruction.program_id_index) in MEMO_PROGRAMS
    )


def accounts(raw: bytes, loaded: Sequence[str]) -> list[str]:
    """Return the accounts of a transaction in the order in which its instructions number them.

    Raises:
        NotATransaction: The bytes are not a transaction.
    """
    return [*map(str, _decoded(raw).message.account_keys), *loaded]


def _transfer(place: int, data: bytes, named: Sequence[str], signers: Collection[str] = ()) -> Transfer | None:
    """Return the transfer that one instruction of the token program is: Transfer or TransferChecked.

    A reference never signs, because its private key is unknown. The further accounts of a multi-signature account
    contain its signers, which are therefore no references.
    """
    if data[:1] == bytes([_TRANSFER]) and len(data) == 9 and len(named) >= 3:
        (source, destination, owner), mint, further = named[:3], "", named[3:]
    elif data[:1] == bytes([_TRANSFER_CHECKED]) and len(data) == 10 and len(named) >= 4:
        (source, mint, destination, owner), further = named[:4], named[4:]
    else:
        return None
    return Transfer(
        ordinal=place,
        asset=mint,
        sender=owner,
        receiver=destination,
        value=int.from_bytes(data[1:9], "little"),
        accounts=tuple(one for one in further if one not in signers),
        source=source,
    )


def _named(keys: Sequence[str], places: Iterable[int]) -> list[str] | None:
    found = [_at(keys, place) for place in places]
    return None if None in found else [one for one in found if one is not None]


def _at(keys: Sequence[str], place: int) -> str | None:
    return keys[place] if place < len(keys) else None


def _decoded(raw: bytes) -> VersionedTransaction:
    try:
        decoded = VersionedTransaction.from_bytes(raw)
    except Exception as fault:
        raise NotATransaction("not a Solana transaction") from fault
    if not decoded.signatures or not decoded.message.account_keys:
        raise NotATransaction("a Solana transaction has a signature and an account")
    return decoded
