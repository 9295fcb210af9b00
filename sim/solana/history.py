"""RPC methods about what has landed: statuses, searches, transactions, blocks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sim.json_rpc import RpcError
from sim.solana import views
from sim.solana.ask import Ask, Method, in_context, invalid, read_signature
from sim.solana.ledger import Landed
from sim.solana.network import BLOCK_NOT_AVAILABLE, find_slot
from sim.solana.slots import Level

_MAX_STATUSES, _MAX_LISTED = 256, 1000
_RECENT_SLOTS = 150


def _statuses(ask: Ask) -> dict[str, Any]:
    """Only recent ones, unless searchTransactionHistory asks for all."""
    everything = bool(ask.options(1).get("searchTransactionHistory"))
    head = ask.chain.head.number
    oldest = 0 if everything else head - max(_RECENT_SLOTS, ask.chain.slots.window)
    found = [ask.chain.ledger.get(read_signature(one)) for one in ask.texts(0, _MAX_STATUSES)]
    told = [None if one is None or one.slot < oldest else views.status(one, ask.standing) for one in found]
    return in_context(head, told)


def _historic_level(ask: Ask, options: Mapping[str, Any]) -> Level:
    level = ask.level(options)
    if level < Level.confirmed:
        raise invalid("Method does not support commitment below `confirmed`")
    return level


def _signatures_for_address(ask: Ask) -> list[dict[str, Any]]:
    options, key = ask.options(1), ask.key(0)
    newest = min(ask.standing.slot(_historic_level(ask, options)), ask.chain.head.number - ask.chain.lag)
    wanted = options.get("limit")
    limit = _MAX_LISTED if wanted is None else wanted
    if not isinstance(limit, int) or isinstance(limit, bool) or not 1 <= limit <= _MAX_LISTED:
        raise invalid(f"Invalid limit; max {_MAX_LISTED}")
    found = [one for one in ask.chain.ledger.naming(key) if one.slot <= newest]
    between = _between(ask, found, options.get("before"), options.get("until"))
    return [views.listed(one, ask.standing) for one in between[:limit]]


def _between(ask: Ask, found: list[Landed], before: Any, until: Any) -> list[Landed]:
    """Transactions older than one signature and newer than another, which need not name the account."""
    place = ask.chain.ledger.place
    if before is not None:
        end = place(read_signature(str(before)))
        found = [] if end is None else [one for one in found if (place(one.sent.id) or 0) < end]
    start = None if until is None else place(read_signature(str(until)))
    return found if start is None else [one for one in found if (place(one.sent.id) or 0) > start]


def _transaction(ask: Ask) -> dict[str, Any] | None:
    """The second parameter may be an encoding instead of a configuration."""
    second = ask.at(1)
    options = {"encoding": second} if isinstance(second, str) else ask.options(1)
    level = _historic_level(ask, options)
    landed = ask.chain.ledger.get(ask.signature(0))
    if landed is None or landed.slot > ask.standing.slot(level):
        return None
    encoding = str(options.get("encoding") or "json")
    return views.transaction(landed, encoding, options.get("maxSupportedTransactionVersion"))


def _block(ask: Ask) -> dict[str, Any]:
    number, options = ask.number(0), ask.options(1)
    if number > ask.standing.slot(_historic_level(ask, options)):
        raise RpcError(BLOCK_NOT_AVAILABLE, f"Block not available for slot {number}")
    slot, landed = find_slot(ask, number), ask.chain.ledger.of_slot(number)
    told: dict[str, Any] = {
        "blockhash": str(slot.hash),
        "previousBlockhash": str(slot.parent),
        "parentSlot": number - 1,
        "blockTime": slot.time,
        "blockHeight": slot.height,
    }
    details = options.get("transactionDetails") or "full"
    if details == "full":
        encoding, version = str(options.get("encoding") or "json"), options.get("maxSupportedTransactionVersion")
        told["transactions"] = [views.with_meta(one, encoding, version) for one in landed]
    elif details == "signatures":
        told["signatures"] = [one.sent.id for one in landed]
    elif details != "none":
        raise invalid("Invalid params: transactionDetails is full, signatures or none here.")
    return told if options.get("rewards") is False else {**told, "rewards": []}


METHODS: Mapping[str, Method] = {
    "getSignatureStatuses": _statuses,
    "getSignaturesForAddress": _signatures_for_address,
    "getTransaction": _transaction,
    "getBlock": _block,
}
