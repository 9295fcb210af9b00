"""Surfpool's cheat names, so that funding is one code path with that real local node."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from solders.account import Account

from sim.solana.rpc_call import Ask, Method, in_context, invalid, read_key
from sim.solana.token_accounts import (
    ACCOUNT_BYTES,
    TOKEN,
    associated_address,
    new_account,
    read_held,
    read_mint,
    with_supply,
)
from sim.solana.vm import SYSTEM


def _u64(options: Mapping[str, Any], name: str, default: int) -> int:
    value = options.get(name, default)
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 2**64:
        raise invalid(f"Invalid params: {name} must be u64.")
    return value


def _set_account(ask: Ask) -> dict[str, Any]:
    """`address`, `{lamports, data (hex), owner, executable}`: what is not named stays; no program is overwritten."""
    key, members = ask.key(0), ask.options(1)
    old = ask.chain.account(key) or Account(0, b"", SYSTEM)
    if old.executable:
        raise invalid("Invalid param: a program is not overwritten here")
    data, owner = members.get("data"), members.get("owner")
    try:
        new_data = bytes(old.data) if data is None else bytes.fromhex(str(data))
    except ValueError as fault:
        raise invalid("Invalid params: data must be hexadecimal.") from fault
    new_owner = old.owner if owner is None else read_key(str(owner))
    executable = bool(members.get("executable", old.executable))
    new = Account(_u64(members, "lamports", old.lamports), new_data, new_owner, executable)
    try:
        ask.chain.write(key, new)
    except ValueError as fault:
        raise invalid(f"Invalid param: {fault}") from fault
    return in_context(ask.chain.head.number, None)


def _set_token_account(ask: Ask) -> dict[str, Any]:
    """`owner`, `mint`, `{amount}`, `program`?: the associated account holds so much; the mint's supply follows."""
    owner, mint, members = ask.key(0), ask.key(1), ask.options(2)
    program = TOKEN if ask.at(3) is None else ask.key(3)
    mint_account = ask.chain.account(mint)
    token = read_mint(mint_account)
    if mint_account is None or token is None or mint_account.owner != program:
        raise invalid("Invalid param: not a Token mint")
    at = associated_address(owner, mint, program)
    old = read_held(ask.chain.account(at))
    old_amount = 0 if old is None else old.amount
    amount = _u64(members, "amount", old_amount)
    supply = token.supply + amount - old_amount
    if not 0 <= supply < 2**64:
        raise invalid("Invalid params: the supply would leave u64.")
    account = new_account(mint, owner, amount, ask.chain.vm.rent_exempt(ACCOUNT_BYTES))
    ask.chain.write(at, Account(account.lamports, bytes(account.data), program))
    ask.chain.write(mint, with_supply(mint_account, supply))
    return in_context(ask.chain.head.number, None)


METHODS: Mapping[str, Method] = {"surfnet_setAccount": _set_account, "surfnet_setTokenAccount": _set_token_account}
