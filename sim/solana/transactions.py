"""Transactions as they come in: decoding, the accounts they name, and what is read off them."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import base58
from solders.account import Account
from solders.address_lookup_table_account import AddressLookupTable
from solders.instruction import CompiledInstruction
from solders.message import Message, MessageV0
from solders.pubkey import Pubkey
from solders.transaction import SanitizeError, VersionedTransaction

from sim.solana.vm import LOOKUP_TABLES

MAX_BYTES = 1232
_MAX_TEXT = {"base58": 1683, "base64": 1644}
_TYPE = "solana_transaction::versioned::VersionedTransaction"
_TABLE_HEADER_BYTES = 56
MEMO_PROGRAMS = frozenset(
    Pubkey.from_string(text)
    for text in ("MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr", "Memo1UhkJRfHyvLMcVucJwxXeuD728EqVDDwQDxFMNo")
)


class Malformed(Exception):
    """Bytes that are no transaction; the text is the node's."""


@dataclass(frozen=True, slots=True)
class Sent:
    """A decoded transaction with the accounts it names.

    Attributes:
        raw: The transaction.
        writable: Accounts of lookup tables that it may write.
        readonly: Accounts of lookup tables that it only reads.
    """

    raw: VersionedTransaction
    writable: tuple[Pubkey, ...] = ()
    readonly: tuple[Pubkey, ...] = ()

    @property
    def id(self) -> str:
        """First signature, base58."""
        return str(self.raw.signatures[0])

    @property
    def payer(self) -> Pubkey:
        """Who pays the fee."""
        return self.raw.message.account_keys[0]

    @property
    def keys(self) -> tuple[Pubkey, ...]:
        """All accounts in the order that instructions index them: its own, then those of lookup tables."""
        return (*self.raw.message.account_keys, *self.writable, *self.readonly)

    @property
    def is_v0(self) -> bool:
        """Whether it is of version 0, not legacy."""
        return isinstance(self.raw.message, MessageV0)

    def may_write(self, place: int) -> bool:
        """Return whether it holds the write lock of an account, by its place in `keys`."""
        message, header = self.raw.message, self.raw.message.header
        own, signers = len(message.account_keys), header.num_required_signatures
        if place >= own:
            return place < own + len(self.writable)
        if message.is_key_called_as_program(place):
            return False
        if place < signers:
            return place < signers - header.num_readonly_signed_accounts
        return place < own - header.num_readonly_unsigned_accounts

    def instructions(self) -> Iterator[CompiledInstruction]:
        """Yield its instructions."""
        yield from self.raw.message.instructions

    def memo(self) -> str | None:
        """Return its memos as the node lists them beside signatures, or None."""
        keys = self.keys
        memos = [bytes(one.data) for one in self.instructions() if keys[one.program_id_index] in MEMO_PROGRAMS]
        return "; ".join(f"[{len(one)}] {one.decode('utf-8', 'replace')}" for one in memos) or None


def decode(text: str, encoding: str) -> VersionedTransaction:
    """Return the transaction of a text.

    Args:
        text: The wire bytes.
        encoding: "base58" or "base64".

    Raises:
        Malformed: It is not a transaction, or larger than a packet.
    """
    most = _MAX_TEXT.get(encoding)
    if most is None:
        raise Malformed(f"unsupported encoding: {encoding}. Supported encodings: base58, base64")
    if len(text) > most:
        size_text = f"{len(text)} bytes (max: encoded/raw {most}/{MAX_BYTES})"
        raise Malformed(f"{encoding} encoded {_TYPE} too large: {size_text}")
    try:
        raw = base58.b58decode(text) if encoding == "base58" else base64.b64decode(text, validate=True)
    except (ValueError, binascii.Error) as fault:
        raise Malformed(f"invalid {encoding} encoding: {fault}") from fault
    if len(raw) > MAX_BYTES:
        raise Malformed(f"decoded {_TYPE} too large: {len(raw)} bytes (max: {MAX_BYTES} bytes)")
    return _parse(raw)


def _parse(raw: bytes) -> VersionedTransaction:
    try:
        transaction = VersionedTransaction.from_bytes(raw)
    except ValueError as fault:
        raise Malformed(f"failed to deserialize {_TYPE}: {fault}") from fault
    if not isinstance(transaction.message, Message | MessageV0):
        raise Malformed("invalid transaction: unsupported version")
    try:
        transaction.sanitize()
    except SanitizeError as fault:
        raise Malformed(f"invalid transaction: {fault}") from fault
    return transaction


def resolve(transaction: VersionedTransaction, account: Callable[[Pubkey], Account | None]) -> Sent:
    """Return a transaction with the accounts that its lookup tables name.

    A table that is missing, broken or too short gives none: the VM refuses such a transaction and says why.
    """
    message = transaction.message
    if not isinstance(message, MessageV0):
        return Sent(transaction)
    writable: list[Pubkey] = []
    readonly: list[Pubkey] = []
    for lookup in message.address_table_lookups:
        table = read_table(account(lookup.account_key))
        addresses = [] if table is None else list(table.addresses)
        writable += [addresses[place] for place in bytes(lookup.writable_indexes) if place < len(addresses)]
        readonly += [addresses[place] for place in bytes(lookup.readonly_indexes) if place < len(addresses)]
    return Sent(transaction, tuple(writable), tuple(readonly))


def read_table(account: Account | None) -> AddressLookupTable | None:
    """Return a lookup table, None if the account is not one."""
    if account is None or account.owner != LOOKUP_TABLES or len(account.data) < _TABLE_HEADER_BYTES:
        return None
    try:
        return AddressLookupTable.deserialize(bytes(account.data))
    except ValueError:
        return None
