"""EVM node: unmodified web3.py, with every fault of the node as `Inconclusive`."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

import aiohttp
from eth_utils.address import is_address, to_checksum_address
from web3 import AsyncWeb3
from web3.exceptions import ContractLogicError, TransactionNotFound, Web3Exception, Web3RPCError

from conformance.http.client import Names
from conformance.lanes.base.eth_account_import import Signer
from conformance.lanes.base.provider import NodeProvider
from conformance.lanes.main_network_guard import NodeNetwork
from conformance.lanes.node_control import NodeControl
from conformance.outcome import Inconclusive
from conformance.target import Budgets
from conformance.target.lanes.base import BaseChain

T = TypeVar("T")
_FIRST_WAIT, _LONGEST_WAIT, _LONGER = 0.05, 1.0, 1.5
_SHORT = 300
# The answers of nodes that know a transaction already, or whose chain has used its nonce.
_KNOWN_ANSWERS = ("already known", "already imported", "nonce too low")
# The exceptions that web3.py lets through if an answer is not one of an Ethereum node.
_STRANGE = (
    Web3Exception,
    aiohttp.ClientError,
    OSError,
    ValueError,
    LookupError,
    TypeError,
    AttributeError,
    RecursionError,
)


@dataclass(frozen=True, slots=True, repr=False)
class Account:
    """An account of the suite; its text does not contain its key."""

    address: str
    key: bytes = field(repr=False)


class Refused(Inconclusive):
    """A transaction that the node refused, or that reverts, with the reason. If unexpected, it decides nothing."""


class BaseNode:
    """Client of one node: queries and submissions; every fault other than a refusal is `Inconclusive`."""

    def __init__(self, chain: BaseChain, budgets: Budgets, names: Names) -> None:
        self._budgets = budgets
        self._names = names
        self._provider = NodeProvider(chain.rpc, budgets.request)
        self.web3: AsyncWeb3[NodeProvider] = AsyncWeb3(self._provider)
        self.control = NodeControl(chain.control, "Base", budgets.request)
        self._nonces: dict[str, int] = {}
        self._turns: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def close(self) -> None:
        """Close connections."""
        await self._provider.disconnect()
        await self.control.close()

    def account(self, key: bytes | None = None) -> Account:
        """Return the account of a private key, or a new account; the key is redacted in all logs."""
        signer = Signer.create() if key is None else Signer.from_key(key)
        for text in (bytes(signer.key).hex(), "0x" + bytes(signer.key).hex()):
            self._names.key(text, "PAYER_KEY", is_given=key is not None)
        return Account(str(signer.address), bytes(signer.key))

    # Asking.

    async def ask(self, question: Awaitable[T]) -> T:
        """Return an answer of the node.

        Raises:
            Refused: The call reverts.
            Inconclusive: The node could not be asked.
        """
        try:
            async with asyncio.timeout(self._budgets.request):
                return await question
        except TimeoutError as fault:
            raise Inconclusive(f"the Base node gave no answer within {self._budgets.request:g} s") from fault
        except ContractLogicError as fault:
            raise Refused(f"the contract refuses: {fault.message}"[:_SHORT]) from fault
        except _STRANGE as fault:
            reason = f"{type(fault).__name__}: {fault}"[:_SHORT]
            raise Inconclusive(f"the Base node could not be asked: {reason}") from fault

    async def chain_id(self) -> int:
        """Return the chain id that the node reports."""
        answer = await self.ask(self.web3.eth.chain_id)
        if not isinstance(answer, int):
            raise Inconclusive("the Base node returned no chain id")
        return answer

    async def read_network(self) -> NodeNetwork:
        """Return the network of the node, by its chain id and, for a possible simulator, by its first block."""
        chain_id = await self.chain_id()
        if not self.control.exists:
            # Without control verbs the chain id decides alone, and not every public node keeps its first block.
            return NodeNetwork(f"eip155:{chain_id}")
        try:
            first = bytes((await self.ask(self.web3.eth.get_block(0)))["hash"])
        except (LookupError, TypeError, ValueError) as fault:
            raise Inconclusive("the Base node returned no hash of its first block") from fault
        return NodeNetwork(f"eip155:{chain_id}", "0x" + first.hex())

    async def newest(self) -> Mapping[str, Any]:
        """Return the newest block."""
        return await self.ask(self.web3.eth.get_block("latest"))

    async def block_time(self) -> int:
        """Return the time of the newest block in unix seconds."""
        try:
            return int((await self.newest())["timestamp"])
        except (LookupError, TypeError, ValueError) as fault:
            raise Inconclusive("the Base node returned no time of its newest block") from fault

    async def next_block_time(self) -> int:
        """Return the time of the block that the node would make now."""
        newest = await self.block_time()
        try:
            # A node that makes blocks only for transactions has an old newest block, although its next one is of the
            # present.
            pending_block = await self.ask(self.web3.eth.get_block("pending"))
            return max(newest, int(pending_block["timestamp"]))
        except (Inconclusive, LookupError, TypeError, ValueError):
            # Many nodes have no pending block.
            return newest

    async def wei(self, address: str) -> int:
        """Return an account's balance of the native coin, in wei."""
        return int(await self.ask(self.web3.eth.get_balance(to_checksum_address(address))))

    # Submitting.

    async def send(
        self, sender: Account, to: str | None, data: bytes = b"", *, value: int = 0, gas: int | None = None
    ) -> str:
        """Sign and submit a transaction and return its id; without `to` it creates a contract.

        Args:
            sender: Who signs and pays the gas.
            to: Receiver, in any case of letters.
            data: Call data.
            value: Wei that move with it.
            gas: Gas limit; if None, an estimate, which refuses a transaction that reverts.

        Raises:
            Refused: The node refuses it, or it would revert.
            Inconclusive: The node could not be asked.
        """
        call, limit, fees = await self._prepare(sender, to, data, value, gas)
        # One transaction of a sender at a time: an EVM chain executes an account's nonces in order, so a gap would
        # block all later transactions of the account.
        async with self._turns[sender.address]:
            nonce = await self._next_nonce(sender)
            tx_id, raw = await self._sign_fields(sender, {**call, **fees, "gas": limit, "nonce": nonce})
            await self._submit(sender, raw)
            self._nonces[sender.address] = nonce + 1
        return tx_id

    async def sign(self, sender: Account, to: str, data: bytes) -> tuple[str, bytes]:
        """Sign a transaction without sending it; return its id and the bytes to send.

        Raises:
            Refused: It would revert.
            Inconclusive: The node could not be asked.
        """
        call, limit, fees = await self._prepare(sender, to, data, 0, None)
        nonce = await self._next_nonce(sender)
        return await self._sign_fields(sender, {**call, **fees, "gas": limit, "nonce": nonce})

    async def _prepare(
        self, sender: Account, to: str | None, data: bytes, value: int, gas: int | None
    ) -> tuple[dict[str, Any], int, dict[str, int]]:
        """Return a call, its gas limit and its fees."""
        call: dict[str, Any] = {"from": sender.address, "data": data, "value": value}
        if to is not None:
            call["to"] = to_checksum(to)
        # Transactions before it in the block may raise its cost: filling a balance of zero, for example, costs more.
        limit = gas or 2 * await self._estimate_gas(call)
        return call, limit, await self._fees()

    async def _sign_fields(self, sender: Account, fields: dict[str, Any]) -> tuple[str, bytes]:
        transaction = Signer.sign_transaction({**fields, "chainId": await self.chain_id(), "type": 2}, sender.key)
        tx_id = "0x" + bytes(transaction.hash).hex()
        self._names.name(tx_id, "TX_ID")
        return tx_id, bytes(transaction.raw_transaction)

    async def take(self, raw: bytes) -> None:
        """Give the node a signed transaction; a transaction that it knows already is accepted.

        Raises:
            Refused: The node refuses it.
            Inconclusive: The node could not be asked.
        """
        try:
            async with asyncio.timeout(self._budgets.request):
                await self.web3.eth.send_raw_transaction(raw)
        except Web3RPCError as fault:
            if not any(word in str(fault.message).lower() for word in _KNOWN_ANSWERS):
                raise Refused(f"the Base node refused the transaction: {fault.message}"[:_SHORT]) from fault
        except (TimeoutError, *_STRANGE) as fault:
            raise Inconclusive(f"the Base node could not be given a transaction: {fault}"[:_SHORT]) from fault

    async def _estimate_gas(self, call: Any) -> int:
        """Return the gas that a transaction needs; an error of the node is a refusal of the transaction."""

        async def estimate() -> int:
            try:
                return int(await self.web3.eth.estimate_gas(call))
            except Web3RPCError as fault:
                raise Refused(f"the Base node refused the transaction: {fault.message}"[:_SHORT]) from fault

        return await self.ask(estimate())

    async def _submit(self, sender: Account, raw: bytes) -> None:
        try:
            async with asyncio.timeout(self._budgets.request):
                await self.web3.eth.send_raw_transaction(raw)
        except Web3RPCError as fault:
            self._nonces.pop(sender.address, None)
            raise Refused(f"the Base node refused the transaction: {fault.message}"[:_SHORT]) from fault
        except (TimeoutError, *_STRANGE) as fault:
            self._nonces.pop(sender.address, None)
            raise Inconclusive(f"the Base node could not be given a transaction: {fault}"[:_SHORT]) from fault

    async def _next_nonce(self, sender: Account) -> int:
        nonce = self._nonces.get(sender.address)
        if nonce is not None:
            return nonce
        return int(await self.ask(self.web3.eth.get_transaction_count(to_checksum_address(sender.address), "pending")))

    async def gas_price(self) -> int:
        """Return the price of a unit of gas, in wei."""
        return int(await self.ask(self.web3.eth.gas_price))

    async def _fees(self) -> dict[str, int]:
        tip = int(await self.ask(self.web3.eth.max_priority_fee))
        # Twice the base fee, which can rise by an eighth with each block, covers the next blocks.
        base = int((await self.newest()).get("baseFeePerGas") or 0)
        return {"maxFeePerGas": base * 2 + tip, "maxPriorityFeePerGas": tip}

    async def receipt(self, tx_id: str) -> Mapping[str, Any] | None:
        """Return a transaction's receipt; None while it is in no block."""
        try:
            async with asyncio.timeout(self._budgets.request):
                return await self.web3.eth.get_transaction_receipt(tx_id)  # type: ignore[arg-type]
        except TransactionNotFound:
            return None
        except (TimeoutError, *_STRANGE) as fault:
            raise Inconclusive(f"the Base node could not be asked: {fault}"[:_SHORT]) from fault

    async def read_call(self, tx_id: str) -> bytes | None:
        """Return the call data of a transaction; None if the node does not know it."""
        try:
            async with asyncio.timeout(self._budgets.request):
                return bytes((await self.web3.eth.get_transaction(tx_id))["input"])  # type: ignore[arg-type]
        except TransactionNotFound:
            return None
        except (TimeoutError, *_STRANGE) as fault:
            raise Inconclusive(f"the Base node could not be asked: {fault}"[:_SHORT]) from fault

    async def wait_for_blocks(self, count: int) -> None:
        """Wait for a number of new blocks.

        Raises:
            Inconclusive: They did not come within the budget.
        """
        end = await self.ask(self.web3.eth.block_number) + count
        for wait in self._waits():
            if await self.ask(self.web3.eth.block_number) >= end:
                return
            await asyncio.sleep(wait)
        raise Inconclusive(f"the Base node made no {count} blocks within {self._budgets.confirmation:g} s")

    def _waits(self) -> Iterator[float]:
        """Yield ever longer waits until the budget for confirmations is over."""
        loop, wait = asyncio.get_running_loop(), _FIRST_WAIT
        ends = loop.time() + self._budgets.confirmation
        while loop.time() < ends:
            yield wait
            wait = min(wait * _LONGER, _LONGEST_WAIT)

    async def wait_for_block(self, tx_id: str) -> Mapping[str, Any]:
        """Wait for a transaction's block and return its receipt, whether it succeeded or not.

        Raises:
            Inconclusive: It is in no block within the budget.
        """
        for wait in self._waits():
            if (receipt := await self.receipt(tx_id)) is not None:
                return receipt
            await asyncio.sleep(wait)
        raise Inconclusive(f"the transaction was in no block within {self._budgets.confirmation:g} s")

    async def wait_for_success(self, tx_id: str) -> Mapping[str, Any]:
        """Wait for a transaction's block and return its receipt.

        Raises:
            Refused: It failed in its block.
            Inconclusive: It is in no block within the budget.
        """
        receipt = await self.wait_for_block(tx_id)
        if receipt.get("status") != 1:
            raise Refused("the transaction failed in its block")
        return receipt


def to_checksum(address: str) -> str:
    """Return an address with its checksum, which the SDK demands.

    Raises:
        Inconclusive: It is not an address.
    """
    if not is_address(address):
        raise Inconclusive(f"{address[:80]!r} is not an EVM address, so nothing can be sent there")
    return str(to_checksum_address(address))
