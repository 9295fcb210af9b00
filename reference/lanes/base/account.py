"""The account from which the rail settles: its key never leaves this object.

Transactions are encoded and signed here, with the library that checks the payers' signatures. A wallet's SDK took
several milliseconds for each.
"""

from __future__ import annotations

from pathlib import Path

from coincurve import PrivateKey
from eth_utils.address import to_checksum_address

from reference.lanes.lane import Fees
from reference.protocol.eip3009 import keccak

GAS_LIMIT = 200_000
# The type of EIP-1559 transactions (EIP-2718).
_TYPE = b"\x02"
_NO_VALUE, _NO_ACCESS_LIST = b"", b"\xc0"


class EvmAccount:
    """One key, and the transactions it signs."""

    def __init__(self, key: bytes) -> None:
        self._key = PrivateKey(key)
        public = self._key.public_key.format(compressed=False)[1:]
        self._address = to_checksum_address(keccak(public)[12:])

    @classmethod
    def from_file(cls, path: Path) -> EvmAccount:
        """Return the account whose key a file holds, 64 hex digits.

        Raises:
            OSError: The file cannot be read.
            ValueError: It holds no key.
        """
        text = path.read_text("ascii").strip().removeprefix("0x")
        # The text of the file is never part of the message, which may be logged.
        if len(text) != 64:
            raise ValueError("the file holds no key of 64 hex digits")
        try:
            return cls(bytes.fromhex(text))
        except Exception as fault:
            raise ValueError("the file holds no key of 64 hex digits") from fault

    @property
    def address(self) -> str:
        """Its address, checksummed."""
        return str(self._address)

    @property
    def gas_limit(self) -> int:
        """Gas that each of its transactions may take."""
        return GAS_LIMIT

    def sign(self, *, chain_id: int, nonce: int, to: str, data: bytes, fees: Fees) -> tuple[bytes, str]:
        """Return a signed call of a contract and its transaction hash, `0x` and lower-case hex."""
        # The order of EIP-1559: chain, nonce, tip, highest fee, gas limit. Then recipient, value and data.
        numbers = [_encode_number(one) for one in (chain_id, nonce, fees.tip, fees.most, GAS_LIMIT)]
        words = (*numbers, bytes.fromhex(to.removeprefix("0x")), _NO_VALUE, data)
        payload = b"".join(map(_encode_word, words)) + _NO_ACCESS_LIST
        signature = self._key.sign_recoverable(keccak(_TYPE + _encode_list(payload)), hasher=None)
        # The library puts the parity last, EIP-1559 wants it first.
        parts = (signature[64:], signature[:32], signature[32:64])  # parity, r and s
        # The hash over the signed bytes is the transaction's id, so the id is known before anything is sent (P-LN-07).
        raw = _TYPE + _encode_list(payload + b"".join(_encode_word(one.lstrip(b"\0")) for one in parts))
        return raw, "0x" + keccak(raw).hex()


def _encode_number(value: int) -> bytes:
    """Return a number in the encoding of transactions: big-endian without leading zeros, empty for zero."""
    return value.to_bytes((value.bit_length() + 7) // 8, "big")


# RLP for one flat list of words. The library would take as long for it as the signature takes.


def _encode_word(raw: bytes) -> bytes:
    return raw if len(raw) == 1 and raw[0] < 0x80 else _encode_length(0x80, len(raw)) + raw


def _encode_list(words: bytes) -> bytes:
    return _encode_length(0xC0, len(words)) + words


def _encode_length(kind: int, size: int) -> bytes:
    if size < 56:
        return bytes([kind + size])
    digits = _encode_number(size)
    return bytes([kind + 55 + len(digits)]) + digits
