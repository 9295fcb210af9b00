"""Transaction shapes of wallets: one token transfer, and the instructions that an honest wallet adds to it."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto
from typing import Any, Final

from solders.compute_budget import set_compute_unit_limit, set_compute_unit_price
from solders.instruction import AccountMeta, Instruction
from solders.pubkey import Pubkey
from spl.token.instructions import create_idempotent_associated_token_account

from conformance.lanes.solana.instructions import TokenTransfer, memo
from conformance.lanes.solana.payer import SolanaPayer

# Lighthouse, whose assertions Phantom and Solflare add to what they sign.
GUARD: Final = Pubkey.from_string("L2TExMFKdjpN9kozasaurPirfHy9P8sbXoAN1qA3S95")
_UNITS, _UNIT_PRICE = 250_000, 1_000
# Codes of Lighthouse: kinds of assertion, the log level (text, if it fails), and operators.
_ACCOUNTS, _TOKEN_ACCOUNTS, _CLOCK = 6, 10, 15
_LOG_FAILURE = 4
_EQUAL, _LESS, _AT_LEAST = 0, 3, 4
_LAMPORTS, _OWNER, _AMOUNT, _SLOT = 0, 1, 2, 0


# A payer does not choose these shapes: the wallet does. It sets a compute budget first, creates the payee's token
# account if it may be missing, adds a memo, and asserts the balances of the payer's accounts with a guard program. It
# compiles the whole with address lookup tables, or as a legacy transaction. A target that reads instructions at fixed
# places refuses honest payments.
class Part(Enum):
    """A part of a wallet's transaction."""

    BUDGET = auto()
    ACCOUNT = auto()
    GUARDS = auto()
    GUARD = auto()
    MEMO = auto()
    TRANSFER = auto()


class Tables(Enum):
    """The accounts that a transaction takes from address lookup tables; all but LEGACY are of version 0."""

    LEGACY = auto()
    NONE = auto()
    ACCOUNTS = auto()
    REFERENCE = auto()
    TWO = auto()


@dataclass(frozen=True, slots=True)
class Shape:
    """The shape of a wallet's transaction.

    Attributes:
        name: The shape in words.
        parts: Its parts in order.
        tables: The accounts that it takes from lookup tables.
        differs_for_links: Whether a checkout link's payment in it differs from the usual one and from the other shapes.
    """

    name: str
    parts: tuple[Part, ...]
    tables: Tables = Tables.NONE
    differs_for_links: bool = True

    @property
    def has_guards(self) -> bool:
        """Whether it calls the guard program."""
        return Part.GUARD in self.parts or Part.GUARDS in self.parts

    def with_memo(self) -> Shape:
        """Return a copy with a memo right after the transfer, if it has no memo."""
        if Part.MEMO in self.parts:
            return self
        place = self.parts.index(Part.TRANSFER) + 1
        return replace(self, parts=(*self.parts[:place], Part.MEMO, *self.parts[place:]))


_B, _A, _GS, _G, _M, _T = Part.BUDGET, Part.ACCOUNT, Part.GUARDS, Part.GUARD, Part.MEMO, Part.TRANSFER
SHAPES: Final = (
    Shape("a legacy transaction", (_T,), Tables.LEGACY),
    Shape("a compute budget first", (_B, _T), differs_for_links=False),
    Shape("a memo before the transfer", (_M, _T), differs_for_links=False),
    Shape("a memo after the transfer", (_T, _M)),
    Shape("the payee's token account made in front", (_A, _T)),
    Shape("twelve memos before the transfer", (_M,) * 12 + (_T,), differs_for_links=False),
    Shape("guards last", (_B, _T, _G), differs_for_links=False),
    Shape("guards before and after the transfer", (_B, _GS, _T, _M, _G)),
    Shape("mint and destination from a lookup table", (_B, _T), Tables.ACCOUNTS),
    Shape("the reference from a lookup table", (_T,), Tables.REFERENCE, differs_for_links=False),
    Shape("all of it, with two lookup tables", (_B, _A, _GS, _T, _M, _G), Tables.TWO),
)


async def list_shapes(payer: SolanaPayer) -> tuple[Sequence[Shape], Sequence[Shape]]:
    """Return the shapes that a node can execute, and those for which it lacks the guard program."""
    if await payer.node.data(GUARD) is not None:
        return SHAPES, ()
    return [one for one in SHAPES if not one.has_guards], [one for one in SHAPES if one.has_guards]


async def send_in_shape(
    payer: SolanaPayer, shape: Shape, transfer: TokenTransfer, payee: Pubkey, text: bytes, **how: Any
) -> str:
    """Send a transfer in the shape of a wallet's transaction and return the transaction's id.

    Args:
        payer: The wallet.
        shape: The shape of its transaction.
        transfer: The transfer.
        payee: The owner of its destination.
        text: The memo, if the shape has one.
        how: Further arguments of `SolanaPayer.send`.
    """
    me = payer.main.key
    # A wallet's table also lists accounts that this transaction does not load; an account that signs cannot be loaded.
    tables: dict[Tables, tuple[tuple[Pubkey, ...], ...]] = {
        Tables.ACCOUNTS: ((me, transfer.mint, transfer.destination),),
        Tables.REFERENCE: (transfer.references,),
        Tables.TWO: ((transfer.mint, transfer.destination), (me, *transfer.references, payee)),
    }
    parts = {
        Part.BUDGET: [set_compute_unit_limit(_UNITS), set_compute_unit_price(_UNIT_PRICE)],
        Part.ACCOUNT: [create_idempotent_associated_token_account(me, payee, transfer.mint)],
        Part.GUARDS: [_assert_lamports(me), _assert_owner(transfer.source, me), _assert_slot()],
        Part.GUARD: [_assert_amount(transfer.source)],
        Part.MEMO: [memo(me, text)],
        Part.TRANSFER: [transfer.instruction()],
    }
    return await payer.send(
        [one for part in shape.parts for one in parts[part]],
        tables=[await payer.address_table(listed) for listed in tables.get(shape.tables, ())],
        legacy=shape.tables is Tables.LEGACY,
        **how,
    )


def _guard(data: bytes, *accounts: Pubkey) -> Instruction:
    return Instruction(GUARD, data, [AccountMeta(key, is_signer=False, is_writable=False) for key in accounts])


def _encode_assertions(kind: int, assertions: Iterable[bytes]) -> bytes:
    assertion_list = list(assertions)
    return bytes((kind, _LOG_FAILURE, len(assertion_list))) + b"".join(assertion_list)


def _assert_lamports(owner: Pubkey) -> Instruction:
    return _guard(_encode_assertions(_ACCOUNTS, [struct.pack("<BQB", _LAMPORTS, 1, _AT_LEAST)]), owner)


def _assert_owner(account: Pubkey, owner: Pubkey) -> Instruction:
    return _guard(_encode_assertions(_TOKEN_ACCOUNTS, [bytes((_OWNER,)) + bytes(owner) + bytes((_EQUAL,))]), account)


def _assert_amount(account: Pubkey) -> Instruction:
    return _guard(_encode_assertions(_TOKEN_ACCOUNTS, [struct.pack("<BQB", _AMOUNT, 0, _AT_LEAST)]), account)


def _assert_slot() -> Instruction:
    return _guard(bytes((_CLOCK, _LOG_FAILURE)) + struct.pack("<BQB", _SLOT, 2**63, _LESS))
