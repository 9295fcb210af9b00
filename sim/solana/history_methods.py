"""RPC methods about what has landed: statuses, searches, transactions, blocks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sim.json_rpc import RpcError
from sim.solana import views
from sim.solana.cluster_methods import BLOCK_NOT_AVAILABLE, find_slot
from sim.solana.ledger import Landed
from sim.solana.rpc_call import Ask, Method, in_context, invalid, read_signature
from sim.solana.slots import Level

_MAX_STATUSES, _MAX_LISTED = 256, 1000
_RECENT_SLOTS = 150


def _statuses(ask: Ask) -> dict[str, Any]:
    """Only recent ones, unless searchTransactionHistory asks for all."""
    is_whole_history = bool(ask.options(1).get("searchTransactionHistory"))
    head = ask.chain.head.number
    oldest = 0 if is_whole_history else head - max(_RECENT_SLOTS, ask.chain.slots.window)
    entries = [ask.chain.ledger.get(read_signature(one)) for one in ask.texts(0, _MAX_STATUSES)]
    statuses = [None if one is None or one.slot < oldest else views.status(one, ask.standing) for one in entries]
    return in_context(head, statuses)


def _historic_level(ask: Ask, options: Mapping[str, Any]) -> Level:
    level = ask.level(options)
    if level < Level.confirmed:
        raise invalid("Method does not support commitment below `confirmed`")
    return level


def _signatures_for_address(ask: Ask) -> list[dict[str, Any]]:
    options, key = ask.options(1), ask.key(0)
    newest = min(ask.standing.slot(_historic_level(ask, options)), ask.chain.head.number - ask.chain.lag)
    limit_member = options.get("limit")
    limit = _MAX_LISTED if limit_member is None else limit_member
    if not isinstance(limit, int) or isinstance(limit, bool) or not 1 <= limit <= _MAX_LISTED:
        raise invalid(f"Invalid limit; max {_MAX_LISTED}")
    entries = [one for one in ask.chain.ledger.entries_naming(key) if one.slot <= newest]
    between = _between(ask, entries, options.get("before"), options.get("until"))
    return [views.address_signature(one, ask.standing) for one in between[:limit]]


def _between(ask: Ask, entries: list[Landed], before: Any, until: Any) -> list[Landed]:
    """Transactions older than one signature and newer than another, which need not name the account."""
    place = ask.chain.ledger.place
    if before is not None:
        end = place(read_signature(str(before)))
        entries = [] if end is None else [one for one in entries if (place(one.sent.id) or 0) < end]
    start = None if until is None else place(read_signature(str(until)))
    return entries if start is None else [one for one in entries if (place(one.sent.id) or 0) > start]


def _transaction(ask: Ask) -> dict[str, Any] | None:
    """The second parameter may be an encoding instead of a configuration."""
    second = ask.at(1)
    options = {"encoding": second} if isinstance(second, str) else ask.options(1)
    level = _historic_level(ask, options)
    entry = ask.chain.ledger.get(ask.signature(0))
    if entry is None or entry.slot > ask.standing.slot(level):
        return None
    encoding = str(options.get("encoding") or "json")
    return views.transaction(entry, encoding, options.get("maxSupportedTransactionVersion"))


def _block(ask: Ask) -> dict[str, Any]:
    number, options = ask.number(0), ask.options(1)
    if number > ask.standing.slot(_historic_level(ask, options)):
        raise RpcError(BLOCK_NOT_AVAILABLE, f"Block not available for slot {number}")
    slot, entries = find_slot(ask, number), ask.chain.ledger.of_slot(number)
    block: dict[str, Any] = {
        "blockhash": str(slot.hash),
        "previousBlockhash": str(slot.parent),
        "parentSlot": number - 1,
        "blockTime": slot.time,
        "blockHeight": slot.height,
    }
    details = options.get("transactionDetails") or "full"
    if details == "full":
        encoding, version = str(options.get("encoding") or "json"), options.get("maxSupportedTransactionVersion")
        block["transactions"] = [views.with_meta(one, encoding, version) for one in entries]
    elif details == "signatures":
        block["signatures"] = [one.sent.id for one in entries]
    elif details != "none":
        raise invalid("Invalid params: transactionDetails is full, signatures or none here.")
    return block if options.get("rewards") is False else {**block, "rewards": []}


METHODS: Mapping[str, Method] = {
    "getSignatureStatuses": _statuses,
    "getSignaturesForAddress": _signatures_for_address,
    "getTransaction": _transaction,
    "getBlock": _block,
}
