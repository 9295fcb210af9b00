"""Token accounts and mints: their bytes, addresses and amounts."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any

from solders.account import Account
from solders.pubkey import Pubkey
from solders.token.associated import get_associated_token_address
from solders.token.state import Mint, TokenAccount

TOKEN = Pubkey.from_string("TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA")
TOKEN_2022 = Pubkey.from_string("TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb")
ASSOCIATED_TOKEN_PROGRAM = Pubkey.from_string("ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL")
TOKEN_PROGRAMS = frozenset((TOKEN, TOKEN_2022))
USDC_MINTS = ("EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v", "4zMMC9srt5Ri5X14GAgXhaHii3GnPAEERYPJgZJDncDU")
USDC_DECIMALS = 6
MINT_BYTES, ACCOUNT_BYTES = 82, 165
_ACCOUNT_KIND = 2  # the byte after a Token-2022 account's base part


@dataclass(frozen=True, slots=True)
class Held:
    """What a token account holds."""

    mint: Pubkey
    owner: Pubkey
    amount: int
    program: Pubkey
    state: TokenAccount


def new_mint(authority: Pubkey, rent: int, supply: int = 0) -> Account:
    """Return a mint of USDC's kind: 6 decimals, with an authority that mints and freezes."""
    data = struct.pack("<I32sQBBI32s", 1, bytes(authority), supply, USDC_DECIMALS, 1, 1, bytes(authority))
    return Account(rent, data, TOKEN)


def new_account(mint: Pubkey, owner: Pubkey, amount: int, rent: int) -> Account:
    """Return an initialised token account."""
    no_key = bytes(32)
    data = struct.pack("<32s32sQI32sBIQQI32s", bytes(mint), bytes(owner), amount, 0, no_key, 1, 0, 0, 0, 0, no_key)
    return Account(rent, data, TOKEN)


def with_supply(mint: Account, supply: int) -> Account:
    """Return a mint with another supply."""
    data = bytearray(mint.data)
    struct.pack_into("<Q", data, 36, supply)
    return Account(mint.lamports, bytes(data), mint.owner)


def associated_address(owner: Pubkey, mint: Pubkey, program: Pubkey = TOKEN) -> Pubkey:
    """Return the address of an owner's associated token account."""
    return get_associated_token_address(owner, mint, program)


def read_held(account: Account | None) -> Held | None:
    """Return what a token account holds, None if the account is not one."""
    if account is None or account.owner not in TOKEN_PROGRAMS:
        return None
    data = bytes(account.data)
    longer = account.owner == TOKEN_2022 and len(data) > ACCOUNT_BYTES and data[ACCOUNT_BYTES] == _ACCOUNT_KIND
    if len(data) != ACCOUNT_BYTES and not longer:
        return None
    try:
        state = TokenAccount.from_bytes(data[:ACCOUNT_BYTES])
    except ValueError:
        return None
    if data[108] == 0:
        return None
    return Held(state.mint, state.owner, state.amount, account.owner, state)


def read_mint(account: Account | None) -> Mint | None:
    """Return a mint, None if the account is not one."""
    if account is None or account.owner not in TOKEN_PROGRAMS or len(account.data) < MINT_BYTES:
        return None
    if len(account.data) == ACCOUNT_BYTES:
        return None
    try:
        mint = Mint.from_bytes(bytes(account.data)[:MINT_BYTES])
    except ValueError:
        return None
    return mint if mint.is_initialized else None


def ui_amount(amount: int, decimals: int) -> dict[str, Any]:
    """Return an amount as the node shows it."""
    whole, part = divmod(amount, 10**decimals)
    text = f"{whole}.{part:0{decimals}d}".rstrip("0").rstrip(".") if decimals else str(whole)
    # The float is the node's own member; it is not used for sums here.
    return {"amount": str(amount), "decimals": decimals, "uiAmount": float(text), "uiAmountString": text}
