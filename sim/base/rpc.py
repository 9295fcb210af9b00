"""Ethereum's JSON-RPC over the chain: the methods that web3.py, viem and ethers call, and Anvil's cheat names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from eth_abi.abi import decode as abi_decode
from eth_abi.exceptions import DecodingError
from eth_utils.crypto import keccak

from sim.base import views
from sim.base.arguments import (
    address,
    at,
    hash_of,
    hex_of,
    invalid,
    log_filter,
    mapping,
    message_of,
    number,
    quantity_of,
)
from sim.base.block_records import Block, Mined
from sim.base.chain import FINALIZED_BLOCKS, SAFE_BLOCKS, Chain
from sim.base.cheats import Cheats
from sim.base.pool import AlreadyKnown, Underpriced
from sim.base.state import State
from sim.base.transactions import Malformed, Signed, decode
from sim.base.views import data, quantity
from sim.base.vm import GAS_LIMIT, Message, Outcome
from sim.json_rpc import INVALID_PARAMS, METHOD_NOT_FOUND, Positional, RpcError

REJECTION, REVERSAL = -32000, 3
_ERROR_STRING, _PANIC = "08c379a0", "4e487b71"
_PANICS = {  # in geth's words
    0x00: "generic panic",
    0x01: "assert(false)",
    0x11: "arithmetic underflow or overflow",
    0x12: "division or modulo by zero",
    0x21: "enum overflow",
    0x22: "invalid encoded storage byte array accessed",
    0x31: "out-of-bounds array access; popping on an empty array",
    0x32: "out-of-bounds access of an array or bytesN",
    0x41: "out of memory",
    0x51: "uninitialized function",
}
_DEPTHS = {"latest": 0, "pending": 0, "safe": SAFE_BLOCKS, "finalized": FINALIZED_BLOCKS}
_MAX_DATA, _MAX_CREATION = 131_072, 49_152
_HALTS = {  # in geth's words; what the machine calls it otherwise
    "InvalidFEOpcode": "invalid opcode: INVALID",
    "OpcodeNotFound": "invalid opcode",
    "OutOfGas": "out of gas",
    "StackUnderflow": "stack underflow",
    "StackOverflow": "stack limit reached 1024 (1023)",
    "InvalidJump": "invalid jump destination",
    "CallGasCostMoreThanGasLimit": "intrinsic gas too low",
    "LackOfFundForMaxFee": "insufficient funds for gas * price + value",
    "RejectCallerWithCode": "sender not an eoa",
    "CreateContractSizeLimit": "max code size exceeded",
    "CreateInitCodeSizeLimit": "max initcode size exceeded",
    "CreateCollision": "contract address collision",
}


class Rpc:
    """The node's methods."""

    def __init__(self, chain: Chain) -> None:
        self._chain = chain
        self._methods: Mapping[str, Positional] = {
            "eth_chainId": lambda _: quantity(chain.id),
            "net_version": lambda _: str(chain.id),
            "web3_clientVersion": lambda _: "sim-base/1 (revm)",
            "eth_syncing": lambda _: False,
            "eth_accounts": lambda _: [],
            "eth_blockNumber": lambda _: quantity(chain.reported_number()),
            "eth_gasPrice": lambda _: quantity(chain.base_fee + views.TIP),
            "eth_maxPriorityFeePerGas": lambda _: quantity(views.TIP),
            "eth_feeHistory": self._fees,
            "eth_getBalance": lambda p: quantity(self._state(p, 1).vm.balance(address(p, 0))),
            "eth_getTransactionCount": self._count,
            "eth_getCode": lambda p: data(self._state(p, 1).vm.code(address(p, 0))),
            "eth_getStorageAt": self._storage,
            "eth_call": self._call,
            "eth_estimateGas": self._estimate,
            "eth_sendRawTransaction": self._send,
            "eth_getTransactionByHash": self._transaction,
            "eth_getTransactionReceipt": self._receipt,
            "eth_getBlockByNumber": lambda p: views.block_view(chain, self._block(at(p, 0)), full=bool(at(p, 1))),
            "eth_getBlockByHash": lambda p: views.block_view(
                chain, chain.find_block(hash_of(at(p, 0))), full=bool(at(p, 1))
            ),
            "eth_getBlockReceipts": lambda p: self._of_block(self._block(at(p, 0)), views.receipt_view),
            "eth_getBlockTransactionCountByHash": lambda p: _count_of(chain.find_block(hash_of(at(p, 0)))),
            "eth_getBlockTransactionCountByNumber": lambda p: _count_of(self._block(at(p, 0))),
            "eth_getTransactionByBlockHashAndIndex": lambda p: self._transaction_at(
                chain.find_block(hash_of(at(p, 0))), p
            ),
            "eth_getTransactionByBlockNumberAndIndex": lambda p: self._transaction_at(self._block(at(p, 0)), p),
            "net_listening": lambda _: True,
            "web3_sha3": lambda p: data(bytes(keccak(hex_of(at(p, 0))))),
            "eth_getLogs": self._logs,
            **Cheats(chain).by_name(),
        }

    async def call(self, method: str, params: list[Any]) -> Any:
        """Carry a method out.

        Raises:
            RpcError: It is unknown, badly given or refused.
        """
        handler = self._methods.get(method)
        if handler is None:
            raise RpcError(METHOD_NOT_FOUND, f"the method {method} does not exist/is not available")
        try:
            return handler(params)
        except (TypeError, ValueError, AttributeError) as fault:  # a member of another kind than the method takes
            raise RpcError(INVALID_PARAMS, f"invalid argument: {fault}") from fault

    # Which block is meant.

    def _block(self, tag: Any) -> Block | None:
        """Return the block of a tag, a number, or an object with `blockHash` or `blockNumber` (EIP-1898)."""
        chain = self._chain
        if isinstance(tag, dict) and "blockHash" in tag:
            return chain.find_block(hash_of(tag["blockHash"]))
        if isinstance(tag, dict):
            tag = tag.get("blockNumber")
        if tag is None or (isinstance(tag, str) and tag in _DEPTHS):
            return chain.blocks[max(0, chain.head.number - _DEPTHS[tag or "latest"])]
        block_number = 0 if tag == "earliest" else quantity_of(tag)
        return chain.blocks[block_number] if block_number < len(chain.blocks) else None

    def _known_block(self, tag: Any) -> Block:
        block = self._block(tag)
        if block is None:
            raise RpcError(REJECTION, "header not found")
        return block

    def _state(self, params: list[Any], place: int) -> State:
        if len(params) <= place:
            raise RpcError(INVALID_PARAMS, f"missing value for required argument {place}")
        return self._chain.state_at(self._known_block(at(params, place)))

    # Reading.

    def _count(self, params: list[Any]) -> str:
        account = address(params, 0)
        is_pending = at(params, 1) == "pending"
        return quantity(self._chain.pending_nonce(account) if is_pending else self._state(params, 1).nonce(account))

    def _storage(self, params: list[Any]) -> str:
        return f"0x{self._state(params, 2).vm.storage(address(params, 0), number(params, 1)):064x}"

    def _fees(self, params: list[Any]) -> Any:
        percentiles = at(params, 2) or []
        if not isinstance(percentiles, list) or not all(isinstance(one, int | float) for one in percentiles):
            raise invalid("reward percentiles are numbers")
        return views.fee_history(self._chain, number(params, 0), self._known_block(at(params, 1)), percentiles)

    def _transaction(self, params: list[Any]) -> Any:
        tx_hash = hash_of(at(params, 0))
        transaction = self._chain.index.get(tx_hash)
        if transaction is not None:
            return views.transaction_view(self._chain, transaction)
        pool_transaction = self._chain.pool.find(tx_hash)
        return None if pool_transaction is None else views.pending_view(self._chain, pool_transaction)

    def _receipt(self, params: list[Any]) -> Any:
        transaction = self._chain.index.get(hash_of(at(params, 0)))
        return None if transaction is None else views.receipt_view(self._chain, transaction)

    def _of_block(self, block: Block | None, view: Callable[[Chain, Mined], dict[str, Any]]) -> Any:
        return None if block is None else [view(self._chain, one) for one in block.mined]

    def _transaction_at(self, block: Block | None, params: list[Any]) -> Any:
        """Return the transaction at the place in the second parameter, or None."""
        views_of_block, place = self._of_block(block, views.transaction_view) or [], number(params, 1)
        return views_of_block[place] if place < len(views_of_block) else None

    def _logs(self, params: list[Any]) -> list[dict[str, Any]]:
        members = mapping(params, 0)
        if "blockHash" in members and {"fromBlock", "toBlock"} & members.keys():
            raise RpcError(
                INVALID_PARAMS, "cannot specify both BlockHash and FromBlock/ToBlock, choose one or the other"
            )
        if "blockHash" in members:
            block = self._chain.find_block(hash_of(members["blockHash"]))
            if block is None:
                raise RpcError(REJECTION, "unknown block")
            first = last = block.number
        else:
            first = self._block_number(members.get("fromBlock"), default=self._chain.head.number)
            last = self._block_number(members.get("toBlock"), default=self._chain.head.number)
        if first > last:
            raise RpcError(REJECTION, "invalid block range params")
        sought = log_filter(members)
        return [views.log_view(one) for one in self._chain.logs(first, last) if views.fits(one, sought)]

    def _block_number(self, tag: Any, *, default: int) -> int:
        if tag is None:
            return default
        block = self._block(tag)
        return quantity_of(tag) if block is None else block.number

    # Trying and sending.

    def _call(self, params: list[Any]) -> str:
        block = None if at(params, 1) == "pending" else self._known_block(at(params, 1))
        outcome = self._chain.try_out(self._message(params), block)
        if not outcome.ok:
            raise failure_of(outcome)
        return data(outcome.output)

    def _message(self, params: list[Any]) -> Message:
        """Return the call that is asked about, with the count that a contract it creates would be addressed by."""
        message = message_of(params)
        return replace(message, nonce=self._chain.pending_nonce(message.sender))

    def _estimate(self, params: list[Any]) -> str:
        message = self._message(params)
        if message.value > self._chain.vm.balance(message.sender):
            raise RpcError(REJECTION, "insufficient funds for transfer")
        outcome = self._chain.try_out(message)
        if not outcome.ok:
            raise failure_of(outcome)
        # Calls between blocks find warm storage, so what they use is a little less than what a block will see.
        return quantity(outcome.gas_used * 5 // 4 + 5_000)

    def _send(self, params: list[Any]) -> str:
        try:
            transaction = decode(hex_of(at(params, 0)))
        except Malformed as fault:
            raise RpcError(REJECTION, str(fault)) from fault
        self._check(transaction)
        if self._chain.faults.take_submission("reject_late"):
            return data(transaction.hash)
        try:
            self._chain.pool.add(transaction, is_withheld=self._chain.faults.take_submission("withhold"))
        except AlreadyKnown as fault:
            raise RpcError(REJECTION, "already known") from fault
        except Underpriced as fault:
            raise RpcError(REJECTION, "replacement transaction underpriced") from fault
        return data(transaction.hash)

    def _check(self, transaction: Signed) -> None:
        """Refuse what the account cannot send, in the words of geth."""
        chain, nonce = self._chain, self._chain.nonce(transaction.sender)
        _check_form(transaction, chain.id)
        if transaction.nonce < nonce:
            raise RpcError(REJECTION, f"nonce too low: next nonce {nonce}, tx nonce {transaction.nonce}")
        cost = transaction.gas * transaction.max_fee + transaction.value
        balance = chain.vm.balance(transaction.sender)
        if balance < cost:
            detail = f"address {transaction.sender} have {balance} want {cost}"
            raise RpcError(REJECTION, f"insufficient funds for gas * price + value: {detail}")


def _count_of(block: Block | None) -> str | None:
    return None if block is None else quantity(len(block.mined))


def _check_form(transaction: Signed, chain_id: int) -> None:
    """Refuse what no block of a chain could hold, whatever its sender."""
    if transaction.chain_id is None:
        raise RpcError(REJECTION, "only replay-protected (EIP-155) transactions allowed over RPC")
    if transaction.chain_id != chain_id:
        raise RpcError(REJECTION, f"invalid chain id for signer: have {transaction.chain_id} want {chain_id}")
    if transaction.max_tip > transaction.max_fee:
        raise RpcError(REJECTION, "max priority fee per gas higher than max fee per gas")
    if transaction.gas > GAS_LIMIT:
        raise RpcError(REJECTION, "exceeds block gas limit")
    if transaction.gas < transaction.intrinsic_gas:
        detail = f"gas {transaction.gas}, minimum needed {transaction.intrinsic_gas}"
        raise RpcError(REJECTION, f"intrinsic gas too low: {detail}")
    if len(transaction.raw) > _MAX_DATA:
        raise RpcError(REJECTION, "oversized data")
    if transaction.to is None and len(transaction.data) > _MAX_CREATION:
        detail = f"code size {len(transaction.data)}, limit {_MAX_CREATION}"
        raise RpcError(REJECTION, f"max initcode size exceeded: {detail}")


def failure_of(outcome: Outcome) -> RpcError:
    """Return the node's error for a call that did not go through: a revert with its data, or why the machine halted."""
    if outcome.halt is not None:
        return RpcError(REJECTION, _HALTS.get(outcome.halt, f"evm error: {outcome.halt}"))
    return revert_of(outcome.output)


def revert_of(output: bytes) -> RpcError:
    """Return the node's error for a call that reverted, with the reason where it is a text."""
    if output[:4].hex() == _ERROR_STRING:
        try:
            reason = abi_decode(["string"], output[4:])[0]
        except (DecodingError, UnicodeDecodeError):
            reason = ""
        return RpcError(REVERSAL, f"execution reverted: {reason}", data(output))
    if output[:4].hex() == _PANIC and len(output) == 36:
        number = int.from_bytes(output[4:], "big")
        return RpcError(
            REVERSAL, f"execution reverted: {_PANICS.get(number, f'unknown panic code: {number:#x}')}", data(output)
        )
    return RpcError(REVERSAL, "execution reverted", data(output))
