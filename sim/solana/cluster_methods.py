"""RPC methods about the cluster: slots, blocks, blockhashes, fees."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from typing import Any

from solders.hash import Hash, ParseHashError
from solders.message import MessageV1, from_bytes_versioned

from sim.json_rpc import RpcError
from sim.solana.rpc_call import API_VERSION, Ask, Method, in_context, invalid
from sim.solana.slots import FIRST_SLOT, SKIPPED_SLOTS, Slot

SLOT_SKIPPED, BLOCK_NOT_AVAILABLE = -32007, -32004
FEATURE_SET = 3345198602
_SLOTS_PER_EPOCH = 432_000


def _health(_: Ask) -> str:
    return "ok"


def _version(_: Ask) -> dict[str, Any]:
    return {"solana-core": f"{API_VERSION}-sim", "feature-set": FEATURE_SET}


def _genesis_hash(ask: Ask) -> str:
    return str(ask.chain.genesis_hash)


def _identity(ask: Ask) -> dict[str, str]:
    return {"identity": str(ask.chain.bank.pubkey())}


def _slot(ask: Ask) -> int:
    return ask.slot(0)


def _block_height(ask: Ask) -> int:
    return ask.slot(0) - SKIPPED_SLOTS


def _first_block(_: Ask) -> int:
    return FIRST_SLOT


def _epoch_info(ask: Ask) -> dict[str, int]:
    slot = ask.slot(0)
    return {
        "absoluteSlot": slot,
        "blockHeight": slot - SKIPPED_SLOTS,
        "epoch": slot // _SLOTS_PER_EPOCH,
        "slotIndex": slot % _SLOTS_PER_EPOCH,
        "slotsInEpoch": _SLOTS_PER_EPOCH,
        "transactionCount": _transaction_count(ask),
    }


def _transaction_count(ask: Ask) -> int:
    return len(ask.chain.ledger)


def find_slot(ask: Ask, number: int) -> Slot:
    """Return a slot that is there.

    Raises:
        RpcError: It is not, with the node's code.
    """
    if number > ask.chain.head.number:
        raise RpcError(BLOCK_NOT_AVAILABLE, f"Block not available for slot {number}")
    slot = ask.chain.slots.get(number)
    if slot is None:
        raise RpcError(SLOT_SKIPPED, f"Slot {number} was skipped, or missing due to ledger jump to recent snapshot")
    return slot


def _block_time(ask: Ask) -> int:
    return find_slot(ask, ask.number(0)).time


def _blocks(ask: Ask) -> list[int]:
    first, newest = ask.number(0), ask.standing.slot(ask.level(_last_options(ask)))
    last = min(newest, ask.number(1)) if isinstance(ask.at(1), int) else newest
    if last - first > 500_000:
        raise invalid("Slot range too large; max 500000")
    return [number for number in range(max(first, FIRST_SLOT), last + 1) if ask.chain.slots.get(number)]


def _last_options(ask: Ask) -> Mapping[str, Any]:
    return ask.options(1) if isinstance(ask.at(1), dict) else ask.options(2)


def _latest_blockhash(ask: Ask) -> dict[str, Any]:
    number = ask.slot(0)
    slot = ask.chain.slots.get(number) or ask.chain.head
    newest = {"blockhash": str(slot.hash), "lastValidBlockHeight": slot.height + ask.chain.slots.window}
    return in_context(number, newest)


def _is_blockhash_valid(ask: Ask) -> dict[str, Any]:
    slot = ask.slot(1)
    try:
        blockhash = Hash.from_string(ask.text(0))
    # A text that decodes to another length raises `ParseHashError`, which is no `ValueError`.
    except (ValueError, ParseHashError) as fault:
        raise invalid(f"Invalid param: {fault}") from fault
    return in_context(slot, ask.chain.slots.is_recent(blockhash, slot))


def _fee_for_message(ask: Ask) -> dict[str, Any]:
    slot = ask.slot(1)
    try:
        message = from_bytes_versioned(base64.b64decode(ask.text(0), validate=True))
    except (ValueError, binascii.Error) as fault:
        raise invalid(f"invalid message: {fault}") from fault
    if isinstance(message, MessageV1):
        raise invalid("unsupported message version")
    if not ask.chain.slots.is_recent(message.recent_blockhash, slot):
        return in_context(slot, None)
    return in_context(slot, ask.chain.fee(message, slot))


def _rent_exemption(ask: Ask) -> int:
    size = ask.number(0)
    if size > 10 * 2**20:
        raise invalid("Invalid param: data length is more than an account can have")
    return ask.chain.vm.rent_exempt(size)


def _priority_fees(ask: Ask) -> list[dict[str, int]]:
    newest = ask.chain.slots.before(ask.chain.head.number, 150)
    return [{"slot": slot.number, "prioritizationFee": 0} for slot in reversed(list(newest))]


METHODS: Mapping[str, Method] = {
    "getHealth": _health,
    "getVersion": _version,
    "getGenesisHash": _genesis_hash,
    "getIdentity": _identity,
    "getSlot": _slot,
    "getBlockHeight": _block_height,
    "getFirstAvailableBlock": _first_block,
    "minimumLedgerSlot": _first_block,
    "getEpochInfo": _epoch_info,
    "getTransactionCount": _transaction_count,
    "getBlockTime": _block_time,
    "getBlocks": _blocks,
    "getLatestBlockhash": _latest_blockhash,
    "isBlockhashValid": _is_blockhash_valid,
    "getFeeForMessage": _fee_for_message,
    "getMinimumBalanceForRentExemption": _rent_exemption,
    "getRecentPrioritizationFees": _priority_fees,
}
