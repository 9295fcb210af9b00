"""The guard program that common wallets add to a transaction (Lighthouse), as far as payments need it.

A wallet puts assertions around what it signs: "my account still holds this much afterwards". On a public network the
program evaluates them, and a false one fails the transaction. Here the program accepts every assertion and evaluates
none. It refuses what is no assertion with InvalidInstructionData: empty data, an unknown kind, and the two kinds that
write memory accounts (0 and 1), which no wallet was seen to send.

No toolchain is behind it: the program is written below instruction by instruction (sBPF version 0, 8 bytes each).
"""

from __future__ import annotations

import struct
from typing import Final

from solders.pubkey import Pubkey

GUARD: Final = Pubkey.from_string("L2TExMFKdjpN9kozasaurPirfHy9P8sbXoAN1qA3S95")
# The first byte of an instruction is its kind: 2 to 17 are assertions.
_FIRST_ASSERTION, _LAST_ASSERTION = 2, 17
_INVALID_INSTRUCTION_DATA = 3 << 32

# The input: the number of accounts, each account, the length of the instruction's data, the data. An account that was
# named before takes 8 bytes, whose first is not 255. Another one has its data's length at 80 and its data at 88, then
# 10240 spare bytes, padding to 8, and the rent epoch.
_LENGTH_AT, _DATA_AT, _SPARE, _EPOCH = 80, 88, 10_240, 8
_NOT_NAMED_BEFORE = 255

_LOAD8, _LOAD64, _MOVE, _SET_REGISTER = 0x71, 0x79, 0xBF, 0xB7
_ADD, _ADD_NUMBER, _AND_NUMBER = 0x0F, 0x07, 0x57
_JUMP, _IF_EQUAL, _IF_NUMBER, _IF_NOT_NUMBER, _IF_LESS, _IF_GREATER = 0x05, 0x1D, 0x15, 0x55, 0xA5, 0x25
_WIDE, _EXIT = 0x18, 0x95


def _op(code: int, to: int = 0, of: int = 0, *, at: int = 0, number: int = 0) -> bytes:
    return struct.pack("<BBhi", code, to | of << 4, at, number)


def _code() -> bytes:
    """r6: the part of the input that is read, r7: accounts, r8: accounts that were read."""
    refuse = [
        struct.pack("<BBhI", _WIDE, 0, 0, _INVALID_INSTRUCTION_DATA & 0xFFFF_FFFF),
        struct.pack("<BBhI", 0, 0, 0, _INVALID_INSTRUCTION_DATA >> 32),
        _op(_EXIT),
    ]
    accept = [_op(_SET_REGISTER, 0, number=0), _op(_EXIT)]
    whole = [
        _op(_LOAD64, 4, 6, at=_LENGTH_AT),
        _op(_ADD, 6, 4),
        _op(_ADD_NUMBER, 6, number=_DATA_AT + _SPARE + 7),
        _op(_AND_NUMBER, 6, number=-8),
        _op(_ADD_NUMBER, 6, number=_EPOCH),
    ]
    account = [
        _op(_ADD_NUMBER, 8, number=1),
        _op(_LOAD8, 4, 6),
        _op(_IF_NUMBER, 4, at=2, number=_NOT_NAMED_BEFORE),
        _op(_ADD_NUMBER, 6, number=8),
        _op(_JUMP, at=len(whole)),
        *whole,
    ]
    accounts = [_op(_IF_EQUAL, 8, 7, at=len(account) + 1), *account, _op(_JUMP, at=-(len(account) + 2))]
    # Both end in the three jumps to what refuses, which is behind what accepts.
    kind = [
        _op(_LOAD64, 4, 6),
        _op(_IF_NUMBER, 4, at=3 + len(accept), number=0),
        _op(_LOAD8, 4, 6, at=8),
        _op(_IF_LESS, 4, at=1 + len(accept), number=_FIRST_ASSERTION),
        _op(_IF_GREATER, 4, at=len(accept), number=_LAST_ASSERTION),
    ]
    start = [_op(_LOAD64, 7, 1), _op(_MOVE, 6, 1), _op(_ADD_NUMBER, 6, number=8), _op(_SET_REGISTER, 8, number=0)]
    return b"".join([*start, *accounts, *kind, *accept, *refuse])


_NAMES = b"\0.text\0.shstrtab\0"
_HEAD, _PROGRAM_HEAD, _SECTION_HEAD = 64, 56, 64


def elf() -> bytes:
    """Return the program as the file that Solana's loader takes."""
    code = _code()
    text = _HEAD + _PROGRAM_HEAD
    names = text + len(code)
    heads = (names + len(_NAMES) + 7) & ~7
    identity = b"\x7fELF\x02\x01\x01" + bytes(9)
    layout = (3, 247, 1, text, _HEAD, heads, 0, _HEAD, _PROGRAM_HEAD, 1, _SECTION_HEAD, 3, 2)
    segment = struct.pack("<IIQQQQQQ", 1, 5, text, text, text, len(code), len(code), 8)
    sections = (
        bytes(_SECTION_HEAD),
        struct.pack("<IIQQQQIIQQ", _NAMES.index(b".text"), 1, 6, text, text, len(code), 0, 0, 8, 0),
        struct.pack("<IIQQQQIIQQ", _NAMES.index(b".shstrtab"), 3, 0, 0, names, len(_NAMES), 0, 0, 1, 0),
    )
    file = identity + struct.pack("<HHIQQQIHHHHHH", *layout) + segment + code + _NAMES
    return file.ljust(heads, b"\0") + b"".join(sections)
