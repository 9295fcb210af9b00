"""Token transfers and memos of a Solana transaction, read from its raw bytes (5.5, P-LN-06)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

import base58
from solders.pubkey import Pubkey
from solders.transaction import VersionedTransaction

from reference.protocol.observed_transaction import Transfer

# A node's parsed view is not used. If a transfer has a reference account, that view calls the owner a multisig. It
# also lists what programs did inside, next to what the payer signed. Only top-level instructions of the SPL Token
# program count.
TOKEN_PROGRAM = "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA"  # noqa: S105 - a public program id
ASSOCIATED_PROGRAM = "ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL"
MEMO_PROGRAMS = frozenset(
    {"MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr", "Memo1UhkJRfHyvLMcVucJwxXeuD728EqVDDwQDxFMNo"}
)
_TRANSFER, _TRANSFER_CHECKED = 3, 12
_SIGNATURE_BYTES = 64
_KEY_BYTES = 32


class NotATransaction(ValueError):
    """The bytes are not a Solana transaction."""


def reference_account(digest: bytes) -> str:
    """Return the address whose key is these 32 bytes."""
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
    return str(_decode_transaction(raw).signatures[0])


def fee_payer(raw: bytes) -> str:
    """Return the payer of the transaction's fee: its first account."""
    return str(_decode_transaction(raw).message.account_keys[0])


def count_looked_up_accounts(raw: bytes) -> int:
    """Return how many accounts a transaction takes from address tables.

    Raises:
        NotATransaction: The bytes are not a transaction.
    """
    tables = getattr(_decode_transaction(raw).message, "address_table_lookups", ())
    return sum(len(bytes(one.writable_indexes)) + len(bytes(one.readonly_indexes)) for one in tables)


def transfers(raw: bytes, loaded_accounts: Sequence[str]) -> tuple[Transfer, ...]:
    """Return the token program's top-level transfers of a transaction; `ordinal` is the instruction's index.

    Args:
        raw: The transaction as it was sent.
        loaded_accounts: Accounts that address tables added to its static keys: writable ones, then read-only ones.

    Raises:
        NotATransaction: The bytes are not a transaction.
    """
    keys, message = accounts(raw, loaded_accounts), _decode_transaction(raw).message
    signers = frozenset(keys[: message.header.num_required_signatures])
    token_transfers = []
    for place, instruction in enumerate(message.instructions):
        instruction_accounts = _resolve_accounts(keys, instruction.accounts)
        # An instruction that names an account outside the list is skipped: the node has shown fewer accounts than
        # the transaction uses.
        if instruction_accounts is not None and _at(keys, instruction.program_id_index) == TOKEN_PROGRAM:
            transfer = _transfer(place, bytes(instruction.data), instruction_accounts, signers)
            token_transfers += [] if transfer is None else [transfer]
    return tuple(token_transfers)


def memos(raw: bytes, loaded_accounts: Sequence[str]) -> tuple[bytes, ...]:
    """Return the data of the top-level memo instructions of a transaction.

    Args:
        raw: The transaction as it was sent.
        loaded_accounts: Accounts that address tables added to its static keys.

    Raises:
        NotATransaction: The bytes are not a transaction.
    """
    keys = accounts(raw, loaded_accounts)
    return tuple(
        bytes(instruction.data)
        for instruction in _decode_transaction(raw).message.instructions
        if _at(keys, instruction.program_id_index) in MEMO_PROGRAMS
    )


def accounts(raw: bytes, loaded_accounts: Sequence[str]) -> list[str]:
    """Return the accounts of a transaction in the order in which its instructions number them.

    Raises:
        NotATransaction: The bytes are not a transaction.
    """
    return [*map(str, _decode_transaction(raw).message.account_keys), *loaded_accounts]


def _transfer(
    place: int, data: bytes, instruction_accounts: Sequence[str], signers: Collection[str] = ()
) -> Transfer | None:
    """Return the transfer of one instruction of the token program, if it is Transfer or TransferChecked, else None."""
    if data[:1] == bytes([_TRANSFER]) and len(data) == 9 and len(instruction_accounts) >= 3:
        (source, destination, owner), mint, further = instruction_accounts[:3], "", instruction_accounts[3:]
    elif data[:1] == bytes([_TRANSFER_CHECKED]) and len(data) == 10 and len(instruction_accounts) >= 4:
        (source, mint, destination, owner), further = instruction_accounts[:4], instruction_accounts[4:]
    else:
        return None
    return Transfer(
        ordinal=place,
        asset=mint,
        sender=owner,
        receiver=destination,
        value=int.from_bytes(data[1:9], "little"),
        # A reference never signs, because its private key is unknown (P-LN-06). If a multi-signature account pays,
        # its signers are further accounts, so accounts that sign are left out.
        accounts=tuple(one for one in further if one not in signers),
        source=source,
    )


def _resolve_accounts(keys: Sequence[str], places: Iterable[int]) -> list[str] | None:
    addresses = [_at(keys, place) for place in places]
    return None if None in addresses else [one for one in addresses if one is not None]


def _at(keys: Sequence[str], place: int) -> str | None:
    return keys[place] if place < len(keys) else None


def _decode_transaction(raw: bytes) -> VersionedTransaction:
    try:
        transaction = VersionedTransaction.from_bytes(raw)
    except Exception as fault:
        raise NotATransaction("not a Solana transaction") from fault
    if not transaction.signatures or not transaction.message.account_keys:
        raise NotATransaction("a Solana transaction has a signature and an account")
    return transaction
