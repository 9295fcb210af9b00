"""Blocks, transactions, receipts and events in the shapes of Ethereum's JSON-RPC."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

from eth_utils.crypto import keccak

from sim.base.arguments import LogFilter
from sim.base.block_records import Block, FoundLog, Mined
from sim.base.chain import Chain
from sim.base.state import COINBASE
from sim.base.transactions import DYNAMIC_FEE, LEGACY, Signed
from sim.base.vm import GAS_LIMIT, Log, created_address

_ZERO_32 = "0x" + "0" * 64
# Digests of an empty list of uncles and of an empty trie.
_NO_UNCLES = "0x1dcc4de8dec75d7aab85b567b6ccd41ad312451b948a7413f0a142fd40d49347"
_NO_TRIE = "0x56e81f171bcc55a6ff8345e692c0f86e5b48e01b996cadc001622fb5e363b421"


def quantity(number: int) -> str:
    """Return a number as the RPC writes it."""
    return hex(number)


def data(value: bytes) -> str:
    """Return bytes as the RPC writes them."""
    return "0x" + value.hex()


def block_view(chain: Chain, block: Block | None, *, full: bool) -> dict[str, Any] | None:
    """Return a block; `full` shows its transactions instead of their hashes."""
    if block is None:
        return None
    transactions = [transaction_view(chain, one) if full else data(one.signed.hash) for one in block.mined]
    return {
        "number": quantity(block.number),
        "hash": data(block.hash),
        "parentHash": data(block.parent),
        "timestamp": quantity(block.time),
        "baseFeePerGas": quantity(block.base_fee),
        "gasLimit": quantity(GAS_LIMIT),
        "gasUsed": quantity(block.gas_used),
        "transactions": transactions,
        "miner": COINBASE.lower(),
        "nonce": "0x" + "0" * 16,
        "sha3Uncles": _NO_UNCLES,
        "logsBloom": bloom(log for one in block.mined for log in one.outcome.logs),
        "transactionsRoot": _ZERO_32,
        "stateRoot": _ZERO_32,
        "receiptsRoot": _ZERO_32,
        "mixHash": _ZERO_32,
        "difficulty": "0x0",
        "extraData": "0x",
        "size": "0x200",
        "uncles": [],
        "withdrawals": [],
        "withdrawalsRoot": _NO_TRIE,
        "blobGasUsed": "0x0",
        "excessBlobGas": "0x0",
        "parentBeaconBlockRoot": _ZERO_32,
    }


def bloom(logs: Iterable[Log]) -> str:
    """Return the filter that tells which addresses and topics events may have: three bits of 2,048 for each."""
    bits = 0
    for log in logs:
        for text in (log.address, *log.topics):
            bits |= _bits_of(text)
    return f"0x{bits:0512x}"


@lru_cache(maxsize=4096)
def _bits_of(text: str) -> int:
    """Return the three bits of an address or a topic."""
    digest, bits = keccak(hexstr=text), 0
    for place in (0, 2, 4):
        bits |= 1 << (int.from_bytes(digest[place : place + 2], "big") & 2047)
    return bits


def transaction_view(chain: Chain, transaction: Mined) -> dict[str, Any]:
    """Return a transaction of a block."""
    block = chain.blocks[transaction.block]
    return {
        **pending_view(chain, transaction.signed),
        "blockHash": data(block.hash),
        "blockNumber": quantity(block.number),
        "transactionIndex": quantity(transaction.position),
        "gasPrice": quantity(transaction.price),
    }


def pending_view(chain: Chain, transaction: Signed) -> dict[str, Any]:
    """Return a transaction that waits."""
    view: dict[str, Any] = {
        "hash": data(transaction.hash),
        "from": transaction.sender.lower(),
        "to": None if transaction.to is None else transaction.to.lower(),
        "nonce": quantity(transaction.nonce),
        "value": quantity(transaction.value),
        "gas": quantity(transaction.gas),
        "gasPrice": quantity(transaction.max_fee),
        "input": data(transaction.data),
        "type": quantity(transaction.kind),
        "chainId": quantity(chain.id),
        "v": quantity(transaction.parity if transaction.kind != LEGACY else chain.id * 2 + 35 + transaction.parity),
        "r": quantity(transaction.r),
        "s": quantity(transaction.s),
        "blockHash": None,
        "blockNumber": None,
        "transactionIndex": None,
    }
    if transaction.kind == DYNAMIC_FEE:
        view |= {"maxFeePerGas": quantity(transaction.max_fee), "maxPriorityFeePerGas": quantity(transaction.max_tip)}
    if transaction.kind != LEGACY:
        accesses = [{"address": one.lower(), "storageKeys": list(slots)} for one, slots in transaction.access_list]
        view |= {"accessList": accesses, "yParity": quantity(transaction.parity)}
    return view


def receipt_view(chain: Chain, transaction: Mined) -> dict[str, Any]:
    """Return what came of a transaction."""
    block = chain.blocks[transaction.block]
    contract = (
        created_address(transaction.signed.sender, transaction.signed.nonce) if transaction.signed.to is None else None
    )
    cumulative = sum(one.outcome.gas_used for one in block.mined[: transaction.position + 1])
    logs = [
        FoundLog(log, transaction.first_log + place, transaction, block)
        for place, log in enumerate(transaction.outcome.logs)
    ]
    return {
        "transactionHash": data(transaction.signed.hash),
        "transactionIndex": quantity(transaction.position),
        "blockHash": data(block.hash),
        "blockNumber": quantity(block.number),
        "from": transaction.signed.sender.lower(),
        "to": None if transaction.signed.to is None else transaction.signed.to.lower(),
        "status": quantity(int(transaction.outcome.ok)),
        "type": quantity(transaction.signed.kind),
        "gasUsed": quantity(transaction.outcome.gas_used),
        "cumulativeGasUsed": quantity(cumulative),
        "effectiveGasPrice": quantity(transaction.price),
        "contractAddress": contract.lower() if contract else None,
        "logs": [log_view(one) for one in logs],
        "logsBloom": bloom(transaction.outcome.logs),
    }


def log_view(entry: FoundLog) -> dict[str, Any]:
    """Return an event."""
    return {
        "address": entry.log.address,
        "topics": list(entry.log.topics),
        "data": data(entry.log.data),
        "blockNumber": quantity(entry.block.number),
        "blockHash": data(entry.block.hash),
        "blockTimestamp": quantity(entry.block.time),
        "transactionHash": data(entry.mined.signed.hash),
        "transactionIndex": quantity(entry.mined.position),
        "logIndex": quantity(entry.index),
        "removed": False,
    }


def fits(entry: FoundLog, query: LogFilter) -> bool:
    """Return whether an event fits a filter."""
    if query.addresses and entry.log.address not in query.addresses:
        return False
    if len(query.topics) > len(entry.log.topics):
        return False
    pairs = zip(query.topics, entry.log.topics, strict=False)
    return all(not choice or topic in choice for choice, topic in pairs)


def fee_history(chain: Chain, count: int, newest: Block, percentiles: list[Any]) -> Mapping[str, Any]:
    """Return the fees of `count` blocks up to `newest`; `reward` only when percentiles are asked for."""
    blocks = chain.blocks[max(0, newest.number + 1 - max(1, count)) : newest.number + 1]
    next_base_fee = chain.blocks[newest.number + 1].base_fee if newest is not chain.head else chain.base_fee
    history: dict[str, Any] = {
        "oldestBlock": quantity(blocks[0].number),
        "baseFeePerGas": [quantity(one) for one in (*(block.base_fee for block in blocks), next_base_fee)],
        "gasUsedRatio": [block.gas_used / GAS_LIMIT for block in blocks],
        "baseFeePerBlobGas": ["0x1"] * (len(blocks) + 1),
        "blobGasUsedRatio": [0.0] * len(blocks),
    }
    return {**history, "reward": [[quantity(TIP) for _ in percentiles] for _ in blocks]} if percentiles else history


TIP = 1_000_000
