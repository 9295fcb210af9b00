"""keccak256 and the recovery of secp256k1 signatures as an Ethereum machine runs them: revm, written in Rust."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pyrevm import EVM

_CALLER: Final = "0x" + "22" * 20
_HASHER: Final = "0x" + "11" * 20
_RECOVERY: Final = "0x" + "01".rjust(40, "0")
# A contract that copies its call data to memory and returns the KECCAK256 of it.
_HASHING_CODE: Final = bytes.fromhex("365f5f37365f205f5260205ff3")


@cache
def _machine() -> EVM:
    from pyrevm import EVM, AccountInfo  # noqa: PLC0415 - only the build of vectors needs the machine

    machine = EVM()
    machine.insert_account_info(_HASHER, AccountInfo(code=_HASHING_CODE))
    return machine


def keccak256(data: bytes) -> bytes:
    """Return the hash that the machine's own instruction gives."""
    return bytes(_machine().message_call(_CALLER, _HASHER, calldata=data, is_static=True))


def recover_address(digest: bytes, signature: bytes) -> str | None:
    """Return the address that signed 32 bytes (r, s, v with v 27 or 28), lower-case hex; None if no address fits.

    The machine takes both forms of s.
    """
    data = digest + bytes(31) + signature[64:] + signature[:64]
    answer = bytes(_machine().message_call(_CALLER, _RECOVERY, calldata=data, is_static=True))
    return "0x" + answer[12:].hex() if answer else None
