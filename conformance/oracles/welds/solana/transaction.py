"""Signed Solana transactions, read from their bytes: legacy messages and those of version 0."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from conformance.oracles.welds.refusal_stages import demand_valid, invalid_transaction
from conformance.oracles.welds.solana.accounts import text_of

# The smallest packet that IPv6 guarantees (1280 bytes), without the headers of IPv6 and UDP.
_MOST_BYTES: Final = 1232
_KEY: Final = 32
_SIGNATURE: Final = 64
_Read = TypeVar("_Read")


@dataclass(frozen=True, slots=True)
class Instruction:
    """One top-level instruction, by addresses."""

    program: str
    accounts: tuple[str, ...]
    data: bytes


@dataclass(frozen=True, slots=True)
class SignedTransaction:
    """One that a validator would take."""

    tx_id: str
    instructions: tuple[Instruction, ...]

    @classmethod
    def read(cls, raw: bytes, loaded_addresses: Sequence[Sequence[str]]) -> SignedTransaction:
        """Return the transaction of its bytes as they are sent.

        Args:
            raw: The bytes.
            loaded_addresses: What address tables added to its keys: the writable ones, then the read-only ones.

        Raises:
            PaymentRefusal: A validator would not take it: form, indices, signatures.
        """
        demand_valid(len(raw) <= _MOST_BYTES, "it is longer than a packet")
        cursor = _Cursor(raw)
        signatures = cursor.read_list(lambda: cursor.take(_SIGNATURE))
        message = _Message.read(cursor.remaining_bytes())
        demand_valid(len(signatures) == message.signing, "it has not as many signatures as signers")
        # The signers are the first keys of the message, in the order of the signatures.
        for key, signature in zip(message.keys, signatures, strict=False):
            demand_valid(_holds(key, signature, cursor.remaining_bytes()), "a signature does not hold")
        counts = tuple(len(part) for part in loaded_addresses)
        demand_valid(counts == message.looked_up, "the loaded addresses are not those that it looks up")
        keys = [*map(text_of, message.keys), *(one for part in loaded_addresses for one in part)]
        # A validator rejects a repeated account, because its lock would be ambiguous.
        demand_valid(len(set(keys)) == len(keys), "an account is named twice")
        return cls(text_of(signatures[0]), tuple(one.among(keys) for one in message.instructions))


@dataclass(frozen=True, slots=True)
class _Compiled:
    """One instruction as the message has it: by places in the list of keys."""

    program: int
    accounts: bytes
    data: bytes

    def among(self, keys: Sequence[str]) -> Instruction:
        demand_valid(
            all(place < len(keys) for place in self.accounts), "an instruction names an account that is not there"
        )
        return Instruction(keys[self.program], tuple(keys[place] for place in self.accounts), self.data)


@dataclass(frozen=True, slots=True)
class _Message:
    """A message; `looked_up` counts the writable and the read-only addresses that tables add."""

    signing: int
    keys: tuple[bytes, ...]
    instructions: tuple[_Compiled, ...]
    looked_up: tuple[int, int]

    @classmethod
    def read(cls, raw: bytes) -> _Message:
        cursor = _Cursor(raw)
        is_versioned = bool(raw) and raw[0] >= 0x80
        # The top bit marks a versioned message. Version 0 is the only one.
        demand_valid(not is_versioned or cursor.byte() == 0x80, "its message is of a version that there is not")
        signing, fixed_signing, readonly_unsigned = cursor.byte(), cursor.byte(), cursor.byte()
        keys = tuple(cursor.read_list(lambda: cursor.take(_KEY)))
        demand_valid(
            fixed_signing < signing and signing + readonly_unsigned <= len(keys), "its header does not fit its keys"
        )
        # The recent blockhash. A transaction in a block had a current one, so its age is not judged here.
        cursor.take(_KEY)
        instructions = tuple(cursor.read_list(cursor.instruction))
        # Place 0 is the fee payer, which cannot be a program. A program must also be a key of the message itself, never
        # one that an address table adds.
        is_program_known = all(0 < one.program < len(keys) for one in instructions)
        demand_valid(is_program_known, "an instruction calls a program that is not there")
        lookups = cursor.read_list(cursor.lookup) if is_versioned else []
        demand_valid(not cursor.remaining_bytes(), "there are bytes after it")
        writable, readonly = (sum(one[place] for one in lookups) for place in (0, 1))
        return cls(signing, keys, instructions, (writable, readonly))


class _Cursor:
    """Reads the wire form: bytes, and lengths of up to three bytes of seven bits, in their shortest form."""

    def __init__(self, raw: bytes) -> None:
        self._raw = raw
        self._at = 0

    def take(self, count: int) -> bytes:
        demand_valid(self._at + count <= len(self._raw), "it ends early")
        self._at += count
        return self._raw[self._at - count : self._at]

    def remaining_bytes(self) -> bytes:
        return self._raw[self._at :]

    def byte(self) -> int:
        return self.take(1)[0]

    def length(self) -> int:
        length = 0
        for place in range(3):
            byte = self.byte()
            length |= (byte & 0x7F) << 7 * place
            if byte < 0x80:
                # A last byte of zero adds nothing. Validators refuse such an alias, since it gives one transaction two
                # forms.
                demand_valid(byte != 0 or place == 0, "a length is not in its shortest form")
                return length
        raise invalid_transaction("a length has no end")

    def read_list(self, read: Callable[[], _Read]) -> list[_Read]:
        return [read() for _ in range(self.length())]

    def instruction(self) -> _Compiled:
        program = self.byte()
        accounts = self.take(self.length())
        return _Compiled(program, accounts, self.take(self.length()))

    def lookup(self) -> tuple[int, int]:
        """Return how many writable and how many read-only addresses one table adds."""
        self.take(_KEY)
        writable = self.take(self.length())
        return len(writable), len(self.take(self.length()))


def _holds(key: bytes, signature: bytes, message: bytes) -> bool:
    try:
        Ed25519PublicKey.from_public_bytes(key).verify(signature, message)
    except (InvalidSignature, ValueError):
        return False
    return True
