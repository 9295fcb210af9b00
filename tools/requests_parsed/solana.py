"""Solana transactions from their wire form, and how one differs from the transfer that an entry asks for."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

_ALPHABET: Final = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
_P: Final = 2**255 - 19
_D: Final = -121665 * pow(121666, -1, _P) % _P
_TRANSFER, _TRANSFER_CHECKED = 3, 12


@dataclass(frozen=True, slots=True)
class Transaction:
    """One transaction as sent to a node.

    Attributes:
        instructions: Program, accounts and data of each top-level one; None stands for an account of a table.
        is_signed: Whether each signature that the message asks for verifies.
    """

    instructions: tuple[tuple[str | None, tuple[str | None, ...], bytes], ...]
    is_signed: bool


def read(raw: bytes) -> tuple[str, Transaction]:
    """Return a transaction and its id, which is its first signature in base58."""
    count, place = _length(raw, 0)
    signatures = [raw[place + 64 * one : place + 64 * one + 64] for one in range(count)]
    message = raw[place + 64 * count :]
    at = 1 if message[0] & 0x80 else 0
    signers, at = message[at], at + 3
    keys_count, at = _length(message, at)
    keys = [message[at + 32 * one : at + 32 * one + 32] for one in range(keys_count)]
    at += 32 * keys_count + 32
    names = [base58(key) for key in keys]
    instructions_count, at = _length(message, at)
    instructions = []
    for _ in range(instructions_count):
        program, (accounts_count, at) = message[at], _length(message, at + 1)
        accounts, at = message[at : at + accounts_count], at + accounts_count
        data_count, at = _length(message, at)
        data, at = message[at : at + data_count], at + data_count
        account_names = tuple(names[one] if one < len(names) else None for one in accounts)
        instructions.append((names[program] if program < len(names) else None, account_names, data))
    is_signed = len(signatures) == signers and all(map(_verifies, keys, signatures, [message] * signers))
    return base58(signatures[0]), Transaction(tuple(instructions), is_signed)


def _verifies(key: bytes, signature: bytes, message: bytes) -> bool:
    try:
        Ed25519PublicKey.from_public_bytes(key).verify(signature, message)
    except InvalidSignature:
        return False
    return True


def deviations(transaction: Transaction, entry: Mapping[str, Any], references: Mapping[str, str]) -> set[str]:
    """Return the fewest differences of a top-level transfer from what an entry asks for.

    `references` are the reference accounts of all challenges.
    """
    faults = set() if transaction.is_signed else {"the transaction's signature"}
    every = [_of_transfer(*one, entry, references) for one in transaction.instructions]
    candidates = [one for one in every if one is not None]
    if not candidates:
        wants = entry["extra"]["svm_reference_pubkey"]
        native = any(program == "1" * 32 and data[:1] == b"\x02" for program, _, data in transaction.instructions)
        is_named = any(wants in accounts for _, accounts, _ in transaction.instructions)
        return (
            faults
            | {"asset: native coin" if native else "no top-level transfer"}
            | (set() if is_named or not native else {"weld: missing or altered"})
        )
    best = min(candidates, key=len)
    if len(candidates) > 1 and best:
        best = best | {"(several transfers)"}
    return faults | best


def _of_transfer(
    program: str | None,
    accounts: tuple[str | None, ...],
    data: bytes,
    entry: Mapping[str, Any],
    references: Mapping[str, str],
) -> set[str] | None:
    if program != _OF_TOKENS or len(data) < 9 or data[0] not in (_TRANSFER, _TRANSFER_CHECKED):
        return None
    is_checked = data[0] == _TRANSFER_CHECKED
    mint = accounts[1] if is_checked else None
    destination, extra = (accounts[2], accounts[4:]) if is_checked else (accounts[1], accounts[3:])
    faults = set()
    if mint not in (entry["asset"], None):
        # The associated account of another mint is another account as well.
        faults.add("asset")
    elif destination is not None and destination != associated_account(entry["payTo"], entry["asset"]):
        faults.add("receiver, or its account of another asset")
    price, amount = int(entry["maxAmountRequired"]), int.from_bytes(data[1:9], "little")
    if amount != price:
        faults.add("amount: less" if amount < price else "(amount: more)")
    if entry["extra"]["svm_reference_pubkey"] not in extra and None not in extra:
        names_other_reference = any(one in references for one in extra)
        faults.add("weld: of another challenge" if names_other_reference else "weld: missing or altered")
    if None in accounts:
        faults.add("(accounts of a table)")
    return faults


_OF_TOKENS: Final = "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA"
_OF_ASSOCIATED: Final = "ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL"


@cache
def associated_account(owner: str, mint: str) -> str:
    """Return the associated token account of an owner and a mint."""
    seeds = b"".join(map(unbase58, (owner, _OF_TOKENS, mint)))
    for bump in range(255, -1, -1):
        text = seeds + bytes([bump]) + unbase58(_OF_ASSOCIATED) + b"ProgramDerivedAddress"
        point = hashlib.sha256(text).digest()
        if not _on_curve(point):
            return base58(point)
    raise ValueError("no address off the curve")


def _on_curve(point: bytes) -> bool:
    y = int.from_bytes(point, "little") % 2**255 % _P
    square = (y * y - 1) * pow(_D * y * y + 1, -1, _P) % _P
    return square == 0 or pow(square, (_P - 1) // 2, _P) == 1


def base58(data: bytes) -> str:
    """Return base58 of bytes."""
    number, text = int.from_bytes(data, "big"), ""
    while number:
        number, digit = divmod(number, 58)
        text = _ALPHABET[digit] + text
    return "1" * (len(data) - len(data.lstrip(b"\0"))) + text


@cache
def unbase58(text: str, count: int = 32) -> bytes:
    """Return the bytes of a text, such as the 32 of an address.

    Raises:
        ValueError: It is no base58, or of more bytes.
    """
    number = 0
    for digit in text:
        number = number * 58 + _ALPHABET.index(digit)
    if number >= 256**count:
        raise ValueError("too many bytes")
    return number.to_bytes(count, "big")


def _length(data: bytes, at: int) -> tuple[int, int]:
    """Read a compact-u16 and return where it ends."""
    value = shift = 0
    while True:
        byte = data[at]
        value, shift, at = value | (byte & 0x7F) << shift, shift + 7, at + 1
        if byte < 0x80:
            return value, at
