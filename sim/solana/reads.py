"""RPC methods that read accounts and tokens at a commitment."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import base58
from solders.account import Account
from solders.pubkey import Pubkey

from sim.solana import views
from sim.solana.rpc_call import Ask, Method, in_context, invalid, read_key
from sim.solana.token_accounts import TOKEN, TOKEN_PROGRAMS, Held, read_held, read_mint, ui_amount

_MAX_ACCOUNTS = 100
_LARGEST = 20


def _encoding(options: Mapping[str, Any], default: str) -> str:
    """Return the encoding that is asked for, checked whether or not there is an account to show."""
    encoding = str(options.get("encoding") or default)
    if encoding not in ("binary", "base58", "base64", "jsonParsed"):
        raise invalid(f"Invalid params: unknown encoding {encoding[:40]!r}.")
    return encoding


def _balance(ask: Ask) -> dict[str, Any]:
    slot = ask.slot(1)
    record = ask.chain.account(ask.key(0), slot)
    return in_context(slot, 0 if record is None else record.lamports)


def _account_info(ask: Ask) -> dict[str, Any]:
    slot, options = ask.slot(1), ask.options(1)
    record = ask.chain.account(ask.key(0), slot)
    return in_context(
        slot, views.account(ask.chain, record, _encoding(options, "binary"), slot, options.get("dataSlice"))
    )


def _multiple_accounts(ask: Ask) -> dict[str, Any]:
    slot, options = ask.slot(1), ask.options(1)
    records = [ask.chain.account(read_key(text), slot) for text in ask.texts(0, _MAX_ACCOUNTS)]
    encoding, cut = _encoding(options, "base64"), options.get("dataSlice")
    return in_context(slot, [views.account(ask.chain, one, encoding, slot, cut) for one in records])


def _token_account_balance(ask: Ask) -> dict[str, Any]:
    slot = ask.slot(1)
    record = ask.chain.account(ask.key(0), slot)
    if record is None:
        raise invalid("Invalid param: could not find account")
    token_account = read_held(record)
    mint = None if token_account is None else read_mint(ask.chain.account(token_account.mint, slot))
    if token_account is None or mint is None:
        raise invalid("Invalid param: not a Token account")
    return in_context(slot, ui_amount(token_account.amount, mint.decimals))


def _token_supply(ask: Ask) -> dict[str, Any]:
    slot = ask.slot(1)
    mint = read_mint(ask.chain.account(ask.key(0), slot))
    if mint is None:
        raise invalid("Invalid param: not a Token mint")
    return in_context(slot, ui_amount(mint.supply, mint.decimals))


def _token_accounts(ask: Ask, read_key_of: Callable[[Held], Pubkey | None]) -> dict[str, Any]:
    slot, options, key = ask.slot(2), ask.options(2), ask.key(0)
    fits = _token_filter(ask.options(1))
    encoding = _encoding(options, "binary")
    matches = [
        {"pubkey": str(at), "account": views.account(ask.chain, account, encoding, slot, options.get("dataSlice"))}
        for at, account, token_account in _holdings(ask, slot)
        if read_key_of(token_account) == key and fits(token_account)
    ]
    return in_context(slot, matches)


def _holdings(ask: Ask, slot: int) -> Iterator[tuple[Pubkey, Account, Held]]:
    for key, account in ask.chain.accounts.all_at(slot):
        token_account = read_held(account)
        if token_account is not None:
            yield key, account, token_account


def _token_filter(members: Mapping[str, Any]) -> Callable[[Held], bool]:
    mint, program = members.get("mint"), members.get("programId")
    if isinstance(mint, str):
        of = read_key(mint)
        return lambda held: held.mint == of
    if isinstance(program, str):
        by = read_key(program)
        if by not in TOKEN_PROGRAMS:
            raise invalid("Invalid param: unrecognized Token program id")
        return lambda held: held.program == by
    raise invalid("Invalid params: expected mint or programId.")


def _by_owner(ask: Ask) -> dict[str, Any]:
    return _token_accounts(ask, lambda held: held.owner)


def _by_delegate(ask: Ask) -> dict[str, Any]:
    return _token_accounts(ask, lambda held: held.state.delegate)


def _largest(ask: Ask) -> dict[str, Any]:
    slot, key = ask.slot(1), ask.key(0)
    mint = read_mint(ask.chain.account(key, slot))
    if mint is None:
        raise invalid("Invalid param: not a Token mint")
    holders = sorted(((one.amount, str(at)) for at, _, one in _holdings(ask, slot) if one.mint == key), reverse=True)
    return in_context(slot, [{"address": at, **ui_amount(amount, mint.decimals)} for amount, at in holders[:_LARGEST]])


def _program_accounts(ask: Ask) -> Any:
    slot, options, program = ask.slot(1), ask.options(1), ask.key(0)
    fits = program_filter(program, options)
    encoding, cut = _encoding(options, "binary"), options.get("dataSlice")
    matches = [
        {"pubkey": str(key), "account": views.account(ask.chain, account, encoding, slot, cut)}
        for key, account in ask.chain.accounts.all_at(slot)
        if fits(account)
    ]
    return in_context(slot, matches) if options.get("withContext") else matches


def program_filter(program: Pubkey, options: Mapping[str, Any]) -> Callable[[Account], bool]:
    """Return whether an account is a program's and passes the filters of a configuration.

    Raises:
        RpcError: The filters are malformed.
    """
    filters = options.get("filters") or []
    if not isinstance(filters, list) or not all(isinstance(one, dict) for one in filters):
        raise invalid("Invalid params: filters must be a sequence of objects.")
    return lambda account: account.owner == program and all(_passes(account, one) for one in filters)


def _passes(account: Account, members: Mapping[str, Any]) -> bool:
    if "dataSize" in members:
        return bool(len(account.data) == members["dataSize"])
    place = members.get("memcmp")
    if isinstance(place, dict) and isinstance(place.get("offset"), int) and isinstance(place.get("bytes"), str):
        try:
            sought = base58.b58decode(place["bytes"])
        except ValueError as fault:
            raise invalid("Invalid param: the bytes of memcmp are no base58") from fault
        return bytes(account.data)[place["offset"] :][: len(sought)] == sought
    return read_held(account) is not None and account.owner == TOKEN


METHODS: Mapping[str, Method] = {
    "getBalance": _balance,
    "getAccountInfo": _account_info,
    "getMultipleAccounts": _multiple_accounts,
    "getTokenAccountBalance": _token_account_balance,
    "getTokenSupply": _token_supply,
    "getTokenAccountsByOwner": _by_owner,
    "getTokenAccountsByDelegate": _by_delegate,
    "getTokenLargestAccounts": _largest,
    "getProgramAccounts": _program_accounts,
}
