"""The state that blocks lead to: the EVM's, and the transaction counts and fees that it does not keep."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sim.base.block_records import Block, Mined
from sim.base.transactions import Signed
from sim.base.vm import BlockContext, Message, Vm

COINBASE = "0x4200000000000000000000000000000000000011"


class State:
    """Balances, code, storage and transaction counts after some blocks."""

    def __init__(self, chain_id: int) -> None:
        self.vm = Vm(chain_id)
        self._nonces: dict[str, int] = {}

    def nonce(self, address: str) -> int:
        """Return an account's transaction count."""
        return self._nonces.get(address, 1 if self.vm.code(address) else 0)

    def mine(self, transaction: Signed, context: BlockContext, base_fee: int, before: Sequence[Mined]) -> Mined | None:
        """Carry a transaction out in a block after the ones `before`; None, and nothing done, when it cannot be paid.

        Args:
            transaction: A transaction with its sender's next count.
            context: The block.
            base_fee: What a unit of gas costs in it, in wei.
            before: The block's transactions so far.
        """
        price = min(transaction.max_fee, base_fee + transaction.max_tip)
        if self.vm.balance(transaction.sender) < transaction.gas * transaction.max_fee + transaction.value:
            return None
        self._nonces[transaction.sender] = transaction.nonce + 1
        gas = transaction.gas - transaction.access_gas  # the machine knows nothing of access lists
        message = Message(
            transaction.sender, transaction.to, transaction.data, transaction.value, gas, transaction.nonce
        )
        outcome = self.vm.execute(message, context)
        outcome = replace(outcome, gas_used=outcome.gas_used + transaction.access_gas)
        fee = outcome.gas_used * price
        self.vm.set_balance(transaction.sender, self.vm.balance(transaction.sender) - fee)
        self.vm.set_balance(COINBASE, self.vm.balance(COINBASE) + fee)
        first_log = sum(len(one.outcome.logs) for one in before)
        return Mined(transaction, outcome, context.number, len(before), first_log, price)

    def replay(self, block: Block) -> None:
        """Do again what a block did."""
        for operation in block.operations:
            operation(self.vm)
        transactions: list[Mined] = []
        for transaction in block.mined:
            again = self.mine(transaction.signed, block.context, block.base_fee, transactions)
            assert again is not None  # noqa: S101 - the same operations lead to the same state
            transactions.append(again)
