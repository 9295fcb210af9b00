"""Ethereum's JSON-RPC over the chain: the methods that web3.py, viem and ethers call, and Anvil's cheat names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, TypeAlias

from eth_abi.abi import decode as abi_decode
from eth_abi.exceptions import DecodingError
from eth_utils.address import to_checksum_address

from sim.base import views
from sim.base.chain import FINALIZED_BLOCKS, SAFE_BLOCKS, Block, Chain
from sim.base.pool import AlreadyKnown, Underpriced
from sim.base.transactions import Malformed, Signed, decode
from sim.base.views import data, quantity
from sim.base.vm import GAS_LIMIT, Message
from sim.json_rpc import INVALID_PARAMS, METHOD_NOT_FOUND, RpcError

REJECTED, REVERTED = -32000, 3
_ERROR_STRING = "08c379a0"
_ZERO_ADDRESS = "0x" + "0" * 40
_MAX_DATA = 131_072

Method: TypeAlias = Callable[[list[Any]], Any]


class Rpc:
    """The node's methods."""

    def __init__(self, chain: Chain) -> None:
        self._chain = chain
        self._methods: Mapping[str, Method] = {
            "eth_chainId": lambda _: quantity(chain.id),
            "net_version": lambda _: str(chain.id),
            "web3_clientVersion": lambda _: "sim-base/1 (revm)",
            "eth_syncing": lambda _: False,
            "eth_accounts": lambda _: [],
            "eth_blockNumber": lambda _: quantity(chain.told_number()),
            "eth_gasPrice": lambda _: quantity(chain.base_fee + views.TIP),
            "eth_maxPriorityFeePerGas": lambda _: quantity(views.TIP),
            "eth_feeHistory": lambda p: views.fee_history(chain, _number(p, 0), _list(p, 2)),
            "eth_getBalance": lambda p: quantity(self._state(p, 1).vm.balance(_address(p, 0))),
            "eth_getTransactionCount": self._count,
            "eth_getCode": lambda p: data(self._state(p, 1).vm.code(_address(p, 0))),
            "eth_getStorageAt": self._storage,
            "eth_call": self._call,
            "eth_estimateGas": self._estimate,
            "eth_sendRawTransaction": self._send,
            "eth_getTransactionByHash": self._transaction,
            "eth_getTransactionReceipt": self._receipt,
            "eth_getBlockByNumber": lambda p: views.block_view(chain, self._block(_at(p, 0)), full=bool(_at(p, 1))),
            "eth_getBlockByHash": lambda p: views.block_view(
                chain, chain.find_block(_hash(p, 0)), full=bool(_at(p, 1))
            ),
            "eth_getLogs": self._logs,
            "anvil_setBalance": self._set_balance,
            "anvil_setCode": self._set_code,
            "anvil_setStorageAt": self._set_storage,
            "evm_increaseTime": self._increase_time,
            "anvil_increaseTime": self._increase_time,
            "evm_mine": self._mine,
            "anvil_mine": self._mine,
        }

    async def call(self, method: str, params: list[Any]) -> Any:
        """Carry a method out.

        Raises:
            RpcError: It is unknown, badly given or refused.
        """
        known = self._methods.get(method)
        if known is None:
            raise RpcError(METHOD_NOT_FOUND, f"the method {method} does not exist/is not available")
        try:
            return known(params)
        except (TypeError, ValueError, AttributeError) as fault:  # a member of another kind than the method takes
            raise RpcError(INVALID_PARAMS, f"invalid argument: {fault}") from fault

    # Which block is meant.

    def _block(self, tag: Any) -> Block | None:
        chain = self._chain
        depth = {"latest": 0, "pending": 0, None: 0, "safe": SAFE_BLOCKS, "finalized": FINALIZED_BLOCKS}
        if isinstance(tag, dict) and isinstance(tag.get("blockHash"), str):
            return chain.find_block(_hex(tag["blockHash"]))
        if isinstance(tag, dict):
            tag = tag.get("blockNumber")
        if tag in depth:
            return chain.blocks[max(0, chain.head.number - depth[tag])]
        number = 0 if tag == "earliest" else _quantity(tag)
        return chain.blocks[number] if number < len(chain.blocks) else None

    def _state(self, params: list[Any], place: int) -> Chain:
        """Return the chain, if the block that is asked about is the newest: older states are not kept."""
        asked = self._block(_at(params, place))
        if asked is None:
            raise RpcError(REJECTED, "header not found")
        if asked is not self._chain.head and _at(params, place) not in {"safe", "finalized"}:
            raise RpcError(REJECTED, "historical state is not available")
        return self._chain

    # Reading.

    def _count(self, params: list[Any]) -> str:
        address = _address(params, 0)
        pending = _at(params, 1) == "pending"
        return quantity(self._chain.pending_nonce(address) if pending else self._state(params, 1).nonce(address))

    def _storage(self, params: list[Any]) -> str:
        return f"0x{self._state(params, 2).vm.storage(_address(params, 0), _number(params, 1)):064x}"

    def _transaction(self, params: list[Any]) -> Any:
        wanted = _hash(params, 0)
        mined = self._chain.index.get(wanted)
        if mined is not None:
            return views.transaction_view(self._chain, mined)
        waiting = self._chain.pool.find(wanted)
        return None if waiting is None else views.pending_view(self._chain, waiting)

    def _receipt(self, params: list[Any]) -> Any:
        mined = self._chain.index.get(_hash(params, 0))
        return None if mined is None else views.receipt_view(self._chain, mined)

    def _logs(self, params: list[Any]) -> list[dict[str, Any]]:
        wanted = _object(params, 0)
        if "blockHash" in wanted:
            block = self._chain.find_block(_hex(wanted["blockHash"]))
            if block is None:
                raise RpcError(REJECTED, "unknown block")
            first = last = block.number
        else:
            first = self._bound(wanted.get("fromBlock"), default=self._chain.head.number)
            last = self._bound(wanted.get("toBlock"), default=self._chain.head.number)
        if first > last:
            raise RpcError(REJECTED, "invalid block range params")
        found = self._chain.logs(first, last)
        return [views.log_view(one) for one in found if views.fits(one, wanted.get("address"), wanted.get("topics"))]

    def _bound(self, tag: Any, *, default: int) -> int:
        if tag is None:
            return default
        block = self._block(tag)
        return _quantity(tag) if block is None else block.number

    # Trying and sending.

    def _call(self, params: list[Any]) -> str:
        pending = _at(params, 1) == "pending"
        self._state(params, 1)
        outcome = self._chain.try_out(self._message(params), pending=pending)
        if not outcome.ok:
            raise reverted(outcome.output)
        return data(outcome.output)

    def _message(self, params: list[Any]) -> Message:
        """Return the call that is asked about, with the count that a contract it creates would be addressed by."""
        asked = _message(params)
        return replace(asked, nonce=self._chain.pending_nonce(asked.sender))

    def _estimate(self, params: list[Any]) -> str:
        message = self._message(params)
        if message.value > self._chain.vm.balance(message.sender):
            raise RpcError(REJECTED, "insufficient funds for transfer")
        outcome = self._chain.try_out(message, pending=True)
        if not outcome.ok:
            raise reverted(outcome.output)
        # Calls between blocks find warm storage, so what they use is a little less than what a block will see.
        return quantity(outcome.gas_used * 5 // 4 + 5_000)

    def _send(self, params: list[Any]) -> str:
        try:
            signed = decode(_hex(_at(params, 0)))
        except Malformed as fault:
            raise RpcError(REJECTED, str(fault)) from fault
        self._check(signed)
        if self._chain.faults.take_submission("reject_late"):
            return data(signed.hash)
        try:
            self._chain.pool.add(signed, withheld=self._chain.faults.take_submission("withhold"))
        except AlreadyKnown as fault:
            raise RpcError(REJECTED, "already known") from fault
        except Underpriced as fault:
            raise RpcError(REJECTED, "replacement transaction underpriced") from fault
        return data(signed.hash)

    def _check(self, signed: Signed) -> None:
        """Refuse what no block could ever hold, in the words of geth."""
        chain, nonce = self._chain, self._chain.nonce(signed.sender)
        cost = signed.gas * signed.max_fee + signed.value
        balance = chain.vm.balance(signed.sender)
        if signed.hash in chain.index:
            raise RpcError(REJECTED, "already known")
        if signed.chain_id is None:
            raise RpcError(REJECTED, "only replay-protected (EIP-155) transactions allowed over RPC")
        if signed.chain_id != chain.id:
            told = f"have {signed.chain_id} want {chain.id}"
            raise RpcError(REJECTED, f"invalid chain id for signer: {told}")
        if signed.nonce < nonce:
            raise RpcError(REJECTED, f"nonce too low: next nonce {nonce}, tx nonce {signed.nonce}")
        if signed.max_tip > signed.max_fee:
            raise RpcError(REJECTED, "max priority fee per gas higher than max fee per gas")
        if signed.gas > GAS_LIMIT:
            raise RpcError(REJECTED, "exceeds block gas limit")
        if signed.gas < signed.intrinsic_gas:
            told = f"gas {signed.gas}, minimum needed {signed.intrinsic_gas}"
            raise RpcError(REJECTED, f"intrinsic gas too low: {told}")
        if len(signed.raw) > _MAX_DATA:
            raise RpcError(REJECTED, "oversized data")
        if balance < cost:
            told = f"address {signed.sender} have {balance} want {cost}"
            raise RpcError(REJECTED, f"insufficient funds for gas * price + value: {told}")

    # Anvil's cheat names, so that funding is one code path with a real local node.

    def _set_balance(self, params: list[Any]) -> None:
        address, amount = _address(params, 0), _number(params, 1)
        self._chain.operate(lambda vm: vm.set_balance(address, amount))

    def _set_code(self, params: list[Any]) -> None:
        address, code = _address(params, 0), _hex(_at(params, 1))
        self._chain.operate(lambda vm: vm.set_code(address, code))

    def _set_storage(self, params: list[Any]) -> bool:
        address, slot, value = _address(params, 0), _number(params, 1), _number(params, 2)
        self._chain.operate(lambda vm: vm.set_storage(address, slot, value))
        return True

    def _increase_time(self, params: list[Any]) -> int:
        self._chain.clock.set_offset(self._chain.clock.offset + _number(params, 0))
        return int(self._chain.clock.offset)

    def _mine(self, params: list[Any]) -> str:
        for _ in range(_number(params, 0) if _at(params, 0) is not None else 1):
            self._chain.seal()
        return "0x0"


def reverted(output: bytes) -> RpcError:
    """Return the node's error for a call that reverted, with the reason where it is a text."""
    if output[:4].hex() == _ERROR_STRING:
        try:
            reason = abi_decode(["string"], output[4:])[0]
        except (DecodingError, UnicodeDecodeError):
            reason = ""
        return RpcError(REVERTED, f"execution reverted: {reason}", data(output))
    return RpcError(REVERTED, "execution reverted", data(output))


def _message(params: list[Any]) -> Message:
    asked = _object(params, 0)
    to = asked.get("to")
    return Message(
        sender=_checksummed(asked.get("from") or _ZERO_ADDRESS),
        to=None if to is None else _checksummed(to),
        data=_hex(asked.get("input") or asked.get("data") or "0x"),
        value=_quantity(asked.get("value") or "0x0"),
        gas=min(GAS_LIMIT, _quantity(asked.get("gas") or quantity(GAS_LIMIT))),
    )


def _at(params: list[Any], place: int) -> Any:
    return params[place] if place < len(params) else None


def _object(params: list[Any], place: int) -> dict[str, Any]:
    value = _at(params, place)
    if not isinstance(value, dict):
        raise RpcError(INVALID_PARAMS, f"invalid argument {place}: not an object")
    return value


def _list(params: list[Any], place: int) -> list[Any]:
    value = _at(params, place)
    return value if isinstance(value, list) else []


def _number(params: list[Any], place: int) -> int:
    return _quantity(_at(params, place))


def _quantity(value: Any) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    if isinstance(value, str) and value.startswith("0x") and len(value) <= 66:
        try:
            return int(value, 16)
        except ValueError:
            pass
    raise RpcError(INVALID_PARAMS, f"invalid argument: {str(value)[:80]!r} is no quantity")


def _hex(value: Any) -> bytes:
    try:
        if isinstance(value, str) and value.startswith("0x"):
            return bytes.fromhex(value[2:])
    except ValueError:
        pass
    raise RpcError(INVALID_PARAMS, "invalid argument: not hexadecimal data with 0x")


def _hash(params: list[Any], place: int) -> bytes:
    value = _hex(_at(params, place))
    if len(value) != 32:
        raise RpcError(INVALID_PARAMS, f"invalid argument {place}: a hash has 32 bytes")
    return value


def _address(params: list[Any], place: int) -> str:
    return _checksummed(_at(params, place))


def _checksummed(value: Any) -> str:
    raw = _hex(value)
    if len(raw) != 20:
        raise RpcError(INVALID_PARAMS, "invalid argument: an address has 20 bytes")
    return str(to_checksum_address(raw))
