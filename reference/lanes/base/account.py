"""The account from which the rail settles: its key never leaves this object."""

from __future__ import annotations

import sys
from pathlib import Path

from eth_account import Account
from eth_utils.crypto import keccak

from reference.lanes.lane import Fees

GAS_LIMIT = 200_000

# py_ecc, which eth_account imports, lets the interpreter recurse a hundred times deeper than its stack is made for:
# deeply nested JSON would then end the process instead of raising RecursionError.
sys.setrecursionlimit(min(sys.getrecursionlimit(), 1000))


class EvmAccount:
    """One key, and the transactions it signs."""

    def __init__(self, key: bytes) -> None:
        self._account = Account.from_key(key)

    @classmethod
    def read(cls, path: Path) -> EvmAccount:
        """Return the account whose key a file holds, 64 hex digits.

        Raises:
            OSError: The file cannot be read.
            ValueError: It holds no key.
        """
        text = path.read_text("ascii").strip().removeprefix("0x")
        if len(text) != 64:
            raise ValueError("the file holds no key of 64 hex digits")
        try:
            return cls(bytes.fromhex(text))
        except Exception as fault:
            raise ValueError("the file holds no key of 64 hex digits") from fault

    @property
    def address(self) -> str:
        """Its address, checksummed."""
        return str(self._account.address)

    @property
    def gas_limit(self) -> int:
        """Gas that each of its transactions may take."""
        return GAS_LIMIT

    def sign(self, *, chain_id: int, nonce: int, to: str, data: bytes, fees: Fees) -> tuple[bytes, str]:
        """Return a signed call of a contract and its transaction hash, `0x` and lower-case hex."""
        signed = self._account.sign_transaction(
            {
                "type": 2,
                "chainId": chain_id,
                "nonce": nonce,
                "to": to,
                "data": data,
                "value": 0,
                "gas": GAS_LIMIT,
                "maxFeePerGas": fees.most,
                "maxPriorityFeePerGas": fees.tip,
            }
        )
        raw = bytes(signed.raw_transaction)
        return raw, "0x" + keccak(raw).hex()
