"""Signed Solana transactions, read from their bytes: legacy messages and those of version 0."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from conformance.oracles.welds.refusal import broken, intact
from conformance.oracles.welds.solana.accounts import text_of

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
    def read(cls, raw: bytes, loaded: Sequence[Sequence[str]]) -> SignedTransaction:
        """Return the transaction of its bytes as they are sent.

        Args:
            raw: The bytes.
            loaded: What address tables added to its keys: the writable ones, then the read-only ones.

        Raises:
            Refused: A validator would not take it: form, indices, signatures.
        """
        intact(len(raw) <= _MOST_BYTES, "it is longer than a packet")
        cursor = _Cursor(raw)
        signatures = cursor.listed(lambda: cursor.take(_SIGNATURE))
        message = _Message.read(cursor.rest())
        intact(len(signatures) == message.signing, "it has not as many signatures as signers")
        for key, signature in zip(message.keys, signatures, strict=False):
            intact(_holds(key, signature, cursor.rest()), "a signature does not hold")
        counts = tuple(len(part) for part in loaded)
        intact(counts == message.looked_up, "the loaded addresses are not those that it looks up")
        keys = [*map(text_of, message.keys), *(one for part in loaded for one in part)]
        intact(len(set(keys)) == len(keys), "an account is named twice")
        return cls(text_of(signatures[0]), tuple(one.among(keys) for one in message.instructions))


@dataclass(frozen=True, slots=True)
class _Compiled:
    """One instruction as the message has it: by places in the list of keys."""

    program: int
    accounts: bytes
    data: bytes

    def among(self, keys: Sequence[str]) -> Instruction:
        intact(all(place < len(keys) for place in self.accounts), "an instruction names an account that is not there")
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
        versioned = bool(raw) and raw[0] >= 0x80
        intact(not versioned or cursor.byte() == 0x80, "its message is of a version that there is not")
        signing, fixed_signing, fixed = cursor.byte(), cursor.byte(), cursor.byte()
        keys = tuple(cursor.listed(lambda: cursor.take(_KEY)))
        intact(fixed_signing < signing and signing + fixed <= len(keys), "its header does not fit its keys")
        cursor.take(_KEY)
        instructions = tuple(cursor.listed(cursor.instruction))
        known = all(0 < one.program < len(keys) for one in instructions)
        intact(known, "an instruction calls a program that is not there")
        lookups = cursor.listed(cursor.lookup) if versioned else []
        intact(not cursor.rest(), "there are bytes after it")
        writable, readonly = (sum(one[place] for one in lookups) for place in (0, 1))
        return cls(signing, keys, instructions, (writable, readonly))


class _Cursor:
    """Reads the wire form: bytes, and lengths of up to three bytes of seven bits, in their shortest form."""

    def __init__(self, raw: bytes) -> None:
        self._raw = raw
        self._at = 0

    def take(self, count: int) -> bytes:
        intact(self._at + count <= len(self._raw), "it ends early")
        self._at += count
        return self._raw[self._at - count : self._at]

    def rest(self) -> bytes:
        return self._raw[self._at :]

    def byte(self) -> int:
        return self.take(1)[0]

    def length(self) -> int:
        found = 0
        for place in range(3):
            byte = self.byte()
            found |= (byte & 0x7F) << 7 * place
            if byte < 0x80:
                intact(byte != 0 or place == 0, "a length is not in its shortest form")
                return found
        raise broken("a length has no end")

    def listed(self, read: Callable[[], _Read]) -> list[_Read]:
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
