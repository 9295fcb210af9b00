"""The suite's Solana program, for a token transfer inside a program call; assembled here, deployable by any account.

The relay calls another program with the accounts it was itself called with. Its instruction data is an unsigned 64-bit
little-endian number n and then the data of the inner call: the inner call names the relay's first n accounts, each with
the rights it has, and goes to the program that is account n. What stands after that is named by the outer call only.
No account may be named twice. The program stores nothing, owns nothing, and signs nothing.

There is no toolchain behind it: `CODE` is written below instruction by instruction (sBPF version 0: 8 bytes each), and
`build_elf` puts it into the file form that Solana's loader takes.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

from solders.instruction import AccountMeta, Instruction
from solders.pubkey import Pubkey
from solders.system_program import ID as SYSTEM_PROGRAM
from solders.system_program import CreateAccountParams, create_account
from solders.sysvar import CLOCK, RENT

# Why a program: a payment inside a program call is not in the top-level instructions of its transaction. A target
# that reads only these misses the payment, or takes a look-alike for one. No toolchain is needed: the code is written
# below instruction by instruction (sBPF version 0, 8 bytes each), and `build_elf` writes the file form of Solana's
# loader.
LOADER = Pubkey.from_string("BPFLoaderUpgradeab1e11111111111111111111111")
BUFFER_HEAD, PROGRAM_SIZE = 37, 36
# A Solana transaction has at most 1232 bytes, with signatures and accounts.
_CHUNK = 900

# The program builds the call in its heap: the instruction, then the account metas, then the account infos.
_HEAP, _METAS, _INFOS = 0x3_0000_0000, 0x40, 0x400
_META_SIZE, _INFO_SIZE = 16, 56
# Of one account in the input: flags at 1 to 3, key at 8, owner at 40, lamports at 72, data length at 80, data at 88;
# after the data 10240 spare bytes, padding to 8, and the rent epoch.
_SPARE = 10_240

_LOAD8, _LOAD64, _STORE8, _STORE64 = 0x71, 0x79, 0x73, 0x7B
_MOVE, _SET_NUMBER, _ADD, _ADD_NUMBER, _AND_NUMBER, _SHIFT_LEFT = 0xBF, 0xB7, 0x0F, 0x07, 0x57, 0x67
_JUMP, _JUMP_IF_EQUAL, _WIDE, _CALL, _EXIT = 0x05, 0x1D, 0x18, 0x85, 0x95


def _op(code: int, to: int = 0, of: int = 0, *, at: int = 0, number: int = 0) -> bytes:
    return struct.pack("<BBhi", code, to | of << 4, at, number)


def _wide(to: int, number: int) -> bytes:
    low, high = number & 0xFFFF_FFFF, number >> 32
    return struct.pack("<BBhI", _WIDE, to, 0, low) + struct.pack("<BBhI", 0, 0, 0, high)


def _copy_byte(source: int, *targets: tuple[int, int]) -> list[bytes]:
    """Copy a flag of the account at r6 to places (register, offset)."""
    return [_op(_LOAD8, 4, 6, at=source), *(_op(_STORE8, register, 4, at=place) for register, place in targets)]


def _point(source: int, *targets: tuple[int, int]) -> list[bytes]:
    """Store the address of a part of the account at r6 in places (register, offset)."""
    stores = (_op(_STORE64, register, 3, at=place) for register, place in targets)
    return [_op(_MOVE, 3, 6), _op(_ADD_NUMBER, 3, number=source), *stores]


def _each_account() -> list[bytes]:
    """r6: the account, r8: its meta, r5: its info, r9: how many were done of r7."""
    body = [
        *_point(8, (8, 0), (5, 0)),
        *_copy_byte(2, (8, 8), (5, 49)),
        *_copy_byte(1, (8, 9), (5, 48)),
        *_copy_byte(3, (5, 50)),
        *_point(72, (5, 8)),
        *_point(88, (5, 24)),
        *_point(40, (5, 32)),
        _op(_LOAD64, 4, 6, at=80),
        _op(_STORE64, 5, 4, at=16),
        _op(_ADD, 6, 4),
        _op(_ADD_NUMBER, 6, number=88 + _SPARE + 7),
        _op(_AND_NUMBER, 6, number=-8),
        _op(_LOAD64, 4, 6),
        _op(_STORE64, 5, 4, at=40),
        _op(_ADD_NUMBER, 6, number=8),
        _op(_ADD_NUMBER, 8, number=_META_SIZE),
        _op(_ADD_NUMBER, 5, number=_INFO_SIZE),
        _op(_ADD_NUMBER, 9, number=1),
    ]
    # Offsets of jumps count instructions from the one after the jump.
    leave = _op(_JUMP_IF_EQUAL, 9, 7, at=len(body) + 1)
    return [leave, *body, _op(_JUMP, at=-(len(body) + 2))]


def _call_on() -> list[bytes]:
    """r6: length of the instruction data, then n, then the inner data. Fills the instruction and the registers."""
    return [
        _op(_LOAD64, 2, 6),
        _op(_LOAD64, 3, 6, at=8),
        _wide(1, _HEAP),
        _op(_MOVE, 4, 3),
        _op(_SHIFT_LEFT, 4, number=4),
        _op(_ADD, 4, 1),
        _op(_LOAD64, 4, 4, at=_METAS),
        _op(_STORE64, 1, 4),
        _op(_MOVE, 4, 1),
        _op(_ADD_NUMBER, 4, number=_METAS),
        _op(_STORE64, 1, 4, at=8),
        _op(_STORE64, 1, 3, at=16),
        _op(_MOVE, 4, 6),
        _op(_ADD_NUMBER, 4, number=16),
        _op(_STORE64, 1, 4, at=24),
        _op(_ADD_NUMBER, 2, number=-8),
        _op(_STORE64, 1, 2, at=32),
        _op(_MOVE, 2, 1),
        _op(_ADD_NUMBER, 2, number=_INFOS),
        _op(_MOVE, 3, 7),
        _op(_SET_NUMBER, 4, number=0),
        _op(_SET_NUMBER, 5, number=0),
    ]


_BEFORE_CALL = b"".join(
    [
        _op(_LOAD64, 7, 1),
        _op(_MOVE, 6, 1),
        _op(_ADD_NUMBER, 6, number=8),
        _wide(8, _HEAP + _METAS),
        _wide(5, _HEAP + _INFOS),
        _op(_SET_NUMBER, 9, number=0),
        *_each_account(),
        *_call_on(),
    ]
)
CODE = _BEFORE_CALL + _op(_CALL, 0, 1, number=-1) + _op(_EXIT)

_SYSCALL = b"sol_invoke_signed_c"
_SECTION_NAMES = b"\0.text\0.dynamic\0.dynsym\0.dynstr\0.rel.dyn\0.shstrtab\0"
_HEAD, _PROGRAM_HEAD, _SECTION_HEAD, _SYMBOL, _RELOCATION = 64, 56, 64, 24, 16


def _align(place: int) -> int:
    return (place + 7) & ~7


def _section(name: str, kind: int, flags: int, place: int, size: int, **more: int) -> bytes:
    name_offset = _SECTION_NAMES.index(name.encode() + b"\0")
    address = place if flags else 0
    link, info, entry = more.get("link", 0), more.get("info", 0), more.get("entry", 0)
    return struct.pack("<IIQQQQIIQQ", name_offset, kind, flags, address, place, size, link, info, 8, entry)


def _segment(kind: int, flags: int, place: int, size: int) -> bytes:
    return struct.pack("<IIQQQQQQ", kind, flags, place, place, place, size, size, 8)


def build_elf() -> bytes:
    """Return the program file: `CODE`, and one relocation that names the system call in its last call."""
    symbols = bytes(_SYMBOL) + struct.pack("<IBBHQQ", 1, 0x10, 0, 0, 0, 0)
    strings = b"\0" + _SYSCALL + b"\0"
    text = _HEAD + 3 * _PROGRAM_HEAD
    dynamic = _align(text + len(CODE))
    symbol_place = dynamic + 7 * 16
    string_place = symbol_place + len(symbols)
    relocations = _align(string_place + len(strings))
    name_place = relocations + _RELOCATION
    heads = _align(name_place + len(_SECTION_NAMES))
    tags = ((17, relocations), (18, _RELOCATION), (19, _RELOCATION), (6, symbol_place), (5, string_place))
    sections = (
        bytes(_SECTION_HEAD),
        _section(".text", 1, 6, text, len(CODE)),
        _section(".dynamic", 6, 3, dynamic, 7 * 16, link=4, entry=16),
        _section(".dynsym", 11, 2, symbol_place, len(symbols), link=4, info=1, entry=_SYMBOL),
        _section(".dynstr", 3, 2, string_place, len(strings)),
        _section(".rel.dyn", 9, 2, relocations, _RELOCATION, link=3, entry=_RELOCATION),
        _section(".shstrtab", 3, 0, name_place, len(_SECTION_NAMES)),
    )
    identity = b"\x7fELF\x02\x01\x01" + bytes(9)
    layout = (3, 247, 1, text, _HEAD, heads, 0, _HEAD, _PROGRAM_HEAD, 3, _SECTION_HEAD, len(sections), 6)
    segments = (
        _segment(1, 5, text, len(CODE)) + _segment(1, 6, dynamic, name_place - dynamic) + _segment(2, 6, dynamic, 112)
    )
    file = bytearray(heads)
    for place, part in (
        (0, identity + struct.pack("<HHIQQQIHHHHHH", *layout) + segments),
        (text, CODE),
        (dynamic, b"".join(struct.pack("<QQ", *tag) for tag in (*tags, (10, len(strings)), (0, 0)))),
        (symbol_place, symbols),
        (string_place, strings),
        (relocations, struct.pack("<QQ", text + len(_BEFORE_CALL), 1 << 32 | 10)),
        (name_place, _SECTION_NAMES),
    ):
        file[place : place + len(part)] = part
    return bytes(file) + b"".join(sections)


def _account(payer: Pubkey, fresh: Pubkey, size: int, rent: int) -> Instruction:
    params = CreateAccountParams(from_pubkey=payer, to_pubkey=fresh, lamports=rent, space=size, owner=LOADER)
    return create_account(params)


def make_buffer(payer: Pubkey, buffer: Pubkey, rent: int) -> list[Instruction]:
    """Return instructions that create a buffer for the program; `buffer` signs."""
    accounts = [AccountMeta(buffer, False, True), AccountMeta(payer, False, False)]
    instruction = Instruction(LOADER, struct.pack("<I", 0), accounts)
    return [_account(payer, buffer, BUFFER_HEAD + len(build_elf()), rent), instruction]


def write_buffer(payer: Pubkey, buffer: Pubkey) -> list[Instruction]:
    """Return instructions that write the program into the buffer, each for a separate transaction."""
    file = build_elf()
    accounts = [AccountMeta(buffer, False, True), AccountMeta(payer, True, False)]
    parts = [(start, file[start : start + _CHUNK]) for start in range(0, len(file), _CHUNK)]
    return [Instruction(LOADER, struct.pack("<IIQ", 1, start, len(part)) + part, accounts) for start, part in parts]


def deploy(payer: Pubkey, buffer: Pubkey, program: Pubkey, rent: int) -> list[Instruction]:
    """Return instructions that make the buffer's program callable at `program`, which signs."""
    data, _ = Pubkey.find_program_address([bytes(program)], LOADER)
    accounts = [
        AccountMeta(payer, True, True),
        AccountMeta(data, False, True),
        AccountMeta(program, False, True),
        AccountMeta(buffer, False, True),
        *(AccountMeta(key, False, False) for key in (RENT, CLOCK, SYSTEM_PROGRAM)),
        AccountMeta(payer, True, False),
    ]
    instruction = Instruction(LOADER, struct.pack("<IQ", 2, len(build_elf())), accounts)
    return [_account(payer, program, PROGRAM_SIZE, rent), instruction]


def call_through(relay: Pubkey, inner: Instruction, *, outer_only: Sequence[Pubkey] = ()) -> Instruction:
    """Return a call of the relay that executes `inner`; only the outer call names the accounts `outer_only`."""
    accounts = [*inner.accounts, AccountMeta(inner.program_id, False, False)]
    outer_accounts = [AccountMeta(key, False, False) for key in outer_only]
    return Instruction(relay, struct.pack("<Q", len(inner.accounts)) + bytes(inner.data), [*accounts, *outer_accounts])
