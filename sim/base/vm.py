"""The EVM: a thin, disciplined hold on revm.

Two rules keep it sound. A call that must leave no trace runs between a checkpoint and its revert, always paired; and
nothing is ever committed to the library's database, since that makes checkpoints lie afterwards. What the library does
not keep (transaction counts of plain accounts, fees) is kept here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import rlp
from eth_utils.address import to_checksum_address
from eth_utils.crypto import keccak
from pyrevm import EVM, AccountInfo, BlockEnv, CfgEnv, Env

_OUTPUT = re.compile(r"output: 0x([0-9a-f]*)")
_GAS = re.compile(r"gas_used: ([0-9]+)")
_HALT = re.compile(r"reason: (\w+)")
_REFUSAL = re.compile(r"Transaction\((\w+)")
_SPEC = "CANCUN"
_PADDING = 33  # the library shows the code of contracts that were created with as many zeros behind it
GAS_LIMIT = 60_000_000


@dataclass(frozen=True, slots=True)
class Log:
    """One event, as a contract emitted it."""

    address: str
    topics: tuple[str, ...]
    data: bytes


@dataclass(frozen=True, slots=True)
class Message:
    """A call or a creation.

    Attributes:
        sender: Who calls, checksummed.
        to: Who is called; None creates a contract.
        data: Call data or creation code.
        value: Wei that goes along.
        gas: Gas limit.
        nonce: The sender's transaction count, which decides a created contract's address.
    """

    sender: str
    to: str | None
    data: bytes = b""
    value: int = 0
    gas: int = GAS_LIMIT
    nonce: int = 0


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a message.

    Attributes:
        ok: Whether it went through.
        output: What the code returned, a created contract's code, or a revert's data.
        gas_used: Gas, all of the limit after a halt.
        logs: Events, none after a failure.
        created: Address of a created contract.
        halt: Why the machine stopped other than by a revert, in its words, such as `OutOfGas`; else None.
    """

    ok: bool
    output: bytes
    gas_used: int
    logs: tuple[Log, ...] = ()
    created: str | None = None
    halt: str | None = None


@dataclass(frozen=True, slots=True)
class BlockContext:
    """What code can read about its block."""

    number: int
    time: int


class Vm:
    """State of one chain and the code that changes it."""

    def __init__(self, chain_id: int) -> None:
        env = Env(cfg=CfgEnv(chain_id=chain_id), block=BlockEnv(number=0, timestamp=0, basefee=0))
        self._evm = EVM(env=env, spec_id=_SPEC)
        self._planted: dict[str, bytes] = {}

    def execute(self, message: Message, block: BlockContext) -> Outcome:
        """Run a message for good."""
        self._evm.set_block_env(BlockEnv(number=block.number, timestamp=block.time, basefee=0, gas_limit=GAS_LIMIT))
        self._evm.reset_transient_storage()
        try:
            if message.to is None:
                return self._create(message)
            output = self._evm.message_call(
                caller=message.sender, to=message.to, calldata=message.data, value=message.value, gas=message.gas
            )
        except RuntimeError as fault:
            return _outcome_of_failure(str(fault), message.gas)
        return Outcome(ok=True, output=bytes(output), gas_used=self._gas_used(), logs=self._logs())

    def try_out(self, message: Message, block: BlockContext) -> Outcome:
        """Run a message and undo it; also one whose sender is a contract, as nodes let callers ask.

        The library refuses such a sender (EIP-3607), so its code is set aside for that long.
        """
        code = self.code(message.sender) if message.sender != message.to else b""
        checkpoint = self._evm.snapshot()
        if code:
            self.set_code(message.sender, b"")
        try:
            return self.execute(message, block)
        finally:
            self._evm.revert(checkpoint)
            if code:
                self.set_code(message.sender, code)

    def _create(self, message: Message) -> Outcome:
        self._set_nonce(message.sender, message.nonce)
        contract = self._evm.deploy(deployer=message.sender, code=message.data, value=message.value, gas=message.gas)
        code = self.code(contract)
        return Outcome(ok=True, output=code, gas_used=self._gas_used(), logs=self._logs(), created=contract)

    def _set_nonce(self, address: str, nonce: int) -> None:
        balance = self._evm.get_balance(address)
        self._evm.insert_account_info(address, AccountInfo(nonce=nonce))
        self._evm.set_balance(address, balance)

    def _gas_used(self) -> int:
        result = self._evm.result
        return 0 if result is None else result.gas_used

    def _logs(self) -> tuple[Log, ...]:
        result = self._evm.result
        logs = () if result is None else result.logs
        return tuple(Log(one.address.lower(), tuple(one.topics), bytes(one.data[1])) for one in logs)

    def balance(self, address: str) -> int:
        """Return an account's wei."""
        return self._evm.get_balance(address)

    def set_balance(self, address: str, amount: int) -> None:
        """Write an account's wei."""
        self._evm.set_balance(address, amount)

    def code(self, address: str) -> bytes:
        """Return a contract's code; empty for a plain account."""
        if address in self._planted:
            return self._planted[address]
        code = bytes(self._evm.get_code(address) or b"")
        return code[:-_PADDING]

    def set_code(self, address: str, code: bytes) -> None:
        """Plant code at an address, keeping its wei."""
        balance = self._evm.get_balance(address)
        self._evm.insert_account_info(address, AccountInfo(code=code, nonce=1))
        self._evm.set_balance(address, balance)
        self._planted[address] = code

    def storage(self, address: str, slot: int) -> int:
        """Return one storage word."""
        return self._evm.storage(address, slot)

    def set_storage(self, address: str, slot: int, value: int) -> None:
        """Write one storage word."""
        self._evm.insert_account_storage(address, slot, value)


def created_address(sender: str, nonce: int) -> str:
    """Return the address of what a sender creates at a transaction count, checksummed."""
    count = nonce.to_bytes((nonce.bit_length() + 7) // 8, "big")
    return str(to_checksum_address(keccak(rlp.encode([bytes.fromhex(sender[2:]), count]))[12:]))


def _outcome_of_failure(reason: str, gas: int) -> Outcome:
    """Read the library's text of a failure: a revert with its data, or a halt that takes all gas."""
    output, used = _OUTPUT.search(reason), _GAS.search(reason)
    if output:
        return Outcome(ok=False, output=bytes.fromhex(output[1]), gas_used=int(used[1]) if used else gas)
    halt = _HALT.search(reason) or _REFUSAL.search(reason)
    return Outcome(ok=False, output=b"", gas_used=gas, halt=halt[1] if halt else reason)
