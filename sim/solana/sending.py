"""RPC methods that send: preflight, simulation, airdrop."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from solders.transaction import VersionedTransaction

from sim.json_rpc import RpcError
from sim.solana import faucet, views
from sim.solana.rpc_call import Ask, Method, in_context, invalid, read_key, read_level
from sim.solana.slots import Level
from sim.solana.transactions import Malformed, decode
from sim.solana.vm import Outcome

PREFLIGHT_FAILED, SIGNATURE_FAILED, INTERNAL_ERROR = -32002, -32003, -32603
_MAX_SIMULATED_ACCOUNTS = 64
# A node resolves lookup tables while it decodes a transaction, before it checks a signature or a blockhash.
_LOOKUP_FAULTS = frozenset(
    (
        *("AddressLookupTableNotFound", "InvalidAddressLookupTableIndex"),
        *("InvalidAddressLookupTableOwner", "InvalidAddressLookupTableData"),
    )
)


def _decode_transaction(ask: Ask, options: Mapping[str, Any]) -> VersionedTransaction:
    try:
        return decode(ask.text(0), str(options.get("encoding") or "base58"))
    except Malformed as fault:
        raise invalid(str(fault)) from fault


def _verify(transaction: VersionedTransaction) -> None:
    if not all(transaction.verify_with_results()):
        raise RpcError(SIGNATURE_FAILED, "Transaction signature verification failure")


def _check_lookups(ask: Ask, transaction: VersionedTransaction, slot: int) -> None:
    """Refuse a transaction whose lookup tables do not hold the accounts that it loads."""
    if not getattr(transaction.message, "address_table_lookups", None):
        return
    err = ask.chain.try_out(transaction, slot).err
    if isinstance(err, str) and err in _LOOKUP_FAULTS:
        raise invalid(f"invalid transaction: {views.error_text(err)}")


def _send(ask: Ask) -> str:
    options = ask.options(1)
    transaction = _decode_transaction(ask, options)
    skips = bool(options.get("skipPreflight"))
    level = read_level(options.get("preflightCommitment"))
    level = Level.processed if skips else ask.level({**options, "commitment": level.name})
    _check_lookups(ask, transaction, ask.standing.slot(level))
    if not skips:
        _verify(transaction)
        _preflight(ask, transaction, level)
    elif not all(transaction.verify_with_results()):
        return str(transaction.signatures[0])  # the node hands it on and the network drops it
    ask.chain.submit(transaction)
    return str(transaction.signatures[0])


def _preflight(ask: Ask, transaction: VersionedTransaction, level: Level) -> None:
    slot = ask.standing.slot(level)
    refusal = ask.chain.refusal(transaction, slot)
    result = views.simulation_result(_failed_outcome(refusal)) if refusal else None
    if result is None:
        outcome = ask.chain.try_out(transaction, slot)
        if outcome.err is None:
            return
        result = views.simulation_result(outcome)
    message = f"Transaction simulation failed: {views.error_text(result['err'])}"
    raise RpcError(PREFLIGHT_FAILED, message, result)


def _failed_outcome(err: str) -> Outcome:
    return Outcome(err=err, logs=(), units=0, fee=0, inner=(), returned=None)


def _simulate(ask: Ask) -> dict[str, Any]:
    options = ask.options(1)
    transaction = _decode_transaction(ask, options)
    slot = ask.standing.slot(ask.level(options))
    _check_lookups(ask, transaction, slot)
    replaces_blockhash = bool(options.get("replaceRecentBlockhash"))
    if options.get("sigVerify"):
        if replaces_blockhash:
            raise invalid("sigVerify may not be used with replaceRecentBlockhash")
        _verify(transaction)
    refusal = None if replaces_blockhash else ask.chain.refusal(transaction, slot)
    outcome = _failed_outcome(refusal) if refusal else ask.chain.try_out(transaction, slot)
    result = views.simulation_result(outcome)
    if replaces_blockhash:
        newest = ask.chain.slots.get(slot) or ask.chain.head
        height = newest.height + ask.chain.slots.window
        result["replacementBlockhash"] = {"blockhash": str(newest.hash), "lastValidBlockHeight": height}
    if options.get("innerInstructions"):
        result["innerInstructions"] = views.inner(outcome)
    if options.get("accounts") is not None:
        result["accounts"] = _accounts_after(ask, options["accounts"], outcome, slot)
    return in_context(slot, result)


def _accounts_after(ask: Ask, members: Any, outcome: Outcome, slot: int) -> list[Any]:
    addresses = members.get("addresses") if isinstance(members, dict) else None
    if not isinstance(addresses, list) or not all(isinstance(one, str) for one in addresses):
        raise invalid("Invalid params: accounts needs a list of addresses.")
    if len(addresses) > _MAX_SIMULATED_ACCOUNTS:
        raise invalid(f"Too many accounts provided; max {_MAX_SIMULATED_ACCOUNTS}")
    after = dict(outcome.accounts)
    keys = [read_key(one) for one in addresses]
    encoding = members.get("encoding") or "base64"
    return [views.account(ask.chain, after.get(key) or ask.chain.account(key, slot), encoding, slot) for key in keys]


def _airdrop(ask: Ask) -> str:
    try:
        return faucet.fund(ask.chain, ask.key(0), ask.number(1))
    except faucet.BankFailed as fault:
        raise RpcError(INTERNAL_ERROR, f"airdrop request failed: {fault}") from fault


METHODS: Mapping[str, Method] = {
    "sendTransaction": _send,
    "simulateTransaction": _simulate,
    "requestAirdrop": _airdrop,
}
