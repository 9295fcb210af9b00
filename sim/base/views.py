"""Blocks, transactions, receipts and events in the shapes of Ethereum's JSON-RPC."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

from eth_utils.crypto import keccak

from sim.base.arguments import LogFilter
from sim.base.blocks import Block, FoundLog, Mined
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
    shown = [transaction_view(chain, one) if full else data(one.signed.hash) for one in block.mined]
    return {
        "number": quantity(block.number),
        "hash": data(block.hash),
        "parentHash": data(block.parent),
        "timestamp": quantity(block.time),
        "baseFeePerGas": quantity(block.base_fee),
        "gasLimit": quantity(GAS_LIMIT),
        "gasUsed": quantity(block.gas_used),
        "transactions": shown,
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
        for told in (log.address, *log.topics):
            bits |= _bits_of(told)
    return f"0x{bits:0512x}"


@lru_cache(maxsize=4096)
def _bits_of(told: str) -> int:
    """Return the three bits of an address or a topic."""
    digest, bits = keccak(hexstr=told), 0
    for place in (0, 2, 4):
        bits |= 1 << (int.from_bytes(digest[place : place + 2], "big") & 2047)
    return bits


def transaction_view(chain: Chain, mined: Mined) -> dict[str, Any]:
    """Return a transaction of a block."""
    block = chain.blocks[mined.block]
    return {
        **pending_view(chain, mined.signed),
        "blockHash": data(block.hash),
        "blockNumber": quantity(block.number),
        "transactionIndex": quantity(mined.position),
        "gasPrice": quantity(mined.price),
    }


def pending_view(chain: Chain, signed: Signed) -> dict[str, Any]:
    """Return a transaction that waits."""
    shown: dict[str, Any] = {
        "hash": data(signed.hash),
        "from": signed.sender.lower(),
        "to": None if signed.to is None else signed.to.lower(),
        "nonce": quantity(signed.nonce),
        "value": quantity(signed.value),
        "gas": quantity(signed.gas),
        "gasPrice": quantity(signed.max_fee),
        "input": data(signed.data),
        "type": quantity(signed.kind),
        "chainId": quantity(chain.id),
        "v": quantity(signed.parity if signed.kind != LEGACY else chain.id * 2 + 35 + signed.parity),
        "r": quantity(signed.r),
        "s": quantity(signed.s),
        "blockHash": None,
        "blockNumber": None,
        "transactionIndex": None,
    }
    if signed.kind == DYNAMIC_FEE:
        shown |= {"maxFeePerGas": quantity(signed.max_fee), "maxPriorityFeePerGas": quantity(signed.max_tip)}
    if signed.kind != LEGACY:
        listed = [{"address": one.lower(), "storageKeys": list(slots)} for one, slots in signed.access_list]
        shown |= {"accessList": listed, "yParity": quantity(signed.parity)}
    return shown


def receipt_view(chain: Chain, mined: Mined) -> dict[str, Any]:
    """Return what came of a transaction."""
    block = chain.blocks[mined.block]
    created = created_address(mined.signed.sender, mined.signed.nonce) if mined.signed.to is None else None
    cumulative = sum(one.outcome.gas_used for one in block.mined[: mined.position + 1])
    logs = [FoundLog(log, mined.first_log + place, mined, block) for place, log in enumerate(mined.outcome.logs)]
    return {
        "transactionHash": data(mined.signed.hash),
        "transactionIndex": quantity(mined.position),
        "blockHash": data(block.hash),
        "blockNumber": quantity(block.number),
        "from": mined.signed.sender.lower(),
        "to": None if mined.signed.to is None else mined.signed.to.lower(),
        "status": quantity(int(mined.outcome.ok)),
        "type": quantity(mined.signed.kind),
        "gasUsed": quantity(mined.outcome.gas_used),
        "cumulativeGasUsed": quantity(cumulative),
        "effectiveGasPrice": quantity(mined.price),
        "contractAddress": created.lower() if created else None,
        "logs": [log_view(one) for one in logs],
        "logsBloom": bloom(mined.outcome.logs),
    }


def log_view(found: FoundLog) -> dict[str, Any]:
    """Return an event."""
    return {
        "address": found.log.address,
        "topics": list(found.log.topics),
        "data": data(found.log.data),
        "blockNumber": quantity(found.block.number),
        "blockHash": data(found.block.hash),
        "blockTimestamp": quantity(found.block.time),
        "transactionHash": data(found.mined.signed.hash),
        "transactionIndex": quantity(found.mined.position),
        "logIndex": quantity(found.index),
        "removed": False,
    }


def fits(found: FoundLog, wanted: LogFilter) -> bool:
    """Return whether an event fits a filter."""
    if wanted.addresses and found.log.address not in wanted.addresses:
        return False
    if len(wanted.topics) > len(found.log.topics):
        return False
    pairs = zip(wanted.topics, found.log.topics, strict=False)
    return all(not choice or topic in choice for choice, topic in pairs)


def fee_history(chain: Chain, count: int, newest: Block, percentiles: list[Any]) -> Mapping[str, Any]:
    """Return the fees of `count` blocks up to `newest`; `reward` only when percentiles are asked for."""
    blocks = chain.blocks[max(0, newest.number + 1 - max(1, count)) : newest.number + 1]
    following = chain.blocks[newest.number + 1].base_fee if newest is not chain.head else chain.base_fee
    told: dict[str, Any] = {
        "oldestBlock": quantity(blocks[0].number),
        "baseFeePerGas": [quantity(one) for one in (*(block.base_fee for block in blocks), following)],
        "gasUsedRatio": [block.gas_used / GAS_LIMIT for block in blocks],
        "baseFeePerBlobGas": ["0x1"] * (len(blocks) + 1),
        "blobGasUsedRatio": [0.0] * len(blocks),
    }
    return {**told, "reward": [[quantity(TIP) for _ in percentiles] for _ in blocks]} if percentiles else told


TIP = 1_000_000
